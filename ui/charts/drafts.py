"""Charts of drafts: what more users make of them, and the context that they cost."""

import math
from collections.abc import Sequence

import altair as alt

from planner.draft_trade import DraftPoint
from planner.speed.drafting import BatchSpeculation
from planner.text.speculation import draft_name, speedup_range
from planner.text.speed import count_users, end_mark
from ui.charts import colours
from ui.charts.draft_map import SLOWER
from ui.charts.label_places import NARROWEST_PX, Box, Label, Place, along, places
from ui.charts.plan import AXIS_PX, BAND, doublings, finished, other_field, tooltip

_BOLD = 600
TRADE_PX, USERS_PX = 250, 210
_OWN = {"shape": "circle", "size": 110, "color": colours.FREE}
_FULL = {"shape": "square", "size": 130, "color": colours.CACHE, "stroke": "#FFFFFF"}


def users_chart(
    points: Sequence[BatchSpeculation], asked: int, most: int | None, ends: str = "memory", ink: str = colours.INK
) -> alt.LayerChart:
    """What the same draft is worth for more and more users; below the rule it makes all of them slower."""
    rows = [
        {
            "users": point.users,
            "speedup": point.speedup,
            "low": point.speedup_low,
            "high": point.speedup_high,
            "count": count_users(point.users),
            "speed": f"{point.speedup:.2f} times",
            "range": speedup_range(point),
        }
        for point in points
    ]
    last = points[-1].users
    low, high = min(0.9, *(point.speedup_low for point in points)), max(1.15, *(point.speedup_high for point in points))
    low, high = low - 0.05, high + 0.1
    x = alt.X(
        "users:Q",
        title="users at once",
        scale=alt.Scale(type="log", base=2, domain=[1, last], nice=False),
        axis=alt.Axis(values=doublings(1, last), labelExpr="format(datum.value, ',d')", grid=False),
    )
    y = alt.Y(
        "speedup:Q",
        title="times the speed",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=alt.Axis(tickCount=5, format=".1f"),
    )
    held = [row for row, point in zip(rows, points, strict=True) if most is None or point.users <= most]
    beyond = rows[max(0, len(held) - 1) :]
    level = alt.Chart(alt.Data(values=[{"speedup": 1.0, "floor": low}])).encode(y=y)
    base = alt.Chart(alt.Data(values=held)).encode(x=x, tooltip=tooltip("count", "speed", "range"))
    dashed = alt.Chart(alt.Data(values=beyond)).encode(x=x, y=y, tooltip=tooltip("count", "speed", "range"))
    words = {"align": "left", "fontStyle": "italic", "color": ink}
    layers = [
        level.mark_rect(color=SLOWER[1], opacity=0.14).encode(
            y2="floor:Q", x=alt.value(0), x2=alt.value(alt.ExprRef("width"))
        ),
        level.mark_rule(color=colours.RULE, strokeWidth=2),
        level.mark_text(text="slower than without", **words).encode(
            x=alt.value(8), y=alt.value(alt.ExprRef("height - 9"))
        ),
        dashed.mark_line(color=colours.RULE, strokeDash=[5, 4], strokeWidth=2),
        base.mark_area(color=colours.WEIGHTS, opacity=BAND).encode(y=other_field(y, "low"), y2="high:Q"),
        base.mark_line(color=colours.WEIGHTS, strokeWidth=3).encode(y=y),
        *_named(points, asked, (most, ends), (low, high), (x, y), ink),
    ]
    return finished(alt.layer(*layers), height=USERS_PX + AXIS_PX)


def trade_chart(points: Sequence[DraftPoint], asked_tokens: int, ink: str = colours.INK) -> alt.LayerChart:
    """The longest context of each user against the speed: to the right is longer, up is faster."""
    rows = [
        {
            "tokens": point.max_context_tokens,
            "speedup": point.speedup,
            "from_tokens": points[0].max_context_tokens,
            "from_speedup": 1.0,
            "draft": draft_name(point),
            "context": f"{point.max_context_tokens:,} tokens each",
            "speed": f"{point.speedup:.2f} times",
            "fits": point.fits,
            "label": f"{draft_name(point)}\n{point.speedup:.2f} times",
        }
        for point in points
        if point.max_context_tokens is not None
    ]
    end = 1.08 * max(asked_tokens, *(row["tokens"] for row in rows))
    speeds = [row["speedup"] for row in rows]
    low, high = min(0.75, min(speeds) - 0.25), max(1.2, max(speeds) + 0.2)
    x = alt.X(
        "tokens:Q",
        title="longest text of each user, tokens",
        scale=alt.Scale(domain=[0, end], nice=False),
        axis=alt.Axis(tickCount=5, format=",d"),
    )
    y = alt.Y(
        "speedup:Q",
        title="times the speed",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=alt.Axis(tickCount=5, format=".1f"),
    )
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, tooltip=tooltip("draft", "context", "speed"))
    asked = alt.Chart(alt.Data(values=[{"tokens": asked_tokens}])).encode(x=x)
    layers = [
        alt.Chart(alt.Data(values=[{"speedup": 1.0}])).mark_rule(color=colours.RULE, strokeWidth=1.5).encode(y=y),
        asked.mark_rule(color=colours.RULE, strokeDash=[4, 3], strokeWidth=1.5),
        asked.mark_text(text=f"asked: {asked_tokens:,}", color=ink, **_side(asked_tokens, end, gap=6)).encode(
            y=alt.value(alt.ExprRef("height - 10"))
        ),
        base.transform_filter("datum.speedup != 1")
        .mark_rule(color=colours.RULE, strokeWidth=1, opacity=0.6)
        .encode(x=alt.X("from_tokens:Q"), x2="tokens:Q", y=alt.Y("from_speedup:Q"), y2="speedup:Q"),
        base.transform_filter("datum.fits").mark_point(
            shape="circle", size=120, filled=True, color=colours.FREE, opacity=1
        ),
        base.transform_filter("!datum.fits").mark_point(
            shape="cross", size=140, filled=True, color=colours.CACHE, stroke="#FFFFFF", opacity=1
        ),
    ]
    for row, place in zip(rows, _label_places(rows, asked_tokens, end, (low, high)), strict=True):
        label = alt.Chart(alt.Data(values=[row])).encode(x=x, y=y, text="label:N")
        layers.append(label.mark_text(color=ink, fontWeight=_BOLD, **place.marks()))
    return finished(alt.layer(*layers), height=TRADE_PX + AXIS_PX)


