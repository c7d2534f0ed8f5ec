"""The chart of pauses: how long everybody's answers wait while a prompt is read, whole or in chunks."""

from collections.abc import Sequence

import altair as alt

from planner.batching.pauses import Pause
from planner.units import format_seconds
from ui import colours
from ui.charts import SECONDS_AXIS, doubling_tokens, finished, other_field, tooltip

_BOLD = 600
_STAGGER_PX = 9
"""The line rises to the right: labels stand left above their points, each a little higher than the one before."""


def pause_chart(points: Sequence[Pause], marked: Sequence[tuple[str, Pause]], ink: str = colours.INK) -> alt.LayerChart:
    """Two lines over the prompt's length, read whole and in chunks; *marked* are the reader's own lengths by name."""
    first, last = points[0].prompt_tokens, points[-1].prompt_tokens
    x = doubling_tokens(first, last, "tokens of the prompt that is read")
    y = alt.Y(
        "whole:Q",
        scale=alt.Scale(domain=[0, 1.12 * points[-1].whole_s], nice=False),
        title="pause of the others",
        axis=alt.Axis(tickCount=5, labelExpr=SECONDS_AXIS),
    )
    rows = alt.Chart(alt.Data(values=[_row(point) for point in points]))
    base = rows.encode(x=x, tooltip=tooltip("prompt", "read whole", "in chunks"))
    end = alt.Chart(alt.Data(values=[_row(points[-1])])).encode(x=x)
    words = {"align": "right", "dx": -4, "color": ink}
    chunks = other_field(y, "chunked")
    layers = [
        base.mark_line(color=colours.CACHE, strokeWidth=3).encode(y=y),
        base.mark_line(color=colours.WEIGHTS, strokeWidth=3).encode(y=chunks),
        end.mark_text(text="read whole", dy=-2, **words | {"dx": -26}).encode(y=y),
        end.mark_text(text="in chunks", dy=-10, **words).encode(y=chunks),
    ]
    for index, (name, point) in enumerate(marked):
        mark = alt.Chart(alt.Data(values=[_row(point)])).encode(x=x, y=y)
        layers += [
            mark.mark_point(shape="circle", size=95, filled=True, color=colours.FREE, opacity=1),
            mark.mark_text(
                text=f"{name}: {format_seconds(point.whole_s)}",
                color=ink,
                fontWeight=_BOLD,
                align="right",
                dx=-7,
                dy=-9 - _STAGGER_PX * index,
            ),
        ]
    return finished(alt.layer(*layers), height=280)


def _row(point: Pause) -> dict[str, object]:
    return {
        "tokens": point.prompt_tokens,
        "whole": point.whole_s,
        "chunked": point.chunked_s,
        "prompt": f"{point.prompt_tokens:,} tokens",
        "read whole": format_seconds(point.whole_s),
        "in chunks": format_seconds(point.chunked_s),
    }
