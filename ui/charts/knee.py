"""The chart of latency against throughput: the curve of more and more users, its knee, and where memory ends it."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from planner.speed.sweeps import Pace
from planner.text.speed import count_users, knee_mark, memory_mark
from planner.units import format_figure
from ui.charts import colours
from ui.charts.label_places import NARROWEST_PX, Box, Label, Place, along, around, box_of, places
from ui.charts.plan import AXIS_PX, BAND, finished, other_field, tooltip

_BOLD = 600
KNEE_PX, TARGET_DY = 290, -9
_DIGIT_PX = 8
_FULL = {"shape": "square", "size": 150, "filled": True, "color": colours.CACHE, "stroke": "#FFFFFF"}
_KNEE = {"shape": "circle", "size": 190, "filled": False, "stroke": colours.FREE, "strokeWidth": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class KneeMarks:
    """What is marked on the curve, in users; *target_s*: the time between tokens that is still fast enough.

    *most* are decoded together, since memory or a setting of the engine *ends* it there.
    """

    asked: int
    knee: int
    most: int | None
    target_s: float
    ends: str = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    """The ends of both axes, and where a batch stands between them, in px on a phone."""

    tokens_per_s: float
    ms: float

    def at(self, pace: Pace) -> tuple[float, float]:
        return NARROWEST_PX * pace.together.value / self.tokens_per_s, self.down(pace.step.value_s)

    def down(self, step_s: float) -> float:
        return KNEE_PX * (1 - 1e3 * step_s / self.ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labels:
    """What is written where: *named* points of the curve, the reader's own on the axis, the target at the left.

    *taken* is what all that covers, the marks of the points too.
    """

    named: Sequence[tuple[Pace, str, dict[str, object], Place]]
    own: Label
    own_place: Place
    target: str
    taken: Sequence[Box]


def knee_chart(points: Sequence[Pace], marks: KneeMarks, ink: str = colours.INK) -> alt.LayerChart:
    """Throughput against the time between two tokens: each point one more batch, its users beside it."""
    end = max(point.together.value for point in points)
    slowest = max(point.step.value_s for point in points)
    highest = max(slowest, marks.target_s) if marks.target_s < 1.6 * slowest else slowest
    plot = _Plot(tokens_per_s=1.04 * end, ms=1.08e3 * highest)
    x = alt.X(
        "together:Q",
        scale=alt.Scale(domain=[0, plot.tokens_per_s], nice=False),
        title="tokens a second, all users together",
        axis=alt.Axis(tickCount=6, grid=True),
    )
    y = alt.Y(
        "ms:Q",
        scale=alt.Scale(domain=[0, plot.ms], nice=False),
        title="ms between two tokens, each user",
        axis=alt.Axis(tickCount=5),
    )
    held = [point for point in points if marks.most is None or point.users <= marks.most]
    beyond = points[max(0, len(held) - 1) :]
    labels = _labels(points, marks, plot)
    layers = [
        _rows([_point(point) for point in held])
        .encode(x=x, y=other_field(y, "low"), y2="high:Q")
        .mark_area(color=colours.WEIGHTS, opacity=BAND, clip=True),
        _line(beyond, x, y).mark_line(color=colours.RULE, strokeDash=[5, 4], strokeWidth=2),
        _line(held, x, y).mark_line(color=colours.WEIGHTS, strokeWidth=3),
        *_batch_points(points, marks, labels.taken, plot, (x, y), ink),
        *_target(labels.target, marks.target_s, y, ink),
        *_own_batch(points, marks, labels, (x, y), ink),
    ]
    for point, text, look, place in labels.named:
        mark = _rows([_point(point)]).encode(x=x, y=y)
        layers += [
            mark.mark_point(opacity=1, **look),
            mark.mark_text(text=text, color=ink, fontWeight=_BOLD, **place.marks()),
        ]
    return finished(alt.layer(*layers), height=KNEE_PX + AXIS_PX)


def _labels(points: Sequence[Pace], marks: KneeMarks, plot: _Plot) -> _Labels:
    """All of them, none on another, on a point or outside, and on a line only where nothing else is free."""
    by_users = {point.users: point for point in points}
    across, down = plot.at(by_users[marks.asked])
    fits = marks.most is None or marks.asked <= marks.most
    text = f"you: {count_users(marks.asked)}" + ("" if fits else ", too much")
    own = Label(x=across, y=KNEE_PX - 10.0, text=text)
    own_place = Place(is_right=across <= 0.6 * NARROWEST_PX, dy=0)
    taken, target, level = [box_of(own, own_place)], "", plot.down(marks.target_s)
    if level >= 0:
        target = f"fast enough: {format_figure(1 / marks.target_s)} tokens/s for each"
        taken.append(box_of(Label(x=2.0, y=level, text=target), Place(is_right=True, dy=TARGET_DY)))
    named = _named(by_users, marks)
    labels = [Label(x=plot.at(point)[0], y=plot.at(point)[1], text=text) for point, text, _ in named]
    found = places(
        labels,
        taken,
        rules=[
            *along(list(map(plot.at, points))),
            Box(left=across - 1, top=down, right=across + 1, bottom=KNEE_PX),
            Box(left=0.0, top=level - 1, right=NARROWEST_PX, bottom=level + 1),
        ],
        plot=Box(left=0.0, top=0.0, right=NARROWEST_PX, bottom=KNEE_PX),
    )
    marked = [around(*plot.at(by_users[users])) for users in _marked(marks) if users in by_users]
    return _Labels(
        named=[(*each, place) for each, place in zip(named, found, strict=True)],
        own=own,
        own_place=own_place,
        target=target,
        taken=[*taken, *map(box_of, labels, found), *marked],
    )


def _named(by_users: dict[int, Pace], marks: KneeMarks) -> list[tuple[Pace, str, dict[str, object]]]:
    """The square where no more are decoded together and the knee's ring, labelled, where the picture reaches them."""
    found: list[tuple[Pace, str, dict[str, object]]] = []
    if marks.most in by_users:
        lines = memory_mark(marks.most, marks.knee, marks.knee in by_users, marks.ends)
        found.append((by_users[marks.most], "\n".join(lines), _FULL))
    if marks.knee in by_users:
        found.append((by_users[marks.knee], knee_mark(marks.knee, marks.most, marks.ends), _KNEE))
    return found


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
    points: Sequence[Pace], marks: KneeMarks, taken: Sequence[Box], plot: _Plot, axes: tuple[alt.X, alt.Y], ink: str
) -> list[alt.Chart]:
    """Dots at powers of two, labelled in users where that lies on nothing *taken*."""
    standing, rows = [*taken], []
    for point in points:
        if point.users & (point.users - 1) or point.users in _marked(marks):
            continue
        across, down = plot.at(point)
        label = f"{point.users:,}"
        half = _DIGIT_PX * len(label) / 2
        box = Box(left=across - 4 - half, top=down - 20, right=across - 4 + half, bottom=down - 6)
        is_free = not any(box.meets(other) for other in standing)
        rows.append(_point(point) | {"label": label if is_free else ""})
        standing += [box] if is_free else []
    mark = _rows(rows).encode(x=axes[0], y=axes[1], tooltip=tooltip("users", "each", "range", "all"))
    return [
        mark.mark_point(shape="circle", size=36, filled=True, color=colours.WEIGHTS, opacity=1),
        mark.mark_text(dy=-13, dx=-4, color=ink).encode(text="label:N"),
    ]


