"""Measured against predicted: the line on which they are equal, a band of a factor of two, outliers by name."""

import math
from collections.abc import Sequence

import altair as alt

from measure.findings import Closeness, Finding, worst_first
from ui.charts import colours
from ui.charts.plan import finished, tooltip
from ui.sections.measure_words import size_words

SHAPES = {
    Closeness.EXACT: "circle",
    Closeness.PRINTED: "circle",
    Closeness.RANGE: "diamond",
    Closeness.NEAR: "square",
    Closeness.OFF: "triangle-up",
}
FILLS = {
    Closeness.EXACT: colours.WEIGHTS,
    Closeness.PRINTED: colours.WEIGHTS,
    Closeness.RANGE: colours.FREE,
    Closeness.NEAR: colours.FREE,
    Closeness.OFF: colours.CACHE,
}
SIGNS = {
    Closeness.EXACT: "●",
    Closeness.PRINTED: "●",
    Closeness.RANGE: "◆",
    Closeness.NEAR: "■",
    Closeness.OFF: "▲",
}
NAME_PX = 150
"""As much of a name as there is room for on a phone; the table has all of it."""
APART = 0.12
"""The share of an axis by which points must differ for both to have their names beside them."""
FACTOR = 2
_BYTES_AXIS = (
    "datum.value >= 1e9 ? format(datum.value / 1e9, '~g') + ' GB' : datum.value >= 1e6 ? "
    "format(datum.value / 1e6, '~g') + ' MB' : datum.value >= 1e3 ? format(datum.value / 1e3, '~g') + ' kB' : "
    "format(datum.value, '~g') + ' B'"
)


def identity_chart(found: Sequence[Finding], ink: str = colours.INK) -> alt.LayerChart:
    """Every pair of sizes in bytes, both axes logarithmic; those that are off have their names beside them."""
    sizes = [one for one in found if one.quantity.endswith("bytes") and one.predicted > 0 and one.measured > 0]
    values = [value for one in sizes for value in (one.predicted, one.measured)]
    low = 10 ** math.floor(math.log10(min(values)))
    high = 10 ** math.ceil(math.log10(max(values) + 1))
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    x = alt.X("predicted:Q", scale=scale, title="predicted", axis=_axis(low, high))
    y = alt.Y("measured:Q", scale=scale, title="measured", axis=_axis(low, high))
    ends = [{"predicted": end, "measured": end, "half": end / FACTOR, "double": end * FACTOR} for end in (low, high)]
    line = alt.Chart(alt.Data(values=ends)).encode(x=x, y=y)
    band = line.mark_area(color=colours.RULE, opacity=0.15, clip=True)
    layers = [
        band.encode(y=alt.Y("half:Q", scale=scale, title="measured", axis=_axis(low, high)), y2="double:Q"),
        line.mark_line(color=colours.RULE, strokeWidth=1.5, clip=True),
    ]
    for closeness in Closeness:
        those = [one for one in sizes if one.closeness is closeness]
        rows = [_row(one) for one in those]
        if rows:
            points = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, tooltip=tooltip("what", "says", "read"))
            layers.append(
                points.mark_point(shape=SHAPES[closeness], size=70, filled=True, color=FILLS[closeness], opacity=0.9)
            )
            if closeness is Closeness.OFF:
                named = [_row(one) for one in _labelled(those, math.log10(high / low))]
                words = alt.Chart(alt.Data(values=named)).encode(x=x, y=y, text="what:N")
                layers.append(words.mark_text(align="right", dx=-9, dy=-7, color=ink, fontWeight=600, limit=NAME_PX))
    return finished(alt.layer(*layers), height=320)


def _labelled(found: Sequence[Finding], decades: float) -> list[Finding]:
    """The farthest off first, none so near another one that their names would run into each other."""
    named: list[Finding] = []
    for one in worst_first(found):
        if all(abs(math.log10(one.measured / other.measured)) > APART * decades for other in named):
            named.append(one)
    return named


def _axis(low: float, high: float) -> alt.Axis:
    powers = [10**n for n in range(round(math.log10(low)), round(math.log10(high)) + 1)]
    return alt.Axis(values=powers[:: -(-len(powers) // 7)], labelExpr=_BYTES_AXIS)


def _row(one: Finding) -> dict[str, object]:
    words = {"what": one.name, "says": size_words(one, one.predicted), "read": size_words(one, one.measured)}
    return words | {"predicted": one.predicted, "measured": one.measured}
