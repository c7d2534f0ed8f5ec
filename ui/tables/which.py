"""Tables of the page Which: models, formats and cards that do what was asked, and the way into the set-up."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from planner.budget import State
from planner.finding.which import Match, match_quality
from planner.formats import CHECKPOINT
from planner.inputs.choices import Choices
from planner.text.which import STATE_WORDS
from planner.units import format_bytes
from ui import own_config
from ui.scenario import apply
from ui.tables.html import html_table
from ui.words import AS_PUBLISHED

SHOWN = 15
MARKS = {State.FITS: "✓", State.TIGHT: "▲", State.NO: "✕", State.UNCERTAIN: "?"}
TAKE_MODEL = "Take this model"
Columns = Sequence[tuple[str, Callable[[Match], str]]]


def show(
    matches: Sequence[Match],
    columns: Columns,
    *,
    text: Sequence[int],
    wide_only: Sequence[int],
    own: Match | None = None,
    shown: int = SHOWN,
) -> None:
    """The first of *matches* as a table, *own* in bold, and the others one click away."""
    if not matches:
        return
    names = [name for name, _ in columns]
    rows = [[cell(match) for _, cell in columns] for match in matches]
    bold = None if own is None else matches.index(own)
    st.html(html_table(names, rows[:shown], text=text, wide_only=wide_only, own=bold))
    if rows[shown:]:
        with st.expander(f"{len(rows) - shown:,} more", key="more_rows"):
            st.html(html_table(names, rows[shown:], text=text, wide_only=wide_only))


def take(label: str, options: Mapping[str, Choices], best: str = "") -> None:
    """Puts one of the answers into the set-up, *best* unless another is chosen."""
    if not options:
        return
    index = list(options).index(best) if best in options else 0
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(label, list(options), index, key=f"take_{label}", filter_mode="contains")
        st.button("Use it", key="use", icon=":material/check:", on_click=_use, args=(label, options))


def _use(label: str, options: Mapping[str, Choices]) -> None:
    picked = st.session_state[f"take_{label}"]
    if label == TAKE_MODEL:
        own_config.forget()
    if picked in options:
        apply(options[picked])


def format_cell(match: Match) -> str:
    """The format, as the form calls it."""
    return AS_PUBLISHED if match.weights == CHECKPOINT else match.weights


def file_cell(match: Match, get: str, setting: str = "") -> str:
    """The format, beneath it what the file is pulled by, and the *setting* that it is run with."""
    return "\n".join(filter(None, (format_cell(match), get, setting)))


def state_cell(match: Match) -> str:
    """Whether it does what was asked, and by how much."""
    words = STATE_WORDS[match.state]
    if match.state is State.UNCERTAIN and not match.fits:
        words = f"{words} not"
    left = match.deciding.spare_bytes
    return f"{MARKS[match.state]} {words}\n{format_bytes(abs(left))} {'to spare' if left >= 0 else 'short'}"


def longest_cell(match: Match) -> str:
    """The longest context for the asked users, by memory."""
    return "no limit" if match.max_context_tokens is None else f"{match.max_context_tokens:,}"


def most_cell(match: Match) -> str:
    """The most users at the asked context."""
    return "no limit" if match.max_users is None else f"{match.max_users:,}"


def quality_cell(match: Match) -> str:
    """What the format costs, and of which model and on which text that was read."""
    words, model = match_quality(match)
    return f"{words}\n{model}" if model else words


def users_words(users: int) -> str:
    """``1 user``, ``4 users``."""
    return "1 user" if users == 1 else f"{users:,} users"
