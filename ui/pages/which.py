"""Which: what can I run? The file of this model for this card, the cards for this model, the models for this card."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from planner.answer import Answer
from planner.budget import State
from planner.choices import Choices
from planner.errors import PlannerError
from planner.formats import CHECKPOINT
from planner.presets import devices
from planner.quality import LIMITS
from planner.units import format_bytes, format_parameters, format_size
from planner.which import Match, default_weights, devices_for, files_for, models_for
from planner.which_text import (
    STATE_WORDS,
    best_file,
    card_sentence,
    card_title,
    file_sentence,
    file_title,
    model_sentence,
    model_title,
    quality_words,
)
from ui import form, own_config, page
from ui.html_table import html_table
from ui.scenario import Scenario, apply, scenario
from ui.words import AS_PUBLISHED, set_up_line

FILE, CARD, MODEL = "Which file?", "Which card?", "Which model?"
SHOWN = 15
MARKS = {State.FITS: "✓", State.TIGHT: "▲", State.NO: "✕", State.UNCERTAIN: "?"}
Columns = Sequence[tuple[str, Callable[[Match], str]]]


def main() -> None:
    plan = scenario()
    page.set_up(set_up_line(plan.chosen, plan.answer))
    if plan.chosen is None or plan.answer is None:
        page.problem(plan.problem)
        return
    heading, explained = st.empty(), st.empty()
    heading.title("What can I run?", anchor=False)
    asks = {FILE: _files, CARD: _cards, MODEL: _models}
    ask = st.segmented_control(
        "What do you want to know?", list(asks), default=FILE, required=True, key="ask", bind="query-params"
    )
    try:
        title, sentence = asks[ask](plan, plan.answer)
    except PlannerError as error:
        title, sentence = ":orange[:material/edit:] One thing to correct first", str(error)
    heading.title(title, anchor=False)
    explained.markdown(sentence)
    page.next_links(
        ("ui/pages/plan.py", "Plan it in full", ":material/fact_check:"),
        ("ui/pages/tables.py", "Compare 8, 16 and 24 GiB", ":material/table_chart:"),
    )


def _base(choices: Choices) -> Choices:
    """What the set-up says, but for the weights' format, which is asked here, and what holds for one card alone."""
    return replace(choices, weights=None, quantize=None, profile=None)


def _files(plan: Scenario, answer: Answer) -> tuple[str, str]:
    assert plan.chosen is not None
    matches = files_for(_base(plan.choices), plan.chosen.architecture)
    columns: Columns = (
        ("File", _format),
        ("Weights", lambda match: format_bytes(match.weights_bytes)),
        ("What you asked", _state),
        (f"Longest for {_users(answer)}", _longest),
        ("Costs in quality", _quality),
    )
    usual = default_weights(plan.choices.engine)
    first = [match for match in matches if match.weights in usual]
    others = [match for match in matches if match.weights not in usual]
    _table(first, columns, text=(0, 2, 4), wide_only=(3,), own=best_file(first))
    if others:
        with st.expander(f"{len(others)} more file types", key="others"):
            _table(others, columns, text=(0, 2, 4), wide_only=(3,), shown=len(others))
    _take("Take this file", {_format(m): replace(plan.choices, weights=m.weights, quantize=None) for m in matches})
    st.caption(
        "Files as llama-quantize makes them (q6_k, q4_k_m …), and the usual 8 and 4 bit of other engines. "
        f"Quality: published readings of the model nearest in size. {LIMITS}"
    )
    told = first if best_file(first) else matches
    return file_title(told), file_sentence(told, answer)


def _cards(plan: Scenario, answer: Answer) -> tuple[str, str]:
    assert plan.chosen is not None
    base, weights = _base(plan.choices), _weights(plan.choices)
    vendors = list(dict.fromkeys(device.vendor for device in devices().values()))
    makers = st.pills("Made by", vendors, selection_mode="multi", default=vendors, key="makers", bind="query-params")
    found = devices_for(base, plan.chosen.architecture, weights) if weights else []
    matches = [match for match in found if devices()[match.device_name].vendor in makers]
    columns: Columns = (
        ("Card", lambda match: match.device),
        ("Usable", lambda match: format_size(match.memory_bytes)),
        ("In", _format),
        ("Stays free", lambda match: format_bytes(match.free_bytes)),
        (f"Longest for {_users(answer)}", _longest),
        ("Users", _most),
    )
    _table(matches, columns, text=(0, 2), wide_only=(3, 5))
    _take("Take this card", {m.device: replace(_taken(plan, m), device=m.device_name, memory=None) for m in matches})
    st.caption("Smallest first, each with the best of the formats above that fits. Usable is what programs can see.")
    return card_title(matches, answer), card_sentence(matches, answer)


