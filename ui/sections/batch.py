"""What each schedule makes of the same requests: slot by slot, in a few figures, and in all of them."""

import math
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from planner.batching.outcome import Bar, Outcome, Queue, work_share
from planner.batching.queueing import Waiting, WhyNoFormula, waiting_by_formula
from planner.batching.server import Schedule
from planner.catalogue.performance_presets import published_paging
from planner.text.batching import NAMES, TERMS, pool_sentence, published_sentence, time_words
from planner.text.queue import formula_sentence
from ui.batch_setting import Setting
from ui.charts import colours
from ui.charts.slots import IDLE, MOST_SLOTS, PREFILL, WAITING, WORK, slots_chart
from ui.export import download_buttons
from ui.figure import figure
from ui.requests import FILE
from ui.tables import batch as batch_table
from ui.tables.html import html_table, swatches

TABLE_ROWS = 200


def timelines(found: Setting, outcomes: Mapping[Schedule, Outcome]) -> None:
    st.header("Who holds which slot, and when", anchor=False)
    part = len(found.trace) > found.drawn_requests
    bars = {each: _bars(found, outcomes[each]) for each in (Schedule.STATIC, found.own)}
    ends = {each: max(bar.end_s for bar in drawn) for each, drawn in bars.items()}
    end_s = ends[found.own] if part else max(ends.values())
    queues = {each: _queue(found, outcomes[each]) for each in bars}
    most = {
        each: max((point.waiting for point in queue if point.from_s < end_s), default=0)
        for each, queue in queues.items()
    }
    unit = "steps: one makes a token in every busy slot" if found.wish.in_steps else "seconds"
    for schedule, last_s in ends.items():
        outcome = outcomes[schedule]
        share = work_share(outcome, found.slots)
        made = f"the slots made {share:.0%} of the tokens that they had places for"
        st.markdown(f"**{NAMES[schedule]}** ({TERMS[schedule]}) · {made}")
        drawn = tuple(bar for bar in bars[schedule] if bar.slot < MOST_SLOTS)
        figure(
            slots_chart,
            drawn,
            queues[schedule],
            found.slots,
            max(most.values()),
            math.inf if part else last_s,
            end_s,
            unit,
            alt=f"{NAMES[schedule]}: {found.slots:,} slots over time; {made}, "
            f"up to {most[schedule]:,} requests waiting for one{' in the time drawn' if part else ''}, all done after "
            f"{time_words(outcome.makespan_s, found.wish.in_steps)}.",
            key=f"slots_{schedule}",
            columns=("Request", "Slot", "What", "From", "To"),
            cells=[_bar_cells(bar) for bar in drawn[:TABLE_ROWS]],
            rows=[_bar_row(bar) for bar in drawn],
            text=(2,),
        )
    st.html(
        swatches(
            (
                (WORK[0], "an answer being written"),
                (PREFILL, "a prompt being read, 2 px wide at least"),
                (IDLE, "held or idle"),
                (WAITING, "come, and waiting for a slot"),
            )
        )
    )
    _say_part(found, part)


def _bars(found: Setting, outcome: Outcome) -> tuple[Bar, ...]:
    """The stretches of slots, counted from the first arrival as all times are."""
    return tuple(
        replace(bar, start_s=bar.start_s - found.begin_s, end_s=bar.end_s - found.begin_s) for bar in outcome.bars
    )


def _queue(found: Setting, outcome: Outcome) -> tuple[Queue, ...]:
    """How many wait, counted alike."""
    return tuple(replace(point, from_s=point.from_s - found.begin_s) for point in outcome.queue)


def _say_part(found: Setting, part: bool) -> None:
    """That a picture shows some of the requests, or of the slots."""
    some = [f"the first {found.drawn_requests:,} of {len(found.trace):,} requests"] if part else []
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


def schedules_table(found: Setting, outcomes: Mapping[Schedule, Outcome]) -> None:
    st.header("What each schedule makes of the same requests", anchor=False)
    st.markdown(pool_sentence(outcomes[found.own]))
    columns = batch_table.columns(outcomes)
    st.html(html_table(columns, batch_table.key_cells(outcomes, found.slots, found.wish.in_steps)))
    st.caption(
        "Times count from a request's own arrival; *a token* is the pace after the first. "
        f"{published_sentence(published_paging())}"
    )
    with st.expander("All figures: means and percentiles, slots, blocks", key="all_figures"):
        st.html(html_table(columns, batch_table.cells(outcomes, found.slots, found.wish.in_steps)))
        st.caption(
            "A whole batch reserves what it needs before it starts, so it has no blocks to share out. *Requests "
            "inside* is requests a second times the mean answer: Little's law, which holds for every schedule."
        )
    with st.expander("As files", key="files", on_change="rerun") as box:
        if box.open:
            own = outcomes[found.own]
            bars, queue = _bars(found, own), _queue(found, own)
            end_s, most = max(bar.end_s for bar in bars), max((point.waiting for point in queue), default=0)
            download_buttons(
                batch_table.rows(outcomes, found.slots),
                lambda: slots_chart(bars, queue, found.slots, most, end_s, end_s, "seconds", colours.PRINT_INK),
                "kv-budget-schedules",
                key="schedules",
            )


def queue_section(found: Setting, outcome: Outcome) -> None:
    """How long requests wait for a slot, beside the formula for such queues."""
    if found.rate is None or found.wish.is_closed:
        return
    st.markdown(formula_sentence(outcome, _formula(found, outcome), found.wish.in_steps))


def _formula(found: Setting, outcome: Outcome) -> Waiting | WhyNoFormula:
    assert found.rate is not None
    at_random = found.wish.kind != FILE
    return waiting_by_formula(outcome, found.server, found.step_time, found.rate, at_random)
