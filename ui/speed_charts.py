"""Charts of speed: latency against throughput, speed over context, time to the first token, where the time goes."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from planner.speed.sweeps import FirstToken, Pace, Phase
from planner.speed_text import count_users, phase_name
from planner.units import format_figure, format_seconds
from ui import colours
from ui.charts import TOKENS_AXIS, doublings, finished, tooltip

ROW_PX = 58
BAND = 0.13
"""Opacity of a range."""
_BOLD = 600
_TOO_THIN = 0.03
"""A share of a bar that no label fits into, and beyond which it would reach."""
_SHARES = {
    "weights": ("weights", colours.WEIGHTS),
    "cache": ("cache", colours.CACHE),
    "arithmetic": ("arithmetic", "#4C8DBF"),
    "fixed": ("fixed", colours.RUNTIME),
}
_SECONDS_AXIS = "datum.value < 1 ? format(1000 * datum.value, '~g') + ' ms' : format(datum.value, '~g') + ' s'"


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
        .encode(x=x, y=_y(y, "low"), y2="high:Q")
        .mark_area(color=colours.WEIGHTS, opacity=BAND, clip=True),
        _line(beyond, x, y).mark_line(color=colours.RULE, strokeDash=[5, 4], strokeWidth=2),
        _line(held, x, y).mark_line(color=colours.WEIGHTS, strokeWidth=3),
        *_batch_points(points, marks, end, x, y, ink),
        *_target(marks.target_s, top, y, ink),
        *_knee_marks({point.users: point for point in points}, marks, end, x, y, ink),
    ]
    return finished(alt.layer(*layers), height=340)


def context_chart(
    alone: Sequence[Pace], asked: Sequence[Pace], own_tokens: int, longest: int | None, ink: str = colours.INK
) -> alt.LayerChart:
    """Tokens a second over the tokens in a user's cache, for one user and for the asked ones together."""
    first, last = alone[0].context_tokens, alone[-1].context_tokens
    top = 1.1 * max(point.each.high for point in alone)
    x = alt.X(
        "tokens:Q",
        scale=alt.Scale(type="log", base=2, domain=[first, last], nice=False),
        title="tokens of each user, prompt and answer",
        axis=alt.Axis(values=doublings(first, last), labelExpr=TOKENS_AXIS, grid=False),
    )
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=[0, top], nice=False),
        title="tokens a second, each user",
        axis=alt.Axis(tickCount=5),
    )
    layers = []
    users = asked[0].users
    for points, colour in ((alone, colours.WEIGHTS), *(((asked, colours.CACHE),) if users > 1 else ())):
        rows = [_context_row(point) for point in points]
        fits = [row for row in rows if longest is None or row["tokens"] <= longest] if points is asked else rows
        base = alt.Chart(alt.Data(values=rows)).encode(x=x, tooltip=tooltip("users", "context", "each", "range"))
        solid = alt.Chart(alt.Data(values=fits)).encode(x=x, y=y, tooltip=tooltip("users", "context", "each", "range"))
        if points is asked or users == 1:
            layers.append(base.mark_area(color=colour, opacity=BAND).encode(y=_y(y, "low"), y2="high:Q"))
        layers += [
            base.mark_line(color=colour, strokeWidth=1.5, strokeDash=[5, 4]).encode(y=y),
            solid.mark_line(color=colour, strokeWidth=3),
        ]
    layers += [
        *_own_context(next(point for point in asked if point.context_tokens == own_tokens), x, y, ink),
        *_line_names(alone, asked, x, y, ink),
    ]
    return finished(alt.layer(*layers), height=280)


def first_token_chart(points: Sequence[FirstToken], own_tokens: int, ink: str = colours.INK) -> alt.LayerChart:
    """Time to the first token over the prompt, both by doublings."""
    first, last = points[0].prompt_tokens, points[-1].prompt_tokens
    x = alt.X(
        "tokens:Q",
        scale=alt.Scale(type="log", base=2, domain=[first, last], nice=False),
        title="tokens of the prompt",
        axis=alt.Axis(values=doublings(first, last), labelExpr=TOKENS_AXIS, grid=False),
    )
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(type="log", nice=False, domain=[points[0].time.low_s / 1.3, points[-1].time.high_s * 1.3]),
        title="time to the first token",
        axis=alt.Axis(values=[10.0**power for power in range(-4, 5)], labelExpr=_SECONDS_AXIS),
    )
    rows = [
        {
            "tokens": point.prompt_tokens,
            "value": point.time.value_s,
            "low": point.time.low_s,
            "high": point.time.high_s,
            "prompt": f"{point.prompt_tokens:,} tokens",
            "first": format_seconds(point.time.value_s),
            "range": f"{format_seconds(point.time.low_s)} – {format_seconds(point.time.high_s)}",
        }
        for point in points
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, tooltip=tooltip("prompt", "first", "range"))
    own = [row | {"label": f"{row['prompt']}: {row['first']}"} for row in rows if row["tokens"] == own_tokens]
    mark = alt.Chart(alt.Data(values=own)).encode(x=x, y=y)
    layers = [
        base.mark_area(color=colours.WEIGHTS, opacity=BAND, clip=True).encode(y=_y(y, "low"), y2="high:Q"),
        base.mark_line(color=colours.WEIGHTS, strokeWidth=3, clip=True).encode(y=y),
        mark.mark_point(shape="circle", size=110, filled=True, color=colours.FREE, opacity=1),
        mark.mark_text(align="right", dx=-10, dy=-14, color=ink, fontWeight=_BOLD).encode(text="label:N"),
    ]
    return finished(alt.layer(*layers), height=260)