def _named(
    points: Sequence[BatchSpeculation],
    asked: int,
    end: tuple[int | None, str],
    span: tuple[float, float],
    axes: tuple[alt.X, alt.Y],
    ink: str,
) -> list[alt.Chart]:
    """The reader's own point and the one where users *end*, named where neither the line nor the other is."""
    own = next(point for point in points if point.users == asked)
    most, ends = end
    full = f", {end_mark(ends)}:\n" if asked == most else ": "
    named = []
    if most is not None and asked != most < points[-1].users:
        named += [(p, f"{end_mark(ends)}: {p.users:,}", _FULL) for p in points if p.users == most]
    named.append((own, f"you, {count_users(asked)}{full}{own.speedup:.2f} times", _OWN))
    low, high = span
    octaves = math.log2(points[-1].users) or 1.0

    def at(point: BatchSpeculation, text: str = "") -> Label:
        x = NARROWEST_PX * math.log2(point.users) / octaves
        return Label(x=x, y=USERS_PX * (high - point.speedup) / (high - low), text=text)

    found = places(
        [at(point, text) for point, text, _ in named],
        taken=[Box(left=0.0, top=USERS_PX - 18.0, right=140.0, bottom=USERS_PX)],  # what the ground below 1 says
        rules=along([(spot.x, spot.y) for spot in map(at, points)]),
        plot=Box(left=0.0, top=0.0, right=NARROWEST_PX, bottom=USERS_PX),
    )
    layers = []
    for (point, text, look), place in zip(named, found, strict=True):
        mark = _user_mark(point, *axes)
        layers += [
            mark.mark_point(filled=True, opacity=1, **look),
            mark.mark_text(text=text, color=ink, fontWeight=_BOLD, **place.marks()),
        ]
    return layers


def _user_mark(point: BatchSpeculation, x: alt.X, y: alt.Y) -> alt.Chart:
    return alt.Chart(alt.Data(values=[{"users": point.users, "speedup": point.speedup}])).encode(x=x, y=y)


def _side(tokens: float, end: float, gap: int) -> dict[str, object]:
    return {"align": "right", "dx": -gap} if tokens > 0.5 * end else {"align": "left", "dx": gap}


def _label_places(
    rows: Sequence[dict[str, float]], asked_tokens: int, end: float, span: tuple[float, float]
) -> list[Place]:
    """Labels clear of each other, of the points, of what was asked and of the line of no draft, on a phone too."""
    low, high = span

    def across(tokens: float) -> float:
        return NARROWEST_PX * tokens / end

    def down(speedup: float) -> float:
        return TRADE_PX * (high - speedup) / (high - low)

    asked, level = across(asked_tokens), down(1.0)
    plain = across(rows[0]["tokens"]), level
    fans = [along([plain, (across(row["tokens"]), down(row["speedup"]))]) for row in rows[1:]]
    side = -90.0 if asked_tokens > 0.5 * end else 90.0
    left, right = sorted((asked, asked + side))
    return places(
        [Label(x=across(row["tokens"]), y=down(row["speedup"]), text=str(row["label"])) for row in rows],
        taken=[Box(left=left, top=TRADE_PX - 18.0, right=right, bottom=TRADE_PX)],
        rules=[
            Box(left=asked - 1, top=0.0, right=asked + 1, bottom=TRADE_PX),
            Box(left=0.0, top=level - 1, right=NARROWEST_PX, bottom=level + 1),
            *(box for fan in fans for box in fan),
        ],
        plot=Box(left=0.0, top=0.0, right=NARROWEST_PX, bottom=TRADE_PX),
    )
