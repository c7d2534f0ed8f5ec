"""Cache: what one conversation costs, why models differ, and when the cache outgrows the model."""

import shlex

import streamlit as st

from planner.answers.explain import cache_terms
from planner.architecture import Architecture
from planner.cache_comparison import (
    REAL_MODELS,
    SHARED_TOKENS,
    SHARED_USERS,
    CacheCost,
    cost_of,
    crossing,
    head_variants,
    shared_tokens,
)
from planner.inputs.choices import Chosen
from planner.multiply_accumulates import cache_arithmetic, head_width
from planner.presets import find_model, load_preset
from planner.text.cache import (
    arithmetic_sentence,
    cost_sentence,
    crossing_sentence,
    headline,
    heads_sentence,
    in_words,
    shared_sentence,
)
from planner.units import format_bytes, format_rate
from ui import form, page
from ui.charts.cache import Bar, arithmetic_chart, crossing_chart, one_user_bars
from ui.draw import draw
from ui.fields import choice as fields
from ui.scenario import Scenario
from ui.sections.layers import show_layers
from ui.tables.html import html_table

MODEL_PAGE = "ui/pages/model.py"
MAX_MODELS = 12
BY_HAND = "qwen2.5-0.5b"
"""A model small enough to redo its figures by hand."""
DRAWN_TOKENS = [2**n for n in range(4, 18)]
"""Where the work with and without a cache is drawn."""
EXAMPLE_TOKENS = (64, 512, 4_096)


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        return
    chosen = plan.chosen
    own = _cost(chosen.architecture, chosen, is_asked=True)
    st.title(headline(own), anchor=False)
    st.markdown(
        f"{cost_sentence(own)} The cache is what a model keeps of the text so far. How much depends on "
        "**how its attention is built**, not on how big the model is."
    )
    _real_models(own, chosen)
    _why(plan)
    _other_heads(chosen)
    _crossing(chosen, own)
    _same_tokens(chosen)
    _layers(chosen)
    _arithmetic(chosen)
    st.header("The same in a terminal", anchor=False)
    width = head_width(chosen.architecture)
    work = f"kvbudget arithmetic --tokens {chosen.workload.context_tokens} --head-dim {width}"
    st.code(f"{_command(plan)}\n{work}", language=None, wrap_lines=True)
    page.next_links(
        ("ui/pages/plan.py", "Does it fit my card?", ":material/fact_check:"),
        ("ui/pages/which.py", "What can I run?", ":material/search:"),
    )


def _cost(architecture: Architecture, chosen: Chosen, is_asked: bool = False) -> CacheCost:
    deployment = chosen.deployment
    tokens = chosen.workload.context_tokens
    return cost_of(architecture, tokens, deployment.kv_cache_k, deployment.kv_cache_v, is_asked)


