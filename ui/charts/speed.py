"""Charts of speed: speed over context, time to the first token, where the time goes."""

import math
from collections.abc import Sequence

import altair as alt

from planner.speed.sweeps import FirstToken, Pace, Phase
from planner.text.speed import phase_name
from planner.units import format_figure, format_seconds
from ui.charts import colours
from ui.charts.label_places import NARROWEST_PX, Box, Label, along, around, box_of, name_place, places
from ui.charts.plan import AXIS_PX, BAND, SECONDS_AXIS, doubling_tokens, finished, other_field, tooltip

CONTEXT_PX, FIRST_TOKEN_PX = 230, 210
ROW_PX = 58
_BOLD = 600
_TOO_THIN = 0.03
"""A share of a bar that no label fits into, and beyond which it would reach."""
_SHARES = {
    "weights": ("weights", colours.WEIGHTS),
    "cache": ("cache", colours.CACHE),
    "arithmetic": ("arithmetic", "#4C8DBF"),
    "fixed": ("starting", colours.RUNTIME),
}


def context_chart(
    alone: Sequence[Pace], asked: Sequence[Pace], own_tokens: int, longest: int | None, ink: str = colours.INK
) -> alt.LayerChart:
    """Tokens a second over the tokens in a user's cache, for one user and for the asked ones together."""
    first, last = alone[0].context_tokens, alone[-1].context_tokens
    top = 1.1 * max(point.each.high for point in alone)
    x = doubling_tokens(first, last, "tokens of each user, prompt and answer")
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
            layers.append(base.mark_area(color=colour, opacity=BAND).encode(y=other_field(y, "low"), y2="high:Q"))
        layers += [
            base.mark_line(color=colour, strokeWidth=1.5, strokeDash=[5, 4]).encode(y=y),
            solid.mark_line(color=colour, strokeWidth=3),
        ]
    layers += _context_labels(alone, asked, own_tokens, top, (x, y), ink)
    return finished(alt.layer(*layers), height=CONTEXT_PX + AXIS_PX)


def first_token_chart(points: Sequence[FirstToken], own_tokens: int, ink: str = colours.INK) -> alt.LayerChart:
    """Time to the first token over the prompt, both by doublings."""
    first, last = points[0].prompt_tokens, points[-1].prompt_tokens
    x = doubling_tokens(first, last, "tokens of the prompt")
    least, most = points[0].time.low_s / 1.3, points[-1].time.high_s * 1.3
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(type="log", nice=False, domain=[least, most]),
        title="time to the first token",
        axis=alt.Axis(values=[10.0**power for power in range(-4, 5)], labelExpr=SECONDS_AXIS),
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

    def at(point: FirstToken) -> tuple[float, float]:
        share = math.log(most / point.time.value_s) / math.log(most / least)
        return _across(point.prompt_tokens, first, last), FIRST_TOKEN_PX * share

    across, down = next(at(point) for point in points if point.prompt_tokens == own_tokens)
    label = Label(x=across, y=down, text=str(own[0]["label"]))
    (place,) = places([label], (), along(list(map(at, points))), _plot(FIRST_TOKEN_PX))
    layers = [
        base.mark_area(color=colours.WEIGHTS, opacity=BAND, clip=True).encode(y=other_field(y, "low"), y2="high:Q"),
        base.mark_line(color=colours.WEIGHTS, strokeWidth=3, clip=True).encode(y=y),
        mark.mark_point(shape="circle", size=110, filled=True, color=colours.FREE, opacity=1),
        mark.mark_text(color=ink, fontWeight=_BOLD, **place.marks()).encode(text="label:N"),
    ]
    return finished(alt.layer(*layers), height=FIRST_TOKEN_PX + AXIS_PX)


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
        "fixed": "getting each layer started, exchange between cards",
    }
    return tuple((fill, words[name]) for name, (_, fill) in _SHARES.items())


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


def _context_labels(
    alone: Sequence[Pace], asked: Sequence[Pace], own_tokens: int, top: float, axes: tuple[alt.X, alt.Y], ink: str
) -> list[alt.Chart]:
    """The reader's own point with its figure, and near their ends which line is whose."""
    first, last = alone[0].context_tokens, alone[-1].context_tokens

    def spots(points: Sequence[Pace]) -> list[tuple[float, float]]:
        return [(_across(p.context_tokens, first, last), CONTEXT_PX * (1 - p.each.value / top)) for p in points]

    own = next(point for point in asked if point.context_tokens == own_tokens)
    across, down = spots([own])[0]
    label = Label(x=across, y=down, text=f"{own_tokens:,} tokens: {format_figure(own.each.value)}")
    lines, plot = (spots(alone), spots(asked)), _plot(CONTEXT_PX)
    (place,) = places([label], (), [box for line in lines for box in along(line)], plot)
    named, taken = [(own, label, place)], [box_of(label, place), around(across, down)]
    if asked[0].users > 1:
        for points, line, other, name in (
            (asked, lines[1], lines[0], f"each of {asked[0].users:,}"),
            (alone, lines[0], lines[1], "1 user"),
        ):
            index, label, place = name_place(name, line, along(other), taken, plot)
            named.append((points[index], label, place))
            taken.append(box_of(label, place))
    mark = alt.Chart(alt.Data(values=[_context_row(own)])).encode(x=axes[0], y=axes[1])
    layers = [mark.mark_point(shape="circle", size=110, filled=True, color=colours.FREE, opacity=1)]
    for pace, label, place in named:
        mark = alt.Chart(alt.Data(values=[_context_row(pace)])).encode(x=axes[0], y=axes[1])
        layers.append(mark.mark_text(text=label.text, color=ink, fontWeight=_BOLD, **place.marks()))
    return layers


def _across(tokens: int, first: int, last: int) -> float:
    """How far from the left *tokens* stand on a scale of doublings, in px on a phone."""
    return NARROWEST_PX * math.log(tokens / first) / math.log(last / first) if last > first else 0.0


def _plot(height_px: int) -> Box:
    return Box(left=0.0, top=0.0, right=NARROWEST_PX, bottom=height_px)