def phase_bars(phases: Sequence[Phase], ink: str = colours.INK) -> alt.LayerChart:
    """A bar a phase, all of the same length: what its time goes to. The time of one token stands above it."""
    rows = []
    for index, phase in enumerate(phases):
        start = 0.0
        for name, (words, fill) in _SHARES.items():
            share = phase.shares[name]
            rows.append(
                {
                    "start": start,
                    "end": start + share,
                    "middle": start + share / 2,
                    "room": share,
                    "top": index + 0.42,
                    "bottom": index + 0.86,
                    "center": index + 0.64,
                    "fill": fill,
                    "label": f"{words} {share:.0%}" if share > _TOO_THIN else "",
                    "short": f"{share:.0%}" if share > _TOO_THIN else "",
                    "phase": phase_name(phase),
                    "part": words,
                    "share": f"{share:.1%}",
                }
            )
            start += share
    x = alt.X("start:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    scale = alt.Scale(domain=[0, len(phases)], reverse=True, nice=False)
    base = alt.Chart(alt.Data(values=rows)).encode(tooltip=tooltip("phase", "part", "share"))
    bars = base.encode(x=x, x2="end:Q", y=alt.Y("top:Q", axis=None, scale=scale), y2="bottom:Q")
    texts = base.encode(x=alt.X("middle:Q", axis=None), y=alt.Y("center:Q", axis=None, scale=scale))
    full = alt.ExprRef("datum.room * width > 7.6 * length(datum.label) ? 1 : 0")
    brief = alt.ExprRef("datum.room * width > 7.6 * length(datum.label) ? 0 : datum.room * width > 34 ? 1 : 0")
    names = [
        {"name": phase_name(phase), "time": f"{format_seconds(phase.token.value_s)} a token", "text": index + 0.24}
        for index, phase in enumerate(phases)
    ]
    words_ = alt.Chart(alt.Data(values=names)).encode(y=alt.Y("text:Q", axis=None, scale=scale))
    layers = [
        bars.mark_rect(stroke="#FFFFFF", strokeWidth=1).encode(color=alt.Color("fill:N", scale=None)),
        texts.mark_text(color="#FFFFFF", fontWeight=_BOLD, opacity=full).encode(text="label:N"),
        texts.mark_text(color="#FFFFFF", fontWeight=_BOLD, opacity=brief).encode(text="short:N"),
        words_.mark_text(align="left", color=ink, fontSize=13).encode(x=alt.value(0), text="name:N"),
        words_.mark_text(align="right", color=ink, fontSize=13, fontWeight=_BOLD).encode(
            x=alt.value("width"), text="time:N"
        ),
    ]
    return finished(alt.layer(*layers), height=ROW_PX * len(phases))


def legend_entries() -> tuple[tuple[str, str], ...]:
    """Colour and words of each part of a step."""
    words = {
        "weights": "reading weights",
        "cache": "reading the cache",
        "arithmetic": "arithmetic",
        "fixed": "fixed: launches, waits, links",
    }
    return tuple((fill, words[name]) for name, (_, fill) in _SHARES.items())


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
                text=f"memory full: {count_users(marks.memory)}",
                color=ink,
                fontWeight=_BOLD,
                dy=-18,
                **_above(marks.memory, by_users, end),
            ),
        ]
    if marks.knee in by_users:
        knee = _rows([_point(by_users[marks.knee])]).encode(x=x, y=y)
        side = {"align": "right", "dx": -4} if marks.asked > marks.knee else {"align": "left", "dx": 10}
        layers += [
            knee.mark_point(shape="circle", size=190, filled=False, stroke=colours.FREE, strokeWidth=3, opacity=1),
            knee.mark_text(text=f"knee: {count_users(marks.knee)}", color=ink, fontWeight=_BOLD, dy=20, **side),
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


def _context_row(pace: Pace) -> dict[str, object]:
    return {
        "tokens": pace.context_tokens,
        "value": pace.each.value,
        "low": pace.each.low,
        "high": pace.each.high,
        "users": f"{pace.users:,}",
        "context": f"{pace.context_tokens:,} tokens",
        "each": f"{format_figure(pace.each.value)} tokens/s",
        "range": f"{format_figure(pace.each.low)} – {format_figure(pace.each.high)}",
    }


def _own_context(pace: Pace, x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    mark = alt.Chart(alt.Data(values=[_context_row(pace)])).encode(x=x, y=y)
    label = f"{pace.context_tokens:,} tokens: {format_figure(pace.each.value)}"
    return [
        mark.mark_point(shape="circle", size=110, filled=True, color=colours.FREE, opacity=1),
        mark.mark_text(text=label, align="right", dx=-6, dy=16, color=ink, fontWeight=_BOLD),
    ]


def _line_names(alone: Sequence[Pace], asked: Sequence[Pace], x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    """Which line is whose, where they are apart."""
    if asked[0].users == 1:
        return []
    place = next(
        (
            index
            for index, (one, many) in enumerate(zip(alone, asked, strict=True))
            if many.each.value < 0.8 * one.each.value
        ),
        len(alone) * 2 // 3,
    )
    place = min(place + 2, len(alone) - 3)
    layers = []
    for points, text, dx, dy, align in (
        (alone, "1 user", 6, -12, "left"),
        (asked, f"each of {asked[0].users:,}", -6, 16, "right"),
    ):
        mark = alt.Chart(alt.Data(values=[_context_row(points[place])])).encode(x=x, y=y)
        layers.append(mark.mark_text(text=text, align=align, dx=dx, dy=dy, color=ink, fontWeight=_BOLD))
    return layers


def _y(y: alt.Y, field: str) -> alt.Y:
    other = y.copy()
    other.shorthand = f"{field}:Q"
    return other
