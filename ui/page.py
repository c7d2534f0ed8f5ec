"""What every page has: the line that says the set-up, a calm problem, links to the next questions."""

import streamlit as st

from planner.answers.answer import Answer
from planner.answers.verdict import as_if
from planner.errors import PlannerError
from ui.option_words import in_fields
from ui.scenario import Scenario, scenario
from ui.words import set_up_line

METHOD = "ui/pages/method.py"
DRAWER = "_open_drawer"
STYLE = """<style>
[data-testid="stButtonGroup"] button:is([aria-checked="true"], [aria-pressed="true"], [data-selected="true"]) {
  color: inherit !important; }
[data-testid="stCode"] code span { color: inherit !important; }
</style>"""
"""What is chosen, and every word of a command, in the text's own colour: the theme's blue on its tint is 3.4 : 1."""


def style() -> None:
    """What no theme can set; once for all pages."""
    st.html(STYLE)


def set_up(words: str) -> None:
    """The set-up in one grey line, and the way to change it: on a phone the form is in a drawer."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.caption(words, width="content")
        st.button(
            "Change",
            key="change",
            type="tertiary",
            icon=":material/tune:",
            on_click=_open_drawer,
            help="Opens the set-up at the left. If it stays closed: it is behind » at the top.",
        )


def answered_plan() -> Scenario | None:
    """The set-up in the page's first line, and what it asks; ``None``: it makes no plan, and the page has said why."""
    plan = scenario()
    set_up(set_up_line(plan.chosen, plan.answer))
    if plan.answer is None:
        problem(plan.problem)
        return None
    return plan


class NoAnswer(PlannerError):
    """Nothing is wrong with what was entered, but this page has no answer for the set-up; the message says why."""


def problem(sentence: str) -> None:
    """Input that makes no plan: what was wrong, once and calmly. What was entered stays."""
    st.title(":orange[:material/edit:] One thing to correct first", anchor=False)
    st.markdown(sentence)


def refused(error: PlannerError) -> None:
    """The same for what the planner refuses, or that there is no answer."""
    if not isinstance(error, NoAnswer):
        problem(in_fields(error))
        return
    st.title(":orange[:material/block:] No answer for this set-up", anchor=False)
    st.markdown(in_fields(error))


def as_if_it_fitted(answer: Answer) -> None:
    """That speeds and prices beneath are of a plan that does not fit; nothing for one that does."""
    if not answer.fits:
        st.markdown(f":orange[:material/block:] **{as_if(answer)}**")


def number(label: str, value: str, beneath: str, help: str | None = None) -> None:
    """One of the few figures beneath a title, with what it rests on."""
    st.metric(label, value, beneath, delta_color="off", delta_arrow="off", border=True, height="stretch", help=help)


def next_links(*links: tuple[str, str, str]) -> None:
    """Links to the next questions, as (page, label, icon), and where the method is written down."""
    with st.container(horizontal=True):
        for target, label, icon in links:
            st.page_link(target, label=label, icon=icon)
        st.page_link(METHOD, label="How it is counted: Method", icon=":material/function:")


def _open_drawer() -> None:
    st.session_state[DRAWER] = True
