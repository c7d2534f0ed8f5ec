"""Batching: who waits for whom, what refilling slots at once gains, and what the paged cache holds and wastes."""

from collections.abc import Callable, Mapping

import streamlit as st

from planner.batching.outcome import Outcome, work_share
from planner.batching.server import Schedule
from planner.catalogue.performance_presets import find_request_set
from planner.errors import PlannerError
from planner.serving.shape import BLOCK_TOKENS, ServerShape, shape_as_set
from planner.text.batching import (
    coming_sentence,
    rate_figure,
    rate_unit,
    schedules_sentence,
    schedules_title,
    time_words,
)
from planner.text.queue import limits_sentence, overrun_title
from planner.units import counted, format_seconds
from ui import page
from ui.batch_commands import simulate_command
from ui.batch_setting import Setting, setting
from ui.fields.server import server_fields
from ui.one_server import one_server
from ui.option_words import in_fields
from ui.pace import pace_fields, say_problem
from ui.requests import TEXTBOOK, TEXTBOOK_SET, kind_field, request_fields
from ui.sections.batch import queue_section, schedules_table, timelines
from ui.sections.gains import gains_section
from ui.sections.patience import patience_section
from ui.sections.pauses import pause_section

MOST_USUAL_SLOTS = 1_024
"""No set-up asks for more slots than this by itself: servers have fewer, and a step time is planned for each."""


def main() -> None:
    plan = page.answered_plan()
    if plan is None:
        return
    plan = one_server(plan)
    top = st.container()
    kind = kind_field()
    textbook = kind == TEXTBOOK
    wish = request_fields(kind, plan.chosen.workload.context_tokens)
    slots = find_request_set(TEXTBOOK_SET).slots if textbook else min(plan.answer.users, MOST_USUAL_SLOTS)
    usual = ServerShape(slots=slots, step_tokens=None, block_tokens=BLOCK_TOKENS)
    if not textbook:
        usual = shape_as_set(plan.chosen.deployment, slots)
    with st.expander("The server: slots, blocks, chunks, a common beginning, evictions", key="server"):
        server = server_fields(usual, usually_waits=textbook)
    pace_wish = None if textbook else pace_fields(plan)
    if wish is None:
        with top:
            st.title("Which requests came, and when?", anchor=False)
            st.markdown("Upload a trace below: a line a request, with its time, its prompt and its answer in tokens.")
        return
    try:
        found = setting(plan, wish, server, pace_wish)
        outcomes = found.outcomes()
    except PlannerError as error:
        with top:
            page.refused(error)
        return
    with top:
        _verdict(found, outcomes)
    if found.pace is not None:
        say_problem(found.pace)
    for note in found.notes:
        st.caption(f":material/info: {in_fields(note)}")
    timelines(found, outcomes)
    schedules_table(found, outcomes)
    queue_section(found, outcomes[found.own])
    pause_section(found)
    if pace_wish is not None:
        patience_section(plan, found, pace_wish)
    gains_section(textbook)
    st.header("The same in a terminal", anchor=False)
    st.code(simulate_command(plan, found), language=None, wrap_lines=True)
    page.next_links(
        ("ui/pages/speed.py", "How fast is a step?", ":material/speed:"),
        ("ui/pages/cache.py", "What one conversation costs", ":material/stacked_bar_chart:"),
    )


def _verdict(found: Setting, outcomes: Mapping[Schedule, Outcome]) -> None:
    in_steps = found.wish.in_steps
    whole, best, ends, limits = outcomes[Schedule.STATIC], outcomes[found.own], found.range(), found.limits()
    in_batches, refilled = limits[Schedule.STATIC], limits[found.own]
    come = found.coming
    if come is not None and come > refilled and best.requests > found.slots:
        title = overrun_title(come, refilled, in_steps)
    else:
        title = schedules_title(whole, best, all_keep_up=come is not None and come <= in_batches)
    coming = coming_sentence(come, found.closed_loop_users, in_steps, found.why_so_many)
    st.title(title, anchor=False)
    st.markdown(schedules_sentence(whole, best, found.slots, coming, found.own, in_steps))
    with st.grid(4, min_column_width=150):
        page.number(
            f"Requests a {rate_unit(in_steps)}",
            rate_figure(refilled, in_steps),
            f"at most, {_most_range(found, limits)}"
            if found.error
            else f"{rate_figure(in_batches, in_steps)} in batches",
            help="At most: what the slots take with everybody there at the start. Where more come, queues only grow.",
        )
        page.number(
            "First token (95%)",
            time_words(best.time_to_first_token.p95_s, in_steps),
            _between(ends, lambda outcome: format_seconds(outcome.time_to_first_token.p95_s)) or "from its arrival",
            help="95 of 100 requests have their first token so long after they came, or sooner.",
        )
        page.number(
            "Answer (95%)",
            time_words(best.latency.p95_s, in_steps),
            _between(ends, lambda outcome: format_seconds(outcome.latency.p95_s)) or "from its arrival",
            help="95 of 100 requests are answered so long after they came, or sooner.",
        )
        page.number(
            "Slots at work",
            f"{work_share(best, found.slots):.0%}",
            f"{work_share(whole, found.slots):.0%} in batches",
            help="Tokens made, over the places for them in all steps.",
        )
    st.markdown(limits_sentence(in_batches, refilled, come, in_steps))
    if skipped := found.trace.skipped:
        rows = f"{counted(skipped, 'row')} of the trace {'has' if skipped == 1 else 'have'}"
        st.caption(f":material/info: {rows} no prompt or no answer: left out.")


def _most_range(found: Setting, limits: Mapping[Schedule, float]) -> str:
    """The ends of what refilled slots take, over the speed model's range."""
    low, high = (rate_figure(rate, found.wish.in_steps) for rate in found.most_range(limits))
    return f"{low} – {high}"


def _between(ends: tuple[Outcome, Outcome] | None, words: Callable[[Outcome], str]) -> str:
    """The figure with steps of the fast and of the slow end; empty where there is no range."""
    if ends is None:
        return ""
    first, second = map(words, ends)
    return first if first == second else f"{first} – {second}"


main()
