"""Batching: who waits for whom, what refilling slots at once gains, and what the paged cache holds and wastes."""

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

import streamlit as st

from planner.batching.outcome import Bar, Outcome, work_share
from planner.batching.server import Schedule
from planner.batching_text import (
    NAMES,
    TERMS,
    pool_sentence,
    rate_words,
    schedules_sentence,
    schedules_title,
    time_words,
)
from planner.errors import PlannerError
from planner.performance_presets import find_request_set
from planner.units import format_seconds
from ui import batch_table, colours, page
from ui.batch_setting import DRAWN_REQUESTS, Setting, setting
from ui.export import download_buttons
from ui.figure import figure
from ui.gains_section import gains_section
from ui.html_table import html_table, swatches
from ui.pace import command, pace_fields, pace_words, say_problem
from ui.patience_section import patience_section
from ui.requests import AT_ONCE, FILE, TEXTBOOK, TEXTBOOK_SET, kind_field, request_fields
from ui.scenario import Scenario, scenario
from ui.server_fields import server_fields
from ui.slots_chart import IDLE, MOST_SLOTS, PREFILL, WORK, slots_chart
from ui.words import set_up_line

TABLE_ROWS = 200
MOST_USUAL_SLOTS = 1_024
"""No set-up asks for more slots than this by itself: servers have fewer, and a step time is planned for each."""


def main() -> None:
    plan = scenario()
    page.set_up(set_up_line(plan.chosen, plan.answer))
    if plan.chosen is None or plan.answer is None:
        page.problem(plan.problem)
        return
    top = st.container()
    kind = kind_field()
    textbook = kind == TEXTBOOK
    wish = request_fields(kind, plan.chosen.workload.context_tokens)
    usual = find_request_set(TEXTBOOK_SET).slots if textbook else min(plan.answer.users, MOST_USUAL_SLOTS)
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
            page.problem(str(error))
        return
    with top:
        _verdict(found, outcomes)
    if found.pace is not None:
        say_problem(found.pace)
    _timelines(found, outcomes)
    _table(found, outcomes)
    if pace_wish is not None:
        patience_section(plan, found, pace_wish)
    gains_section(textbook)
    _command(plan, found)
    page.next_links(
        ("ui/pages/speed.py", "How fast is a step?", ":material/speed:"),
        ("ui/pages/cache.py", "What one conversation costs", ":material/stacked_bar_chart:"),
    )


def _verdict(found: Setting, outcomes: Mapping[Schedule, Outcome]) -> None:
    in_steps = found.wish.in_steps
    best, ends = outcomes[Schedule.CONTINUOUS], found.range()
    st.title(schedules_title(outcomes), anchor=False)
    st.markdown(schedules_sentence(outcomes, found.slots, in_steps))
    with st.grid(4, min_column_width=150):
        page.number(
            f"Tokens a {'step' if in_steps else 'second'}",
            rate_words(best.output_tokens_per_s),
            _between(ends and ends[::-1], lambda outcome: rate_words(outcome.output_tokens_per_s))
            or "refilled at once",
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
            f"{work_share(outcomes[Schedule.STATIC], found.slots):.0%} in batches",
            help="Tokens made, over the places for them in all steps.",
        )
    if skipped := found.trace.skipped:
        rows = "1 row of the trace has" if skipped == 1 else f"{skipped:,} rows of the trace have"
        st.caption(f":material/info: {rows} no prompt or no answer: left out.")


def _between(ends: tuple[Outcome, Outcome] | None, words: Callable[[Outcome], str]) -> str:
    """The figure with steps of the fast and of the slow end; empty where there is no range."""
    if ends is None:
        return ""
    first, second = map(words, ends)
    return first if first == second else f"{first} – {second}"


def _timelines(found: Setting, outcomes: Mapping[Schedule, Outcome]) -> None:
    st.header("Who holds which slot, and when", anchor=False)
    part = len(found.trace) > DRAWN_REQUESTS
    bars = {each: _bars(found, outcomes[each]) for each in (Schedule.STATIC, Schedule.CONTINUOUS)}
    ends = {each: max(bar.end_s for bar in drawn) for each, drawn in bars.items()}
    end_s = ends[Schedule.CONTINUOUS] if part else max(ends.values())
    unit = "steps: one makes a token in every busy slot" if found.wish.in_steps else "seconds"
    for schedule, last_s in ends.items():
        outcome = outcomes[schedule]
        share = work_share(outcome, found.slots)
        st.markdown(f"**{NAMES[schedule]}** ({TERMS[schedule]}) · {share:.0%} of the slots' places made a token")
        drawn = tuple(bar for bar in bars[schedule] if bar.slot < MOST_SLOTS)
        figure(
            slots_chart,
            drawn,
            found.slots,
            math.inf if part else last_s,
            end_s,
            unit,
            alt=f"{NAMES[schedule]}: {found.slots:,} slots over time, {share:.0%} of their places made a token, "
            f"all done after {time_words(outcome.makespan_s, found.wish.in_steps)}.",
            key=f"slots_{schedule}",
            columns=("Request", "Slot", "What", "From", "To"),
            cells=[_bar_cells(bar) for bar in drawn[:TABLE_ROWS]],
            rows=[_bar_row(bar) for bar in drawn],
            text=(2,),
        )
    st.html(swatches(((WORK[0], "an answer being written"), (PREFILL, "a prompt being read"), (IDLE, "held or idle"))))
    _say_part(found, part)


