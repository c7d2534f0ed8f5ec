"""Rows to Altair charts. Nothing here knows Streamlit, and nothing is counted beyond picking a unit.

Each chart is one layered chart with a height and no width: the page stretches it, a file sets it. *ink* is the colour
of text on the ground: ``currentColor`` on a page, a fixed one in a file.
"""

from collections.abc import Sequence

import altair as alt

from planner.answers.card import Part, Segment
from planner.frontier import Frontier
from planner.units import GIB, format_bytes
from ui.charts import colours
from ui.words import ITEM_NAMES, PART_NAMES

FONT_PX = 12
NARROW_PX = 450
AXIS_PX = 50
"""What an axis and its title take of a chart's height."""
BAND = 0.13
"""Opacity of a range around a line."""
HALF_WAY = 0.55
LABEL_SHARE = {"narrow": 0.5, "wide": 0.2}
"""How much of a chart's width a label takes, on a phone (below NARROW_PX) and on a laptop."""
LABEL_PX = 36
"""A segment narrower than this has no label: the table below has its size."""
_SOLID = frozenset({Part.WEIGHTS, Part.RUNTIME, Part.CACHE})
_BAR = {"bottom": 0.1, "center": 0.4, "top": 0.7}
_RULE_TOP, _LABEL = 0.8, 0.91
"""Heights within the card's bar, from the axis up: the bar itself, the end of the rule and the label above it."""
TOKENS_AXIS = "datum.value >= 1024 ? format(datum.value / 1024, ',d') + 'k' : format(datum.value, 'd')"
SECONDS_AXIS = "datum.value < 1 ? format(1000 * datum.value, '~g') + ' ms' : format(datum.value, '~g') + ' s'"


def card_bar(segments: Sequence[Segment], usable_bytes: int, ink: str = colours.INK) -> alt.LayerChart:
    """One stacked bar of the card with a rule at what is usable; what lies beyond the rule is too much."""
    end_bytes = max(usable_bytes, *(segment.end_bytes for segment in segments))
    needed_bytes = max(segment.end_bytes for segment in segments if segment.part in _SOLID)
    over_bytes = needed_bytes - usable_bytes
    x = alt.X(
        "start:Q",
        title=None,
        scale=alt.Scale(domain=[0, end_bytes / GIB], nice=False),
        axis=alt.Axis(labelExpr="datum.label + ' GiB'", tickCount=5, labelFlush=True, grid=False),
    )
    y = alt.Y("bottom:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    rows = [_segment_row(segment, usable_bytes) for segment in segments]
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, x2="end:Q", y=y, y2="top:Q", tooltip=tooltip("what", "size"))
    look = {"color": alt.Color("fill:N", scale=None)}
    solid = base.transform_filter("datum.solid").mark_rect(stroke="#FFFFFF", strokeWidth=1).encode(**look)
    dashed = (
        base.transform_filter("!datum.solid")
        .mark_rect(fillOpacity=0.12, strokeDash=[4, 3], strokeWidth=1.5)
        .encode(**look, stroke=alt.Stroke("fill:N", scale=None))
    )
    wide_enough = alt.ExprRef(f"datum.room / {end_bytes / GIB} * width > {LABEL_PX} ? 1 : 0")
    texts = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("middle:Q", title=None), y=alt.Y("center:Q", axis=None), text="label:N"
    )
    on_solid = texts.transform_filter("datum.solid").mark_text(color="#FFFFFF", fontWeight=600, opacity=wide_enough)
    on_ground = texts.transform_filter("!datum.solid").mark_text(color=ink, fontWeight=600, opacity=wide_enough)
    layers = [solid, dashed, *_overflow(usable_bytes, needed_bytes, y), on_solid, on_ground]
    layers += _usable_mark(usable_bytes, over_bytes, end_bytes, ink)
    return finished(alt.layer(*layers), height=130)


