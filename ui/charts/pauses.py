"""The chart of pauses: how long everybody's answers wait while a prompt is read, whole or in chunks."""

import math
from collections.abc import Sequence

import altair as alt

from planner.batching.pauses import Pause
from planner.units import format_seconds
from ui.charts import colours
from ui.charts.label_places import NARROWEST_PX, Box, Label, along, around, box_of, name_place, places
from ui.charts.plan import AXIS_PX, SECONDS_AXIS, doubling_tokens, finished, other_field, tooltip

_BOLD = 600
PLOT_PX = 230
_HEADROOM = 1.12
PLOT = Box(left=0.0, top=0.0, right=NARROWEST_PX, bottom=PLOT_PX)


def pause_chart(points: Sequence[Pause], marked: Sequence[tuple[str, Pause]], ink: str = colours.INK) -> alt.LayerChart:
    """Two lines over the prompt's length, read whole and in chunks; *marked* are the reader's own lengths by name."""
    first, last = points[0].prompt_tokens, points[-1].prompt_tokens
    x = doubling_tokens(first, last, "tokens of the prompt that is read")
    most = _HEADROOM * points[-1].whole_s
    y = alt.Y(
        "whole:Q",
        scale=alt.Scale(domain=[0, most], nice=False),
        title="pause of the others",
        axis=alt.Axis(tickCount=5, labelExpr=SECONDS_AXIS),
    )
    rows = alt.Chart(alt.Data(values=[_row(point) for point in points]))
    base = rows.encode(x=x, tooltip=tooltip("prompt", "read whole", "in chunks"))
    chunks = other_field(y, "chunked")
    octaves = math.log2(last / first)

    def label(point: Pause, seconds: float, text: str) -> Label:
        across = NARROWEST_PX * math.log2(point.prompt_tokens / first) / octaves
        return Label(x=across, y=PLOT_PX * (1 - seconds / most), text=text)

    labels = [label(point, point.whole_s, f"{name}: {format_seconds(point.whole_s)}") for name, point in marked]
    lines = [
        [(spot.x, spot.y) for spot in (label(point, seconds(point), "") for point in points)]
        for seconds in (lambda point: point.whole_s, lambda point: point.chunked_s)
    ]
    found = places(labels, (), [box for line in lines for box in along(line)], PLOT)
    taken = [*map(box_of, labels, found), *(around(spot.x, spot.y) for spot in labels)]
    texts = [(point, y, _BOLD, *each) for (_, point), *each in zip(marked, labels, found, strict=True)]
    for height, line, other, name in ((y, *lines, "read whole"), (chunks, *reversed(lines), "in chunks")):
        index, name_label, place = name_place(name, line, along(other), taken, PLOT)
        texts.append((points[index], height, "normal", name_label, place))
        taken.append(box_of(name_label, place))
    layers = [
        base.mark_line(color=colours.CACHE, strokeWidth=3).encode(y=y),
        base.mark_line(color=colours.WEIGHTS, strokeWidth=3).encode(y=chunks),
    ]
    for _, point in marked:
        mark = alt.Chart(alt.Data(values=[_row(point)])).encode(x=x, y=y)
        layers.append(mark.mark_point(shape="circle", size=95, filled=True, color=colours.FREE, opacity=1))
    for point, height, weight, own, place in texts:
        mark = alt.Chart(alt.Data(values=[_row(point)])).encode(x=x, y=height)
        layers.append(mark.mark_text(text=own.text, color=ink, fontWeight=weight, **place.marks()))
    return finished(alt.layer(*layers), height=PLOT_PX + AXIS_PX)


def _row(point: Pause) -> dict[str, object]:
    return {
        "tokens": point.prompt_tokens,
        "whole": point.whole_s,
        "chunked": point.chunked_s,
        "prompt": f"{point.prompt_tokens:,} tokens",
        "read whole": format_seconds(point.whole_s),
        "in chunks": format_seconds(point.chunked_s),
    }
