"""Model: what the chosen model is. Parameters by role, layers, growth, the published total, sources."""

import streamlit as st

from planner.answers.answer import Answer
from planner.answers.cache_words import attention_words
from planner.catalogue.model_facts import RoleFact, loaded_sum, published_sentence, published_terms, role_facts
from planner.catalogue.second_sources import confirmed_by
from planner.errors import UnknownName
from planner.formats import CHECKPOINT
from planner.inputs.choices import Chosen
from planner.presets import ModelPreset, find_model
from planner.text.cache import in_words
from planner.units import format_bytes, format_parameters, format_rate
from ui import own_config, page
from ui.option_words import in_fields
from ui.sections.layers import show_layers
from ui.tables.html import html_table

SHOWN_NAMES = 12


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        return
    chosen, preset = plan.chosen, _preset(plan.chosen)
    _headline(chosen, plan.answer, preset)
    _numbers(chosen, plan.answer)
    _roles(chosen)
    st.header("Layer by layer", anchor=False)
    show_layers(chosen, with_parameters=True)
    _sources(chosen, preset)
    st.header("The same in a terminal", anchor=False)
    st.code(f"kvbudget inspect {plan.choices.model}", language=None, wrap_lines=True)
    page.next_links(
        ("ui/pages/cache.py", "What a conversation costs", ":material/stacked_bar_chart:"),
        ("ui/pages/which.py", "Which cards run it?", ":material/search:"),
    )


def _preset(chosen: Chosen) -> ModelPreset | None:
    """The published figures behind the model, unless it is the reader's own."""
    if own_config.architecture() is not None:
        return None
    try:
        return find_model(chosen.architecture.name)
    except UnknownName:
        return None


def _headline(chosen: Chosen, answer: Answer, preset: ModelPreset | None) -> None:
    architecture = chosen.architecture
    limit = architecture.max_position_embeddings
    made_for = f", made for {limit:,} tokens" if limit else ""
    st.title(f"{architecture.title}: {in_words(answer.parameters)} parameters{made_for}", anchor=False)
    parts = [f"{len(architecture.layers)} layers; {attention_words(architecture)}", f"`{architecture.model_type}`"]
    if architecture.stored_as:
        doubt = f" ({architecture.stored_doubt})" if architecture.stored_doubt else ""
        parts.append(f"published in {architecture.stored_as}{doubt}")
    if preset is not None and preset.licence:
        parts.append(f"licence {preset.licence}")
    if preset is not None and preset.release:
        parts.append(f"released {preset.release}")
    st.markdown(" · ".join(parts))
    for warning in architecture.warnings:
        st.caption(f":material/info: {in_fields(warning)}")


def _numbers(chosen: Chosen, answer: Answer) -> None:
    weights = loaded_sum(role_facts(chosen.architecture, chosen.deployment)).bytes
    stored = "as published" if answer.weights == CHECKPOINT else f"in {answer.weights}"
    with st.grid(4, min_column_width=150):
        page.number("Parameters", format_parameters(answer.parameters), f"{answer.parameters:,} exactly")
        active = answer.active_parameters
        page.number("Used for each token", format_parameters(active), f"{active / answer.parameters:.0%} of them")
        size, unit = format_bytes(weights).split(" ")
        page.number(f"Weights in {unit}", size, stored)
        cost = answer.kv_bytes_per_token
        page.number("One more token costs", format_rate(cost), f"{cost:,} B after {answer.context_tokens:,}")


def _roles(chosen: Chosen) -> None:
    st.header("What the parameters are for", anchor=False)
    facts = role_facts(chosen.architecture, chosen.deployment)
    loaded = [fact for fact in facts if fact.loaded]
    rows = [_role(fact) for fact in (*loaded, loaded_sum(facts), *(fact for fact in facts if not fact.loaded))]
    st.html(html_table(("What", "Parameters", "Weigh", "Bits each"), rows, wide_only=(3,), own=len(loaded)))


def _role(fact: RoleFact) -> tuple[str, str, str, str]:
    bits = f"{8 * fact.bytes / fact.parameters:.4g}" if fact.parameters else "–"
    return fact.words, _count(fact.parameters), format_bytes(fact.bytes), bits


def _count(number: int) -> str:
    short = format_parameters(number)
    return short if short == f"{number:,}" else f"{short}\n{number:,}"


def _sources(chosen: Chosen, preset: ModelPreset | None) -> None:
    st.header("Where the figures come from", anchor=False)
    if preset is None:
        st.markdown(f"{chosen.architecture.source or 'Tensor shapes of the given file'}. Nothing published to compare.")
        return
    terms = published_terms(chosen.architecture, preset)
    if terms and preset.published_parameters is not None:
        st.markdown(published_sentence(terms, preset.published_parameters))
    if preset.parameters_note:
        st.markdown(preset.parameters_note)
    st.markdown(f"Source: {preset.source}, read on {preset.retrieved}.")
    for other in confirmed_by(preset.name):
        st.markdown(f"Confirmed by {other}.")
    if preset.aliases:
        names = ", ".join(f"`{name}`" for name in (preset.name, *preset.aliases[:SHOWN_NAMES]))
        st.markdown(f"Also found as {names}.")


main()
