"""The chart of latency against throughput: the curve of more and more users, its knee, and where memory ends it."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from planner.speed.sweeps import Pace
from planner.speed_text import count_users, knee_mark, memory_mark
from planner.units import format_figure
from ui import colours
from ui.charts import BAND, finished, other_field, tooltip

_BOLD = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class KneeMarks:
    """What is marked on the curve, in users; *target_s*: the time between tokens that is still fast enough."""

    asked: int
    knee: int
    memory: int | None
    target_s: float


def knee_chart(points: Sequence[Pace], marks: KneeMarks, ink: str = colours.INK) -> alt.LayerChart:
    """Throughput against the time between two tokens: each point one more batch, its users beside it."""
    end = max(point.together.value for point in points)
    slowest = max(point.step.value_s for point in points)
    top = 1.08e3 * (max(slowest, marks.target_s) if marks.target_s < 1.6 * slowest else slowest)
    x = alt.X(
        "together:Q",
        scale=alt.Scale(domain=[0, 1.04 * end], nice=False),
        title="tokens a second, all users together",
        axis=alt.Axis(tickCount=6, grid=True),
    )
    y = alt.Y(
        "ms:Q",
        scale=alt.Scale(domain=[0, top], nice=False),
        title="ms between two tokens, each user",
        axis=alt.Axis(tickCount=5),
    )
    held = [point for point in points if marks.memory is None or point.users <= marks.memory]
    beyond = points[max(0, len(held) - 1) :]
    layers = [
        _rows([_point(point) for point in held])
        .encode(x=x, y=other_field(y, "low"), y2="high:Q")
        .mark_area(color=colours.WEIGHTS, opacity=BAND, clip=True),
        _line(beyond, x, y).mark_line(color=colours.RULE, strokeDash=[5, 4], strokeWidth=2),
        _line(held, x, y).mark_line(color=colours.WEIGHTS, strokeWidth=3),
        *_batch_points(points, marks, end, x, y, ink),
        *_target(marks.target_s, top, y, ink),
        *_knee_marks({point.users: point for point in points}, marks, end, x, y, ink),
    ]
    return finished(alt.layer(*layers), height=340)


def _rows(rows: list[dict[str, object]], order: bool = False) -> alt.Chart:
    if order:
        rows = [row | {"order": index} for index, row in enumerate(rows)]
    return alt.Chart(alt.Data(values=rows))


def _point(pace: Pace) -> dict[str, object]:
    return {
        "together": pace.together.value,
        "ms": 1e3 * pace.step.value_s,
        "low": 1e3 * pace.step.low_s,
        "high": 1e3 * pace.step.high_s,
        "users": f"{pace.users:,}",
        "each": f"{format_figure(pace.each.value)} tokens/s",
        "all": f"{format_figure(pace.together.value)} tokens/s",
        "range": f"{format_figure(pace.each.low)} – {format_figure(pace.each.high)}",
    }


def _line(points: Sequence[Pace], x: alt.X, y: alt.Y) -> alt.Chart:
    rows = [_point(point) for point in points]
    return _rows(rows, order=True).encode(
        x=x, y=y, order=alt.Order("order:Q"), tooltip=tooltip("users", "each", "range", "all")
    )


def _batch_points(
    points: Sequence[Pace], marks: KneeMarks, end: float, x: alt.X, y: alt.Y, ink: str
) -> list[alt.Chart]:
    """Dots at powers of two, labelled in users where that crowds nothing."""
    by_users = {point.users: point for point in points}
    taken = [by_users[users].together.value for users in _marked(marks) if users in by_users]
    rows, last = [], -end
    for users, point in by_users.items():
        if users & (users - 1) or users in _marked(marks):
            continue
        at = point.together.value
        free = at - last > 0.055 * end and all(abs(at - other) > 0.05 * end for other in taken)
        rows.append(_point(point) | {"label": f"{users:,}" if free else ""})
        last = at if free else last
    mark = _rows(rows).encode(x=x, y=y, tooltip=tooltip("users", "each", "range", "all"))
    return [
        mark.mark_point(shape="circle", size=36, filled=True, color=colours.WEIGHTS, opacity=1),
        mark.mark_text(dy=-13, dx=-4, color=ink).encode(text="label:N"),
    ]


def _marked(marks: KneeMarks) -> set[int]:
    return {marks.asked, marks.knee, marks.memory or 0}


def _target(target_s: float, top: float, y: alt.Y, ink: str) -> list[alt.Chart]:
    """The level that is still fast enough, where the picture reaches it."""
    if 1e3 * target_s > top:
        return []
    label = f"fast enough: {format_figure(1 / target_s)} tokens/s for each"
    mark = _rows([{"ms": 1e3 * target_s}]).encode(y=y)
    return [
        mark.mark_rule(color=colours.RULE, strokeDash=[2, 3], strokeWidth=1.5),
        mark.mark_text(text=label, align="left", dy=-9, color=ink).encode(x=alt.value(6)),
    ]


def _knee_marks(
    by_users: dict[int, Pace], marks: KneeMarks, end: float, x: alt.X, y: alt.Y, ink: str
) -> list[alt.Chart]:
    """The knee's ring labelled beneath, the square where memory is full above, the reader's own point on the axis."""
    layers = []
    if marks.memory in by_users:
        memory = _rows([_point(by_users[marks.memory])]).encode(x=x, y=y)
        layers += [
            memory.mark_point(shape="square", size=150, filled=True, color=colours.CACHE, stroke="#FFFFFF", opacity=1),
            memory.mark_text(
                text=memory_mark(marks.memory, marks.knee, marks.knee in by_users),
                color=ink,
                fontWeight=_BOLD,
                baseline="line-bottom",
                lineBreak="\n",
                dy=-12,
                **_above(marks.memory, by_users, end),
            ),
        ]
    if marks.knee in by_users:
        knee = _rows([_point(by_users[marks.knee])]).encode(x=x, y=y)
        beyond = marks.memory is not None and marks.memory < marks.knee
        side = {"align": "left", "dx": 10, "dy": 20}
        if beyond or marks.asked > marks.knee:
            # Beyond memory the label stands above: beneath is that of memory.
            side = {"align": "right", "dx": 8 if beyond else -4, "dy": -20 if beyond else 20}
        layers += [
            knee.mark_point(shape="circle", size=190, filled=False, stroke=colours.FREE, strokeWidth=3, opacity=1),
            knee.mark_text(text=knee_mark(marks.knee, marks.memory), color=ink, fontWeight=_BOLD, **side),
        ]
    return [*layers, *_own_batch(by_users[marks.asked], marks, end, x, y, ink)]


def _above(users: int, by_users: dict[int, Pace], end: float) -> dict[str, object]:
    """Left of a point and above it the curve never comes; near the left edge there is no room."""
    far = by_users[users].together.value > 0.45 * end
    return {"align": "right", "dx": -4} if far else {"align": "left", "dx": -4}


def _own_batch(own: Pace, marks: KneeMarks, end: float, x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    """The asked users: a point, and a line down to its name."""
    held = marks.memory is None or marks.asked <= marks.memory
    label = f"you: {count_users(marks.asked)}" + ("" if held else ", too much")
    look = (
        {"shape": "circle", "size": 110, "color": colours.FREE}
        if held
        else {"shape": "cross", "size": 130, "color": colours.CACHE, "stroke": "#FFFFFF"}
    )
    mark = _rows([_point(own)]).encode(x=x, tooltip=tooltip("users", "each", "range", "all"))
    bottom = alt.value(alt.ExprRef("height"))
    side = {"align": "right", "dx": -6} if own.together.value > 0.6 * end else {"align": "left", "dx": 6}
    return [
        mark.mark_rule(color=colours.RULE, strokeDash=[4, 3], strokeWidth=1.5).encode(y=y, y2=bottom),
        mark.mark_point(filled=True, opacity=1, **look).encode(y=y),
        mark.mark_text(text=label, color=ink, fontWeight=_BOLD, **side).encode(y=alt.value(alt.ExprRef("height - 10"))),
    ]
