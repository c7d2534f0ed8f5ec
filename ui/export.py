"""Figures and rows as files. Pictures have a white ground and a fixed ink, whatever the page's theme."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt
import streamlit as st

from planner import export
from planner.export import Row

WIDTH_PX = 900
MARGIN_PX = 16
PNG_SCALE = 2


def to_svg(chart: alt.LayerChart) -> bytes:
    """*chart* as an SVG file."""
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(_printed(chart))
    return svg.encode()


def to_png(chart: alt.LayerChart) -> bytes:
    """*chart* as a PNG file at twice the size."""
    import vl_convert

    png: bytes = vl_convert.vegalite_to_png(_printed(chart), scale=PNG_SCALE)
    return png


def download_buttons(
    rows: Sequence[Row],
    chart: Callable[[], alt.LayerChart],
    name: str,
    markdown: Callable[[], str] | None = None,
    key: str = "download",
) -> None:
    """Six files of one table, each made only when it is asked for. *chart* gives it in print's ink.

    *markdown* is the table as a person would lay it out, where its rows are not that. *key* tells the buttons of
    several tables on a page apart.
    """
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("CSV", "csv", "text/csv", lambda: export.to_csv(rows)),
        ("Markdown", "md", "text/markdown", markdown or (lambda: export.to_markdown(rows))),
        ("JSON", "json", "application/json", lambda: export.to_json(list(rows)) + "\n"),
        ("Excel", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", lambda: _xlsx(rows)),
        ("PNG", "png", "image/png", lambda: to_png(chart())),
        ("SVG", "svg", "image/svg+xml", lambda: to_svg(chart())),
    )
    with st.container(horizontal=True):
        for label, suffix, mime, make in files:
            st.download_button(
                label,
                make,
                file_name=f"{name}.{suffix}",
                mime=mime,
                key=f"{key}_{suffix}",
                on_click="ignore",
                icon=":material/download:",
            )


def _xlsx(rows: Sequence[Row]) -> bytes:
    return export.to_xlsx(rows, "KV Budget")


def _printed(chart: alt.LayerChart) -> dict[str, Any]:
    spec: dict[str, Any] = chart.properties(width=WIDTH_PX, background="#FFFFFF", padding=MARGIN_PX).to_dict()
    axis = spec.setdefault("config", {}).setdefault("axis", {})
    axis.update({"domain": False, "ticks": False, "labelFontSize": 12, "titleFontWeight": "normal"})
    return spec
