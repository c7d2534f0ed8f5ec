"""Simulated runs, kept for the next rerun; a long one shows how far it is.

Streamlit's own cache would replay the progress bar that a run has moved, so these are kept here, by value.
"""

from collections import OrderedDict
from threading import Lock
from typing import Any

import streamlit as st

from planner.batching.outcome import Outcome
from planner.batching.server import Server
from planner.batching.simulate import simulate
from planner.batching.step_time import StepTime
from planner.batching.targets import saturated
from planner.batching.trace import Trace

KEPT = 64
LONG = 20_000
"""Requests from which on a run is worth a bar."""
_SHOWN = 100
_runs: OrderedDict[Any, Outcome] = OrderedDict()
_lock = Lock()


def run(
    trace: Trace,
    server: Server,
    step_time: StepTime,
    name: str,
    closed_loop_users: int | None = None,
    bar_requests: int = 0,
) -> Outcome:
    """The outcome of ``simulate``; *name* says beside the bar what runs."""
    key = (len(trace), hash(trace), server, step_time, closed_loop_users, bar_requests)
    with _lock:
        if key in _runs:
            _runs.move_to_end(key)
            return _runs[key]
    if len(trace) < LONG:
        outcome = simulate(trace, server, step_time, closed_loop_users=closed_loop_users, bar_requests=bar_requests)
    else:
        outcome = _with_bar(trace, server, step_time, name, closed_loop_users, bar_requests)
    with _lock:
        _runs[key] = outcome
        while len(_runs) > KEPT:
            _runs.popitem(last=False)
    return outcome


def saturated_rate(trace: Trace, server: Server, step_time: StepTime) -> float:
    """The most requests a second that *server* takes of such as *trace* has."""
    return _saturated(trace, hash(trace), server, step_time)


@st.cache_data(max_entries=64, show_spinner=False)
def _saturated(_trace: Trace, trace: int, server: Server, step_time: StepTime) -> float:
    """*trace* stands for what Streamlit would take long to tell apart."""
    return saturated(_trace, server, step_time)


def _with_bar(
    trace: Trace, server: Server, step_time: StepTime, name: str, closed_loop_users: int | None, bar_requests: int
) -> Outcome:
    total, shown = len(trace), 0
    place = st.empty()
    bar = place.progress(0.0, f"{name}: {total:,} requests")

    def show(done: int) -> None:
        nonlocal shown
        if done - shown >= total // _SHOWN:
            shown = done
            bar.progress(done / total, f"{name}: {done:,} of {total:,} requests")

    outcome = simulate(
        trace,
        server,
        step_time,
        closed_loop_users=closed_loop_users,
        bar_requests=bar_requests,
        progress=show,
    )
    place.empty()
    return outcome