def _bars(found: Setting, outcome: Outcome) -> tuple[Bar, ...]:
    """The stretches of slots, counted from the first arrival as all times are."""
    return tuple(
        replace(bar, start_s=bar.start_s - found.begin_s, end_s=bar.end_s - found.begin_s) for bar in outcome.bars
    )


def _say_part(found: Setting, part: bool) -> None:
    """That a picture shows some of the requests, or of the slots."""
    some = [f"the first {DRAWN_REQUESTS:,} of {len(found.trace):,} requests"] if part else []
    if found.slots > MOST_SLOTS:
        some.append(f"the first {MOST_SLOTS} of {found.slots:,} slots")
    if some:
        st.caption(f"Drawn: {' in '.join(some)}. The figures are those of all.")


def _bar_cells(bar: Bar) -> tuple[str, ...]:
    return f"{bar.request + 1:,}", f"{bar.slot + 1:,}", bar.phase, f"{bar.start_s:.4g}", f"{bar.end_s:.4g}"


def _bar_row(bar: Bar) -> dict[str, object]:
    return {
        "request": bar.request,
        "slot": bar.slot,
        "phase": bar.phase,
        "start_s": bar.start_s,
        "end_s": bar.end_s,
    }


def _table(found: Setting, outcomes: Mapping[Schedule, Outcome]) -> None:
    st.header("What each schedule makes of the same requests", anchor=False)
    st.markdown(pool_sentence(outcomes[Schedule.CONTINUOUS]))
    cells = batch_table.cells(outcomes, found.slots, found.wish.in_steps)
    st.html(html_table(batch_table.columns(outcomes), cells))
    st.caption(
        "Times count from a request's own arrival; *a token* is the pace after the first. A whole batch reserves what "
        "it needs before it starts, so it has no blocks to share out."
    )
    with st.expander("As files", key="files", on_change="rerun") as box:
        if box.open:
            bars = _bars(found, outcomes[Schedule.CONTINUOUS])
            end_s = max(bar.end_s for bar in bars)
            download_buttons(
                batch_table.rows(outcomes, found.slots),
                lambda: slots_chart(bars, found.slots, end_s, end_s, "seconds", colours.PRINT_INK),
                "kv-budget-schedules",
                key="schedules",
            )


def _command(plan: Scenario, found: Setting) -> None:
    st.header("The same in a terminal", anchor=False)
    wish, server = found.wish, found.servers[Schedule.CONTINUOUS]
    words: list[object] = ["--slots", server.slots, "--block-tokens", server.block_tokens]
    if server.shared_prefix_tokens:
        words += ["--shared-prefix", server.shared_prefix_tokens]
    for tier in server.tiers:
        option = "--disk" if tier.name == "disk" else "--host"
        words += [f"{option}-us", f"{1e6 * tier.copy_s_per_token:.6g}"]
        words += [] if tier.blocks is None else [f"{option}-blocks", tier.blocks]
    if found.closed_loop_users is not None:
        words += ["--closed-loop", found.closed_loop_users]
    if found.rate is not None:
        words += ["--rate", f"{found.rate:g}"]
    if found.pace is None:
        words += ["--workload", TEXTBOOK_SET, "--step-ms", 1000, "--seed", wish.seed]
        text = shlex.join(["kvbudget", "simulate", *map(str, words)])
    else:
        words += [*pace_words(found.pace), "--requests", wish.requests]
        if wish.kind == FILE:
            words += ["--trace", wish.file_name, *(["--at-once"] if wish.arrival == AT_ONCE else [])]
        else:
            words += ["--prompt", wish.median_prompt, "--output", wish.median_output, "--sigma", f"{wish.sigma:g}"]
            words += ["--longest", wish.longest, "--seed", wish.seed]
        text = command(replace(plan.choices, context=None, users=1), "simulate", *map(str, words))
    st.code(text, language=None, wrap_lines=True)


main()