def _marked(marks: KneeMarks) -> set[int]:
    return {marks.asked, marks.knee, marks.most or 0}


def _target(label: str, target_s: float, y: alt.Y, ink: str) -> list[alt.Chart]:
    """The level that is still fast enough, where the picture reaches it."""
    if not label:
        return []
    mark = _rows([{"ms": 1e3 * target_s}]).encode(y=y)
    return [
        mark.mark_rule(color=colours.RULE, strokeDash=[2, 3], strokeWidth=1.5),
        mark.mark_text(text=label, align="left", dy=TARGET_DY, color=ink).encode(x=alt.value(6)),
    ]


def _own_batch(
    points: Sequence[Pace], marks: KneeMarks, labels: _Labels, axes: tuple[alt.X, alt.Y], ink: str
) -> list[alt.Chart]:
    """The asked users: a point, and a line down to its name."""
    look = (
        {"shape": "circle", "size": 110, "color": colours.FREE}
        if marks.most is None or marks.asked <= marks.most
        else {"shape": "cross", "size": 130, "color": colours.CACHE, "stroke": "#FFFFFF"}
    )
    own = next(point for point in points if point.users == marks.asked)
    mark = _rows([_point(own)]).encode(x=axes[0], tooltip=tooltip("users", "each", "range", "all"))
    bottom = alt.value(alt.ExprRef("height"))
    text = mark.mark_text(text=labels.own.text, color=ink, fontWeight=_BOLD, **labels.own_place.marks())
    return [
        mark.mark_rule(color=colours.RULE, strokeDash=[4, 3], strokeWidth=1.5).encode(y=axes[1], y2=bottom),
        mark.mark_point(filled=True, opacity=1, **look).encode(y=axes[1]),
        text.encode(y=alt.value(alt.ExprRef("height - 10"))),
    ]
