"""Why figures for continuous batching differ so much: the textbook's requests under three assumptions, with ranges."""

from collections.abc import Sequence

import streamlit as st

from planner.batching.gains import ASSUMPTIONS, Gain, gain
from planner.catalogue.performance_presets import find_request_set
from planner.text.batching import gain_words, range_words
from ui.charts.slots import gains_chart
from ui.figure import figure
from ui.requests import TEXTBOOK_SET

SEEDS = 300


def gains_section(is_chosen: bool) -> None:
    """The ranges over many orders of the same requests; *is_chosen*: the page shows one of them already."""
    st.header("Why figures for this differ so much", anchor=False)
    st.markdown(
        "The textbook's 64 requests, median answer 18 tokens and longest 231, over eight slots. What refilling gains "
        "depends on **when they come** more than on anything else: with everybody there at the start, everybody waits "
        f"for everybody, whatever the schedule. Bars: least to most over {SEEDS} orders; dot: the mean."
    )
    gains = _gains()
    figure(
        gains_chart,
        gains,
        alt="; ".join(gain_words(found) for found in gains) + ".",
        key="gains",
        columns=("How they come", "Throughput, times", "Latency, times lower"),
        cells=[(found.assumption.words, range_words(found.throughput), range_words(found.latency)) for found in gains],
        rows=_gain_rows(gains),
    )
    if not is_chosen:
        st.caption("Choose *textbook* above to see one of these orders slot by slot.")


@st.cache_data(max_entries=1, show_spinner="Running 300 orders …")
def _gains() -> tuple[Gain, ...]:
    requests = find_request_set(TEXTBOOK_SET)
    return tuple(gain(requests, assumption, SEEDS) for assumption in ASSUMPTIONS)


def _gain_rows(gains: Sequence[Gain]) -> list[dict[str, object]]:
    return [
        {
            "assumption": found.assumption.words,
            "seeds": found.seeds,
            **{f"throughput_{end}": getattr(found.throughput, end) for end in ("mean", "low", "high")},
            **{f"latency_{end}": getattr(found.latency, end) for end in ("mean", "low", "high")},
        }
        for found in gains
    ]
