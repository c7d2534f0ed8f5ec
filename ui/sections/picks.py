"""Which model? The few most worth running, how their files are had, and on demand every one that fits."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from planner.answers.answer import Answer
from planner.catalogue.downloads import hub_note
from planner.catalogue.quality import LIMITS
from planner.finding.picks import Pick, larger_for, longer_context, picks_for, placed
from planner.finding.which import Match, check_device, models_for
from planner.inputs.choices import Choices
from planner.text.picks import context_hint, get_command, pick_sentence, pick_title, sold_note
from planner.text.which import model_sentence, model_title
from planner.units import format_bytes, format_parameters
from ui import form
from ui.option_words import in_fields
from ui.scenario import Scenario
from ui.tables import which as which_table
from ui.tables.html import html_table
from ui.tables.which import Columns


def models_section(plan: Scenario, answer: Answer, base: Choices, weights: tuple[str, ...]) -> tuple[str, str]:
    """Title and sentence of the answer; *base* says all but the model and its format, *weights* are tried."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input(
            "Search every model that fits", max_chars=40, key="search", placeholder="qwen, coder …", bind="query-params"
        )
        every = st.toggle("List them all", key="every", bind="query-params")
        short = st.toggle("Also models made for less context", key="short", bind="query-params")
    asked = replace(base, model="")
    if search.strip() or every or short:
        return _every(plan, answer, asked, weights, search.lower().split(), short)
    found, larger, longer = _picks(asked, weights) if weights else ([], [], None)
    if not found:
        return model_title([], answer), model_sentence([], answer)
    command = get_command(found[0], asked)
    if command:
        st.code(command, language="sh", wrap_lines=True)
    if hint := context_hint(found[0], asked):
        st.caption(f":material/info: {hint}")
    _pick_table(found, answer)
    if larger:
        st.header("Larger, with a part in main memory", anchor=False)
        _pick_table(larger, answer)
    _take(plan, [*found, *larger])
    st.caption(
        "The most useful first: files that can be had, models of the last two years, and of these the largest in a "
        "format of four bits or more. What lies in main memory has to be free there, beside the system and other "
        f"programs. Quality: published readings of a model near in size. {LIMITS}"
    )
    if note := sold_note(check_device(asked)):
        st.caption(f":material/info: {in_fields(note)}")
    if note := hub_note(asked.engine, (pick.get for pick in (*found, *larger))):
        st.caption(f":material/info: {in_fields(note)}")
    return pick_title(found[0]), pick_sentence(found[0], asked, longer)


@st.cache_data(max_entries=32, show_spinner="Trying the models that are known …")
def _picks(choices: Choices, weights: tuple[str, ...]) -> tuple[list[Pick], list[Pick], tuple[int, int] | None]:
    found = picks_for(choices, weights)
    if not found:
        return [], [], None
    return found, larger_for(choices, weights, found[0].match), longer_context(choices, found[0])


def _pick_table(picks: Sequence[Pick], answer: Answer) -> None:
    where = "that stay" if answer.on_cpu else "on the card"
    columns = [
        *("Model", "In, and how to get it", "Weights"),
        *(f"Tokens {where}, {which_table.users_words(answer.users)}", "In main memory", "Costs in quality"),
    ]
    rows = [
        [
            f"{pick.match.model}\n{format_parameters(pick.match.parameters)}",
            which_table.file_cell(pick.match, pick.get, placed(pick, answer.engine)),
            format_bytes(pick.match.weights_bytes),
            "any length" if pick.context_tokens is None else f"{pick.context_tokens:,}",
            format_bytes(pick.match.host_bytes) if pick.match.host_bytes else "–",
            which_table.quality_cell(pick.match),
        ]
        for pick in picks
    ]
    st.html(html_table(columns, rows, text=(0, 1, 5), wide_only=(2, 4, 5)))


def _take(plan: Scenario, picks: Sequence[Pick]) -> None:
    options = {}
    for pick in picks:
        settings = (*plan.choices.set, pick.setting) if pick.setting else plan.choices.set
        options[pick.match.model] = replace(_taken(plan, pick.match), set=settings)
    which_table.take(which_table.TAKE_MODEL, options)


def _taken(plan: Scenario, match: Match) -> Choices:
    return replace(plan.choices, model=form.model_names()[match.model], weights=match.weights, quantize=None)


def _every(
    plan: Scenario, answer: Answer, asked: Choices, weights: tuple[str, ...], words: Sequence[str], short: bool
) -> tuple[str, str]:
    """All models in the best of the formats that fits, the largest first, narrowed by the search."""
    found = _models_for(asked, weights) if weights else []
    matches = [
        match
        for match in found
        if (short or (match.model_limit_tokens or answer.context_tokens) >= answer.context_tokens)
        and all(word in match.model.lower() for word in words)
    ]
    matches.sort(key=lambda match: -match.parameters)
    columns: Columns = (
        ("Model", lambda match: f"{match.model}\n{format_parameters(match.parameters)}"),
        ("In", which_table.format_cell),
        ("Weights", lambda match: format_bytes(match.weights_bytes)),
        (f"Longest for {which_table.users_words(answer.users)}", which_table.longest_cell),
        ("Users", which_table.most_cell),
        ("Costs in quality", which_table.quality_cell),
    )
    which_table.show(matches, columns, text=(0, 1, 5), wide_only=(2, 4, 5))
    which_table.take(which_table.TAKE_MODEL, {match.model: _taken(plan, match) for match in matches})
    st.caption(
        "Each model in the best of the formats above that fits, the largest first. "
        f"Quality: published readings of a model near in size. {LIMITS}"
    )
    return model_title(matches, answer), model_sentence(matches, answer)


@st.cache_data(max_entries=32, show_spinner="Trying every model that is known …")
def _models_for(choices: Choices, weights: tuple[str, ...]) -> list[Match]:
    return models_for(choices, weights, first_only=True)
