"""Simulated runs, kept for the next rerun; a long one shows how far it is.

Streamlit's own cache would replay the progress bar that a run has moved, so these are kept here, by value.
"""

from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import Any

import streamlit as st

from planner.batching.outcome import Outcome
from planner.batching.run import Run
from planner.batching.server import Server
from planner.batching.simulate import simulate
from planner.batching.step_time import StepTime
from planner.batching.targets import most_taken
from planner.batching.trace import Trace

KEPT = 64
LONG = 20_000
"""Requests from which on a run is worth a bar."""
_SHOWN = 100
_runs: OrderedDict[Any, Outcome] = OrderedDict()
_lock = Lock()


def run(asked: Run, name: str) -> Outcome:
    """The outcome of ``simulate``; *name* says beside the bar what runs."""
    key = (len(asked.trace), hash(asked))
    with _lock:
        if key in _runs:
            _runs.move_to_end(key)
            return _runs[key]
    outcome = simulate(asked) if len(asked.trace) < LONG else _with_bar(asked, name)
    with _lock:
        _runs[key] = outcome
        while len(_runs) > KEPT:
            _runs.popitem(last=False)
    return outcome


def saturated_rate(trace: Trace, server: Server, step_time: StepTime) -> float:
    """``most_taken``, kept for the next rerun."""
    return _saturated(trace, hash(trace), server, step_time)


@st.cache_data(max_entries=64, show_spinner=False)
def _saturated(_trace: Trace, trace: int, server: Server, step_time: StepTime) -> float:
    """*trace* stands for what Streamlit would take long to tell apart."""
    return most_taken(_trace, server, step_time)


def _with_bar(asked: Run, name: str) -> Outcome:
    total, shown = len(asked.trace), 0
    place = st.empty()
    bar = place.progress(0.0, f"{name}: {total:,} requests")

    def show(done: int) -> None:
        nonlocal shown
        if done - shown >= total // _SHOWN:
            shown = done
            bar.progress(done / total, f"{name}: {done:,} of {total:,} requests")

    outcome = simulate(replace(asked, progress=show))
    place.empty()
    return outcome
