"""The map of drafts: acceptance across, length up, the speed in each cell, orange where slower, blue where faster."""

import math
from collections.abc import Sequence

import altair as alt

from planner.speed.draft_map import Cell
from ui.charts import colours
from ui.charts.plan import finished, other_field, tooltip

_BOLD = 600
ROW_PX = 34
FASTER = ("#E6F1FA", "#5AA5D8", "#0B4F8A")
SLOWER = ("#FBE6D6", "#E0762B", "#8A3300")
_FULL_OCTAVES = {True: 2.0, False: 1.0}
"""Faster by four and slower by two have the deepest colour."""
_EDGE = 0.015
"""So near to 1 is neither."""


def speculation_map(
    cells: Sequence[Cell], acceptance: float, draft_tokens: int, ink: str = colours.INK
) -> alt.LayerChart:
    """Acceptance across, length up; the number in each cell, a staircase where it breaks even, a ring on the own."""
    alphas = sorted({cell.acceptance for cell in cells})
    lengths = sorted({cell.draft_tokens for cell in cells})
    rows = [_cell_row(cell, alphas, lengths) for cell in cells]
    x = alt.X("left:Q", **_cells_axis("share of drafted tokens that the model accepts", [f"{a:.0%}" for a in alphas]))
    y = alt.Y("bottom:Q", **_cells_axis("tokens drafted each time", [f"{length}" for length in lengths]))
    base = alt.Chart(alt.Data(values=rows)).encode(tooltip=tooltip("accepted", "drafted", "speed"))
    middle = base.encode(x=other_field(x, "middle"), y=other_field(y, "center"))
    own = middle.transform_filter(f"datum.alpha == {acceptance} && datum.tokens == {draft_tokens}")
    layers = [
        base.mark_rect().encode(x=x, x2="right:Q", y=y, y2="top:Q", color=alt.Color("fill:N", scale=None)),
        middle.mark_text(fontWeight=_BOLD).encode(text="label:N", color=alt.Color("ink:N", scale=None)),
        *_staircase(cells, alphas, lengths, x, y),
        own.mark_point(shape="circle", size=900, filled=False, stroke=colours.DARK_TEXT, strokeWidth=3, opacity=1),
    ]
    return finished(alt.layer(*layers), height=ROW_PX * len(lengths) + 50)


def _cells_axis(title: str, names: Sequence[str]) -> dict[str, object]:
    """An axis of cells side by side, each named in its middle."""
    labels = ", ".join(f"'{name}'" for name in names)
    return {
        "title": title,
        "scale": alt.Scale(domain=[0, len(names)], nice=False),
        "axis": alt.Axis(
            values=[index + 0.5 for index in range(len(names))],
            labelExpr=f"[{labels}][floor(datum.value)]",
            labelFlush=False,
            labelOverlap=False,
            grid=False,
        ),
    }


def _cell_row(cell: Cell, alphas: Sequence[float], lengths: Sequence[int]) -> dict[str, object]:
    left, bottom = alphas.index(cell.acceptance), lengths.index(cell.draft_tokens)
    fill = _fill(cell.speedup)
    return {
        "left": left,
        "right": left + 1,
        "middle": left + 0.5,
        "bottom": bottom,
        "top": bottom + 1,
        "center": bottom + 0.5,
        "alpha": cell.acceptance,
        "tokens": cell.draft_tokens,
        "fill": fill,
        "ink": colours.DARK_TEXT if _luminance(fill) > 0.3 else colours.LIGHT_TEXT,
        "label": f"{cell.speedup:.2f}",
        "accepted": f"{cell.acceptance:.0%}",
        "drafted": f"{cell.draft_tokens}",
        "speed": f"{cell.speedup:.2f} times",
    }


def _fill(speedup: float) -> str:
    """Pale at 1, deeper by the logarithm of the speed-up: blue above, orange below."""
    if abs(speedup - 1) < _EDGE:
        return FASTER[0] if speedup >= 1 else SLOWER[0]
    faster = speedup >= 1
    ramp = FASTER if faster else SLOWER
    depth = min(1.0, abs(math.log2(speedup)) / _FULL_OCTAVES[faster]) * 2
    index = min(1, int(depth))
    return _mix(ramp[index], ramp[index + 1], depth - index)


def _mix(first: str, second: str, share: float) -> str:
    pairs = zip(_rgb(first), _rgb(second), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02X}" for a, b in pairs)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = [part / 255 for part in _rgb(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _staircase(
    cells: Sequence[Cell], alphas: Sequence[float], lengths: Sequence[int], x: alt.X, y: alt.Y
) -> list[alt.Chart]:
    """The line between slower and faster: a step up a row, and across where the next row begins elsewhere."""
    speeds = {(cell.acceptance, cell.draft_tokens): cell.speedup for cell in cells}
    edges = [sum(speeds[alpha, length] < 1 for alpha in alphas) for length in lengths]
    if set(edges) in ({0}, {len(alphas)}):
        return []
    path = [{"left": edge, "bottom": row + end} for row, edge in enumerate(edges) for end in (0, 1)]
    rows = [point | {"order": index} for index, point in enumerate(path)]
    chart = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, order="order:Q")
    return [
        chart.mark_line(color="#FFFFFF", strokeWidth=6),
        chart.mark_line(color=colours.DARK_TEXT, strokeWidth=3.5),
    ]