def frontier_chart(border: Frontier, tokens: int, users: int, fits: bool, ink: str = colours.INK) -> alt.LayerChart:
    """Context against users, both by doublings: the border, what fits beneath it, and the plan's own point."""
    x_scale = alt.Scale(type="log", base=2, domain=[border.shortest_tokens, border.longest_tokens], nice=False)
    y_scale = alt.Scale(type="log", base=2, domain=[1, border.most_users], nice=False)
    x = alt.X(
        "tokens:Q",
        scale=x_scale,
        title="tokens per user, prompt and answer",
        axis=alt.Axis(values=doublings(border.shortest_tokens, border.longest_tokens), labelExpr=TOKENS_AXIS),
    )
    y = alt.Y(
        "users:Q",
        scale=y_scale,
        title="users at once",
        axis=alt.Axis(values=doublings(1, border.most_users), labelExpr="format(datum.value, ',d')"),
    )
    line_rows = [
        {"tokens": tokens_, "users": users_, "context": f"{tokens_:,} tokens", "most": f"{int(users_):,} users"}
        for tokens_, users_ in border.points
    ]
    line = alt.Chart(alt.Data(values=line_rows)).encode(x=x, y=y, tooltip=tooltip("context", "most"))
    layers = [
        line.mark_area(color=colours.WEIGHTS, opacity=0.14, clip=True).encode(y2=alt.datum(1)),
        line.mark_line(color=colours.WEIGHTS, strokeWidth=3, clip=True),
        *_regions(ink),
        *_limit(border, tokens, fits, x, y, ink),
        *_own_point(border, tokens, users, fits, x, y, ink),
    ]
    return finished(alt.layer(*layers), height=300)


def _segment_row(segment: Segment, usable_bytes: int) -> dict[str, object]:
    """One stretch; its label stands in the wider part where the rule at *usable_bytes* cuts it."""
    cut = min(max(usable_bytes, segment.start_bytes), segment.end_bytes)
    start, end = max((segment.start_bytes, cut), (cut, segment.end_bytes), key=lambda part: part[1] - part[0])
    solid = segment.part in _SOLID
    name = ITEM_NAMES.get(segment.name) or PART_NAMES.get(segment.part) or segment.name
    return {
        **_BAR,
        "start": segment.start_bytes / GIB,
        "end": segment.end_bytes / GIB,
        "middle": (start + end) / 2 / GIB,
        "room": (end - start) / GIB,
        "label": f"{segment.bytes / GIB:.2f}",
        "what": name,
        "size": format_bytes(segment.bytes),
        "solid": solid,
        "fill": colours.PARTS[segment.part],
    }


def _overflow(usable_bytes: int, needed_bytes: int, y: alt.Y) -> list[alt.Chart]:
    """A dashed dark outline around what is too much."""
    if needed_bytes <= usable_bytes:
        return []
    row = {**_BAR, "start": usable_bytes / GIB, "end": needed_bytes / GIB}
    excess = alt.Chart(alt.Data(values=[row])).encode(x=alt.X("start:Q", title=None), x2="end:Q", y=y, y2="top:Q")
    return [
        excess.mark_rect(fillOpacity=0, stroke=colours.DARK_TEXT, strokeWidth=2),
        excess.mark_rect(fillOpacity=0, stroke="#FFFFFF", strokeWidth=2, strokeDash=[4, 4]),
    ]


def _usable_mark(usable_bytes: int, over_bytes: int, end_bytes: int, ink: str) -> list[alt.Chart]:
    """The thick rule at what programs can have, and above it its label, leaning to the side that has room."""
    place = usable_bytes / end_bytes
    align = "right" if place > 0.6 else "left" if place < 0.4 else "center"
    label = f"usable {format_bytes(usable_bytes)}"
    if over_bytes > 0:
        label += f" · {format_bytes(over_bytes)} too much"
    row = {"at": usable_bytes / GIB, "bottom": 0, "top": _RULE_TOP, "middle": _LABEL, "label": label}
    mark = alt.Chart(alt.Data(values=[row])).encode(x=alt.X("at:Q", title=None))
    colour = colours.CACHE if over_bytes > 0 else ink
    return [
        mark.mark_rule(strokeWidth=3, color=colour).encode(y=alt.Y("bottom:Q", axis=None), y2="top:Q"),
        mark.mark_text(align=align, fontWeight=600, color=ink).encode(y=alt.Y("middle:Q", axis=None), text="label:N"),
    ]


def _regions(ink: str) -> list[alt.Chart]:
    """What lies on either side of the border, in words."""
    look = {"fontStyle": "italic", "color": ink}
    inside = {"x": alt.value(12), "y": alt.value(alt.ExprRef("height - 14"))}
    outside = {"x": alt.value(alt.ExprRef("width - 12")), "y": alt.value(16)}
    return [
        _text("fits", align="left", **look).encode(**inside),
        _text("does not fit", align="right", **look).encode(**outside),
    ]