def _models(plan: Scenario, answer: Answer) -> tuple[str, str]:
    weights = _weights(plan.choices)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", max_chars=40, key="search", placeholder="qwen, coder …", bind="query-params")
        short = st.toggle("Also models made for less context", key="short", bind="query-params")
    found = _models_for(replace(_base(plan.choices), model=""), weights) if weights else []
    words = search.lower().split()
    asked = answer.context_tokens
    matches = [
        match
        for match in found
        if (short or (match.model_limit_tokens or asked) >= asked)
        and all(word in match.model.lower() for word in words)
    ]
    matches.sort(key=lambda match: -match.parameters)
    columns: Columns = (
        ("Model", lambda match: f"{match.model}\n{format_parameters(match.parameters)}"),
        ("In", _format),
        ("Weights", lambda match: format_bytes(match.weights_bytes)),
        (f"Longest for {_users(answer)}", _longest),
        ("Users", _most),
        ("Costs in quality", _quality),
    )
    _table(matches, columns, text=(0, 1, 5), wide_only=(2, 4, 5))
    _take("Take this model", {m.model: replace(_taken(plan, m), model=form.model_names()[m.model]) for m in matches})
    st.caption(
        "Each model in the best of the formats above that fits, the largest first. "
        f"Quality: published readings of the model nearest in size. {LIMITS}"
    )
    return model_title(matches, answer), model_sentence(matches, answer)


def _taken(plan: Scenario, match: Match) -> Choices:
    return replace(plan.choices, weights=match.weights, quantize=None)


def _take(label: str, options: Mapping[str, Choices]) -> None:
    """Puts one of the answers into the set-up."""
    if not options:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(label, list(options), key=f"take_{label}", filter_mode="contains")
        st.button("Use it", key="use", icon=":material/check:", on_click=_use, args=(label, options))


def _use(label: str, options: Mapping[str, Choices]) -> None:
    picked = st.session_state[f"take_{label}"]
    if label == "Take this model":
        own_config.forget()
    if picked in options:
        apply(options[picked])


@st.cache_data(max_entries=32, show_spinner="Trying every model that is known …")
def _models_for(choices: Choices, weights: tuple[str, ...]) -> list[Match]:
    return models_for(choices, weights, first_only=True)


def _weights(choices: Choices) -> tuple[str, ...]:
    known = [AS_PUBLISHED if name == CHECKPOINT else name for name in default_weights(choices.engine)]
    picked = st.pills(
        "Formats to try, the best first", known, selection_mode="multi", default=known, key="tried", bind="query-params"
    )
    return tuple(CHECKPOINT if name == AS_PUBLISHED else name for name in known if name in picked)


def _table(
    matches: Sequence[Match],
    columns: Columns,
    *,
    text: Sequence[int],
    wide_only: Sequence[int],
    own: Match | None = None,
    shown: int = SHOWN,
) -> None:
    if not matches:
        return
    names = [name for name, _ in columns]
    rows = [[cell(match) for _, cell in columns] for match in matches]
    bold = None if own is None else matches.index(own)
    st.html(html_table(names, rows[:shown], text=text, wide_only=wide_only, own=bold))
    if rows[shown:]:
        with st.expander(f"{len(rows) - shown:,} more", key="more_rows"):
            st.html(html_table(names, rows[shown:], text=text, wide_only=wide_only))


def _format(match: Match) -> str:
    return AS_PUBLISHED if match.weights == CHECKPOINT else match.weights


def _state(match: Match) -> str:
    words = STATE_WORDS[match.state]
    spare = format_bytes(abs(match.free_bytes))
    return f"{MARKS[match.state]} {words}\n{spare} {'to spare' if match.free_bytes >= 0 else 'short'}"


def _longest(match: Match) -> str:
    return "no limit" if match.max_context_tokens is None else f"{match.max_context_tokens:,}"


def _most(match: Match) -> str:
    return "no limit" if match.max_users is None else f"{match.max_users:,}"


def _quality(match: Match) -> str:
    words, model = quality_words(match)
    return f"{words}\n{model}" if model else words


def _users(answer: Answer) -> str:
    return "1 user" if answer.users == 1 else f"{answer.users:,} users"


main()
