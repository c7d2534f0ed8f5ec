"""A picture with its figures: beneath each chart the same as a table and as files, made only when it is opened."""

from collections.abc import Callable, Sequence
from typing import Any

import altair
import streamlit as st

from planner.export import Row
from ui.charts import colours
from ui.draw import draw
from ui.export import download_buttons
from ui.tables.html import html_table


def figure(
    chart: Callable[..., altair.LayerChart],
    *values: Any,
    alt: str,
    key: str,
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    rows: Sequence[Row],
    text: Sequence[int] = (),
    wide_only: Sequence[int] = (),
    own: int | None = None,
) -> None:
    """The chart of *values*; *cells* are the table as people read it, *rows* the same figures with units as keys."""
    draw(chart, *values, alt=alt, key=key)
    with st.expander("The same as a table, and as files", key=f"{key}_table", on_change="rerun") as box:
        if box.open:
            st.html(html_table(columns, cells, text=text, wide_only=wide_only, own=own))
            download_buttons(
                rows, lambda: chart(*values, colours.PRINT_INK), f"kv-budget-{key.replace('_', '-')}", key=key
            )