def _limit(border: Frontier, tokens: int, fits: bool, x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    """The most users at the plan's context, on the border; its label on the other side than the plan's."""
    if not border.limit_users or border.limit_users > border.most_users:
        return []
    users = "1 user" if border.limit_users == 1 else f"{border.limit_users:,} users"
    row = {"tokens": tokens, "users": border.limit_users, "label": f"limit: {users} at {tokens:,}"}
    mark = alt.Chart(alt.Data(values=[row])).encode(x=x, y=y)
    above = mark.mark_text(**_above(border, tokens, border.limit_users), color=ink)
    label = above if fits else mark.mark_text(align="right", dx=-7, dy=13, color=ink)
    return [
        mark.mark_point(shape="circle", size=45, filled=True, color=colours.WEIGHTS, opacity=1),
        label.encode(text="label:N"),
    ]


def _own_point(border: Frontier, tokens: int, users: int, fits: bool, x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    """The plan: a green circle labelled below left when it fits, an orange cross labelled above when it does not."""
    row = {"tokens": tokens, "users": users}
    row["label"] = f"your plan: {users:,} × {tokens:,}" if fits else f"{users:,} × {tokens:,}: too much"
    mark = alt.Chart(alt.Data(values=[row])).encode(x=x, y=y)
    if fits:
        point = mark.mark_point(shape="circle", size=110, filled=True, color=colours.FREE, opacity=1)
        align, shift = ("right", -9) if border.place(tokens) >= LABEL_SHARE["narrow"] else ("left", 9)
        dy = 14 if users**8 > border.most_users else -14  # the lowest eighth lies on the axis's own labels
        label = mark.mark_text(align=align, dx=shift, dy=dy, color=ink, fontWeight=600)
    else:
        point = mark.mark_point(shape="cross", size=130, filled=True, color=colours.CACHE, stroke="#FFFFFF", opacity=1)
        label = mark.mark_text(**_above(border, tokens, users), color=ink, fontWeight=600)
    return [point, label.encode(text="label:N")]


def _above(border: Frontier, tokens: int, users: int) -> dict[str, object]:
    """Where a label above a point has room: to the right, or lifted over the line that rises to the left."""
    if border.place(tokens) <= HALF_WAY:
        return {"align": "left", "dx": 7, "dy": -12}
    narrow, wide = (border.rise(tokens, users, LABEL_SHARE[size]) for size in ("narrow", "wide"))
    return {
        "align": "right",
        "dx": 7,
        "dy": alt.ExprRef(f"-14 - height * (width < {NARROW_PX} ? {narrow:.3f} : {wide:.3f})"),
    }


def doubling_tokens(first: int, last: int, title: str) -> alt.X:
    """The field ``tokens`` from *first* to *last* on a scale of doublings."""
    return alt.X(
        "tokens:Q",
        scale=alt.Scale(type="log", base=2, domain=[first, last], nice=False),
        title=title,
        axis=alt.Axis(values=doublings(first, last), labelExpr=TOKENS_AXIS, grid=False),
    )


def doublings(least: int, most: int, at_most: int = 10) -> list[int]:
    """Powers of two from *least* to *most*, every second or third where there would be too many to read."""
    powers = [2**n for n in range(least.bit_length() - 1, most.bit_length()) if least <= 2**n <= most]
    return powers[:: -(-len(powers) // at_most)]


def _text(text: str, **look: object) -> alt.Chart:
    return alt.Chart(alt.Data(values=[{}])).mark_text(text=text, **look)


def other_field(channel: alt.X | alt.Y, field: str) -> alt.X | alt.Y:
    """The same axis and scale for another column of the rows."""
    other = channel.copy()
    other.shorthand = f"{field}:Q"
    return other


def tooltip(*fields: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{field}:N", title=field) for field in fields]


def finished(chart: alt.LayerChart, height: int) -> alt.LayerChart:
    """*chart* at its height, without a frame. Set in place: each of Altair's own steps would copy every row."""
    chart.height = height
    chart.config = alt.Config(view=alt.ViewConfig(stroke=None), text=alt.MarkConfig(fontSize=FONT_PX))
    return chart
