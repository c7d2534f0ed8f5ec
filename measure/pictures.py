"""Rows to charts on a white ground, as a page shows and a file keeps them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

WIDTH, HEIGHT = 640, 320
PNG_SCALE = 2
BLUE, GREY = "#2E6FBB", "#8A8F98"
Chart = alt.Chart | alt.LayerChart


def identity(rows: Sequence[dict[str, Any]], predicted: str, measured: str, what: str, name: str) -> Chart:
    """Measured against predicted, both logarithmic, with the line on which they are equal."""
    pairs = [row for row in rows if row[predicted] and row[measured]]
    ends = [pick(row[key] for row in pairs for key in (predicted, measured)) for pick in (min, max)] if pairs else []
    x = alt.X(f"{predicted}:Q", scale=alt.Scale(type="log"), title=f"{what}, predicted")
    y = alt.Y(f"{measured}:Q", scale=alt.Scale(type="log"), title=f"{what}, measured")
    points = alt.Chart(alt.Data(values=pairs)).mark_circle(size=60, color=BLUE, opacity=0.7)
    line = alt.Chart(alt.Data(values=[{predicted: end, measured: end} for end in ends])).mark_line(color=GREY)
    tooltip = [f"{key}:{'N' if key == name else 'Q'}" for key in (name, predicted, measured)]
    return _sized(line.encode(x=x, y=y) + points.encode(x=x, y=y, tooltip=tooltip))


def lines(
    rows: Sequence[dict[str, Any]],
    x: tuple[str, str],
    y: tuple[str, str],
    colour: str | None = None,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> Chart:
    """Lines with points; *x* and *y* are a key and its title, *colour* is the key that tells lines apart."""
    encoding = {
        "x": alt.X(f"{x[0]}:Q", title=x[1], scale=_scale(log_x)),
        "y": alt.Y(f"{y[0]}:Q", title=y[1], scale=_scale(log_y)),
    }
    if colour:
        encoding["color"] = alt.Color(f"{colour}:N", title=None)
    return _sized(alt.Chart(alt.Data(values=list(rows))).mark_line(point=True).encode(**encoding))


def spread(rows: Sequence[dict[str, Any]], x: tuple[str, str], y: tuple[str, str], colour: str) -> Chart:
    """Lines with points, both axes logarithmic, each point with a bar from its row's ``low`` to its ``high``."""
    scale = alt.Scale(type="log", nice=False, padding=12)
    base = alt.Chart(alt.Data(values=list(rows))).encode(
        x=alt.X(f"{x[0]}:Q", title=x[1], scale=scale, axis=alt.Axis(values=sorted({row[x[0]] for row in rows}))),
        color=alt.Color(f"{colour}:N", title=None),
    )
    middle = base.mark_line(point=True).encode(y=alt.Y(f"{y[0]}:Q", title=y[1], scale=scale))
    return _sized(base.mark_rule().encode(y=alt.Y("low:Q", title=y[1], scale=scale), y2="high:Q") + middle)


def along(
    rows: Sequence[dict[str, Any]],
    curve: Sequence[dict[str, Any]],
    x: tuple[str, str],
    y: tuple[str, str],
    name: str,
) -> Chart:
    """Readings as points, each a colour by *name*, along the *curve* that a formula gives."""
    encoding = {"x": alt.X(f"{x[0]}:Q", title=x[1]), "y": alt.Y(f"{y[0]}:Q", title=y[1])}
    line = alt.Chart(alt.Data(values=list(curve))).mark_line(color=GREY).encode(**encoding)
    points = alt.Chart(alt.Data(values=list(rows))).mark_circle(size=80).encode(
        **encoding, color=alt.Color(f"{name}:N", title=None)
    )  # fmt: skip
    return _sized(line + points)


def bars(
    rows: Sequence[dict[str, Any]], x: tuple[str, str | None], y: tuple[str, str], *, log_y: bool = False
) -> Chart:
    """A bar a row, in the order of the rows."""
    chart = alt.Chart(alt.Data(values=list(rows))).mark_bar(color=BLUE)
    return _sized(
        chart.encode(
            x=alt.X(f"{x[0]}:N", title=x[1], sort=None, axis=alt.Axis(labelAngle=-30)),
            y=alt.Y(f"{y[0]}:Q", title=y[1]),
        )
    )


def save(chart: Chart, file: Path) -> None:
    """As PNG or SVG, by the file's ending."""
    chart.properties(background="#FFFFFF").save(str(file), scale_factor=PNG_SCALE)


def _scale(is_log: bool) -> alt.Scale:
    return alt.Scale(type="log") if is_log else alt.Scale()


def _sized(chart: Chart) -> Chart:
    return chart.properties(width=WIDTH, height=HEIGHT)
