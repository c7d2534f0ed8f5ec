"""Which: what can I run? The file of this model for this card, the cards for this model, the models for this card."""

from dataclasses import replace
from typing import Any

import streamlit as st

from planner.answers.answer import Answer
from planner.catalogue.downloads import hub_note
from planner.catalogue.native_files import tried_names
from planner.catalogue.quality import LIMITS
from planner.deployment import CPU, Device
from planner.errors import PlannerError
from planner.finding.best_file import best_file, to_take
from planner.finding.which import Match, devices_for, files_for
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices, choose_cards
from planner.presets import devices
from planner.text.picks import file_command, sold_note
from planner.text.which import card_sentence, card_title, file_sentence, file_title
from planner.tried_formats import default_weights, how_to_get
from planner.units import format_bytes, format_size
from ui import page
from ui.fields import choice as fields
from ui.option_words import in_fields
from ui.scenario import Scenario
from ui.sections.picks import models_section
from ui.tables import which as which_table
from ui.tables.which import Columns
from ui.words import AS_PUBLISHED

FILE, CARD, MODEL = "Which file?", "Which card?", "Which model?"


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        return
    heading, explained, noted = st.empty(), st.empty(), st.container()
    heading.title("What can I run?", anchor=False)
    asks = {FILE: _files, CARD: _cards, MODEL: _models}
    ask = st.segmented_control(
        "What do you want to know?", list(asks), default=FILE, required=True, key="ask", bind="query-params"
    )
    try:
        title, sentence = asks[ask](plan, plan.answer)
    except PlannerError as error:
        title, sentence = ":orange[:material/edit:] One thing to correct first", in_fields(error)
    heading.title(title, anchor=False)
    explained.markdown(sentence)
    for warning in plan.answer.warnings if ask != MODEL else ():
        noted.caption(f":material/info: {in_fields(warning)}")
    page.next_links(
        ("ui/pages/plan.py", "Plan it in full", ":material/fact_check:"),
        ("ui/pages/tables.py", "Compare 8, 16 and 24 GiB", ":material/table_chart:"),
    )


def _base(choices: Choices) -> Choices:
    """What the set-up says, but for the weights' format, which is asked here, and what holds for one card alone."""
    return replace(choices, weights=None, quantize=None, profile=None)


def _files(plan: Scenario, answer: Answer) -> tuple[str, str]:
    assert plan.chosen is not None
    matches, engine = files_for(_base(plan.choices), plan.chosen.architecture), plan.choices.engine
    columns: Columns = (
        ("File", lambda match: which_table.file_cell(match, how_to_get(engine, match.name, match.weights))),
        ("Weights", lambda match: format_bytes(match.weights_bytes)),
        ("What you asked", which_table.state_cell),
        (f"Longest for {which_table.users_words(answer.users)}", which_table.longest_cell),
        ("Costs in quality", which_table.quality_cell),
    )
    usual = tried_names(engine, plan.chosen.architecture, default_weights(engine, choose_cards(plan.choices)[0]))
    first = [match for match in matches if match.is_native or match.weights in usual]
    taken, whose = to_take(engine, first)
    told, whose = (taken, whose) if best_file(taken) else (matches, "")
    best = best_file(told)
    first = [match for match in matches if match in first or match is best]
    others = [match for match in matches if match not in first]
    if command := file_command(best, plan.choices):
        st.code(command, language="sh", wrap_lines=True)
    which_table.show(first, columns, text=(0, 2, 4), wide_only=(3,), own=best)
    if others:
        with st.expander(f"{len(others)} more file types", key="others"):
            which_table.show(others, columns, text=(0, 2, 4), wide_only=(3,), shown=len(others))
    which_table.take(
        "Take this file",
        {which_table.format_cell(m): replace(plan.choices, **_taken(m)) for m in matches},
        which_table.format_cell(best) if best else "",
    )
    st.caption(
        "Files as llama-quantize makes them (q6_k, q4_k_m …), and the usual 8 and 4 bit of other engines. "
        f"Quality: published readings of a model near in size. {LIMITS}"
    )
    if note := sold_note(choose_cards(plan.choices)[0]):
        st.caption(f":material/info: {in_fields(note)}")
    if note := hub_note(engine, (how_to_get(engine, match.name, match.weights) for match in first)):
        st.caption(f":material/info: {in_fields(note)}")
    return file_title(told, whose), file_sentence(told, answer)


def _cards(plan: Scenario, answer: Answer) -> tuple[str, str]:
    assert plan.chosen is not None
    base, weights = _base(plan.choices), _weights(plan.choices, None)
    vendors = list(dict.fromkeys(device.vendor for device in devices().values() if device.vendor != CPU))
    fields.name_unknown("makers", vendors)
    makers = st.pills("Made by", vendors, selection_mode="multi", default=vendors, key="makers", bind="query-params")
    found = devices_for(base, plan.chosen.architecture, weights) if weights else []
    matches = [match for match in found if devices()[match.device_name].vendor in makers]
    columns: Columns = (
        ("Card", lambda match: match.device),
        ("Usable", lambda match: format_size(match.memory_bytes)),
        ("In", which_table.format_cell),
        ("Stays free", lambda match: format_bytes(match.free_bytes)),
        (f"Longest for {which_table.users_words(answer.users)}", which_table.longest_cell),
        ("Users", which_table.most_cell),
    )
    which_table.show(matches, columns, text=(0, 2), wide_only=(3, 5))
    which_table.take(
        "Take this card",
        {
            m.device: replace(plan.choices, **_taken(m), device=m.device_name, memory=None, devices=None)
            for m in matches
        },
    )
    st.caption("Smallest first, each with the best of the formats above that fits. Usable is what programs can see.")
    return card_title(matches, answer), card_sentence(matches, answer)


def _taken(match: Match) -> dict[str, Any]:
    return {"weights": match.weights, "quantize": None}


def _models(plan: Scenario, answer: Answer) -> tuple[str, str]:
    return models_section(plan, answer, _base(plan.choices), _weights(plan.choices, choose_cards(plan.choices)[0]))


def _weights(choices: Choices, device: Device | None) -> tuple[str, ...]:
    known = [AS_PUBLISHED if name == CHECKPOINT else name for name in default_weights(choices.engine, device)]
    fields.name_unknown("tried", known)
    picked = st.pills(
        "Formats to try, the best first", known, selection_mode="multi", default=known, key="tried", bind="query-params"
    )
    return tuple(CHECKPOINT if name == AS_PUBLISHED else name for name in known if name in picked)


main()