def _command(plan: Scenario) -> str:
    choices = plan.choices
    options = {"context": choices.context, "weights": choices.weights, "kv-cache": choices.kv_cache}
    said = [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    return shlex.join(["kvbudget", "cache", choices.model, *said, *(["--online"] if choices.online else [])])


def _bar(cost: CacheCost, label: str) -> Bar:
    return Bar(label=label, bytes=cost.bytes, is_asked=cost.is_asked)


def _format_words(chosen: Chosen) -> str:
    key, value = chosen.deployment.kv_cache_k.name, chosen.deployment.kv_cache_v.name
    return key if key == value else f"keys {key}, values {value}"


def _real_models(own: CacheCost, chosen: Chosen) -> None:
    st.header(f"One user, {own.tokens:,} tokens, {_format_words(chosen)}", anchor=False)
    place = st.container()
    with st.expander("Compare with other models", key="compare"):
        usual = [find_model(name).title for name in REAL_MODELS]
        names = fields.several("compared", "Models", list(form.model_names()), usual, max_selections=MAX_MODELS)
    costs = [_cost(load_preset(form.model_names()[name]), chosen) for name in names if name != own.model]
    costs = sorted([own, *costs], key=lambda cost: -cost.bytes)
    with place:
        draw(
            one_user_bars,
            [_bar(cost, f"{cost.model}: {cost.attention}") for cost in costs],
            alt="; ".join(f"{cost.model}, {cost.attention}: {format_bytes(cost.bytes)}" for cost in costs) + ".",
            key="real_models",
        )


def _why(plan: Scenario) -> None:
    assert plan.chosen is not None
    chosen = plan.chosen
    with st.expander("Why? The formula with these figures", key="why"):
        for term in cache_terms(chosen.architecture, chosen.deployment, chosen.workload):
            layers = "1 layer" if term.layers == 1 else f"{term.layers} layers"
            st.markdown(f"{layers}, {term.kind}:  \n{term.layers} × {term.formula} = **{format_bytes(term.bytes)}**")
        st.caption(
            "As the architecture needs it, for one user. An engine may round up to whole blocks: Plan says how much. "
            "With several cards these are one card's bytes."
        )


def _other_heads(chosen: Chosen) -> None:
    deployment = chosen.deployment
    variants = head_variants(
        chosen.architecture, chosen.workload.context_tokens, deployment.kv_cache_k, deployment.kv_cache_v
    )
    st.header("The same model with other heads", anchor=False)
    if not variants:
        st.markdown(
            f"{chosen.architecture.title} has no heads with keys and values of their own, so their number changes "
            "nothing: a compressed vector or a state is kept once for all of them."
        )
        return
    st.markdown(heads_sentence(variants))
    draw(
        one_user_bars,
        [_bar(cost, cost.attention) for cost in variants],
        alt="; ".join(f"{cost.attention}: {format_bytes(cost.bytes)}" for cost in variants) + ".",
        key="variants",
    )
    st.caption(
        "Every layer keeps its width and its window. The compressed vector is DeepSeek-V3's, 512 + 64 numbers a layer. "
        "Only a model trained that way can use it: this shows what its makers chose between."
    )


def _crossing(chosen: Chosen, own: CacheCost) -> None:
    architecture, deployment = chosen.architecture, chosen.deployment
    found = crossing(architecture, deployment.weights, deployment.kv_cache_k, deployment.kv_cache_v)
    sentence = crossing_sentence(found, architecture.title, architecture.max_position_embeddings)
    st.header("When the cache outgrows the model", anchor=False)
    st.markdown(sentence)
    draw(
        crossing_chart,
        found,
        architecture.max_position_embeddings,
        own.bytes_per_token,
        alt=sentence.replace("**", ""),
        key="crossing",
    )


def _same_tokens(chosen: Chosen) -> None:
    deployment = chosen.deployment
    st.header("The same tokens, shared out", anchor=False)
    example = load_preset(BY_HAND)
    for architecture in dict.fromkeys((chosen.architecture, example)):
        rows = shared_tokens(architecture, deployment.kv_cache_k, deployment.kv_cache_v, SHARED_USERS, SHARED_TOKENS)
        st.markdown(shared_sentence(rows, architecture.title))


def _layers(chosen: Chosen) -> None:
    st.header(f"{chosen.architecture.title}, layer by layer", anchor=False)
    show_layers(chosen)
    st.page_link(MODEL_PAGE, label=f"All about {chosen.architecture.title}", icon=":material/layers:")


def _arithmetic(chosen: Chosen) -> None:
    tokens, width = chosen.workload.context_tokens, head_width(chosen.architecture)
    own = arithmetic_sentence(cache_arithmetic(tokens, width))
    st.header("What a cache saves: work", anchor=False)
    st.markdown(
        "Without a cache, each new token computes all earlier ones again. Over *T* tokens one head of width *d* "
        "multiplies and adds *d·T(T+1)* times with a cache and *d·T(T+1)(2T+1)/3* times without: *(2T+1)/3* times as "
        f"often, and that grows without end. {own}"
    )
    draw(
        arithmetic_chart,
        [cache_arithmetic(step, width) for step in sorted({*DRAWN_TOKENS, tokens})],
        tokens,
        alt=f"Multiply-accumulates over tokens. {own.replace('**', '')}",
        key="arithmetic",
    )
    works = [cache_arithmetic(step, width) for step in dict.fromkeys((*EXAMPLE_TOKENS, tokens))]
    rows = [
        (
            f"{work.tokens:,}",
            in_words(work.cached),
            in_words(work.recomputed),
            f"{work.ratio:,.0f} times",
            format_rate(work.cached_score_bytes),
            format_rate(work.recomputed_score_bytes),
        )
        for work in works
    ]
    columns = ("Tokens", "With", "Without", "Ratio", "Scores with", "Scores without")
    st.html(html_table(columns, rows, wide_only=(4, 5)))
    st.caption(
        f"One head of {chosen.architecture.title}, {width} wide. Scores: the last step's matrix in fp32, one row with "
        "a cache and all rows without."
    )


main()
