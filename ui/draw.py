"""Puts charts on the page; equal rows are drawn up once, since checking a chart's grammar costs more than planning."""

from collections.abc import Callable
from typing import Any

import altair
import streamlit as st
from altair.utils.schemapi import debug_mode


def draw(chart: Callable[..., altair.LayerChart], *rows: Any, alt: str, key: str) -> None:
    """The chart that *chart* makes of *rows*, which are values; *alt* says its figures in a sentence."""
    spec = _spec(chart, f"{chart.__module__}.{chart.__qualname__}", rows)
    st.vega_lite_chart(spec=spec, alt=alt, key=key, width="stretch")


@st.cache_data(max_entries=256, show_spinner=False)
def _spec(_chart: Callable[..., altair.LayerChart], name: str, rows: tuple[Any, ...]) -> dict[str, Any]:
    with debug_mode(False):  # the tests check the grammar; here it would cost as much as all else
        found: dict[str, Any] = _chart(*rows).to_dict(validate=False)
    return found
