"""Charts of what conversations cost: one-user bars, cache against weights, layer by layer, work with and without."""

from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from planner.answers.layer_kinds import LayerKind
from planner.cache_comparison import Crossing
from planner.multiply_accumulates import CacheArithmetic
from planner.units import GIB, MIB, format_bytes, format_rate
from ui.charts import colours
from ui.charts.plan import TOKENS_AXIS, doublings, finished, tooltip

ROW_PX = 46
_TEXT, _TOP, _BOTTOM = 0.28, 0.52, 0.84
"""Heights within a row, from its top: the words, and the bar beneath them."""
_STRONG, _PLAIN = 600, 400
_WORK_AXIS = (
    "{1000000: '1 million', 1000000000: '1 billion', 1000000000000: '1 trillion', "
    "1000000000000000: '1 quadrillion'}[datum.value]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar: *label* above it at the left, its size at the right. *is_asked* is the reader's own."""

    label: str
    bytes: int
    is_asked: bool = False


def one_user_bars(bars: Sequence[Bar], ink: str = colours.INK) -> alt.LayerChart:
    """Name and size above each bar, which begin at 0 and share a scale."""
    rows = [
        {
            "label": f"{bar.label} ◂ yours" if bar.is_asked else bar.label,
            "size": format_bytes(bar.bytes),
            "from": 0,
            "to": bar.bytes,
            "text": index + _TEXT,
            "top": index + _TOP,
            "bottom": index + _BOTTOM,
            "weight": _STRONG if bar.is_asked else _PLAIN,
        }
        for index, bar in enumerate(bars)
    ]
    x_scale = alt.Scale(domain=[0, max(1, *(bar.bytes for bar in bars))], nice=False)
    y_scale = alt.Scale(domain=[0, len(bars)], reverse=True, nice=False)
    y = alt.Y("top:Q", axis=None, scale=y_scale)
    base = alt.Chart(alt.Data(values=rows)).encode(tooltip=tooltip("label", "size"))
    bar_marks = base.encode(x=alt.X("from:Q", axis=None, scale=x_scale), x2="to:Q", y=y, y2="bottom:Q")
    words = base.encode(y=alt.Y("text:Q", axis=None, scale=y_scale))
    layers = [bar_marks.mark_rect(color=colours.CACHE, cornerRadius=2)]
    for weight in (_STRONG, _PLAIN):
        picked = words.transform_filter(f"datum.weight == {weight}")
        layers += [
            picked.mark_text(align="left", color=ink, fontWeight=weight, fontSize=13).encode(
                x=alt.value(0), text="label:N"
            ),
            picked.mark_text(align="right", color=ink, fontWeight=_STRONG, fontSize=13).encode(
                x=alt.value("width"), text="size:N"
            ),
        ]
    return finished(alt.layer(*layers), height=ROW_PX * len(bars))


def crossing_chart(
    found: Crossing, limit_tokens: int | None, bytes_per_token: float, ink: str = colours.INK
) -> alt.LayerChart:
    """Weights as a level line, one user's cache as a rising one, and the point where the cache overtakes."""
    end = found.longest_tokens
    top = 1.12 * max(found.weights_bytes, found.points[-1][1]) / GIB
    x = alt.X(
        "tokens:Q",
        scale=alt.Scale(domain=[0, end], nice=False),
        title="tokens of one user, prompt and answer",
        axis=alt.Axis(values=_round_tokens(end), labelExpr=TOKENS_AXIS, grid=False),
    )
    y = alt.Y("gib:Q", scale=alt.Scale(domain=[0, top], nice=False), title="GiB", axis=alt.Axis(tickCount=4))
    weights = found.weights_bytes / GIB
    curve = [{"tokens": tokens, "gib": size / GIB, "size": format_bytes(size)} for tokens, size in found.points]
    cache = alt.Chart(alt.Data(values=curve)).encode(x=x, y=y, tooltip=tooltip("tokens", "size"))
    level_rows = [{"tokens": tokens, "gib": weights, "size": format_bytes(found.weights_bytes)} for tokens in (0, end)]
    level = alt.Chart(alt.Data(values=level_rows)).encode(x=x, y=y, tooltip=tooltip("size"))
    layers = [
        level.mark_line(color=colours.WEIGHTS, strokeWidth=3),
        cache.mark_line(color=colours.CACHE, strokeWidth=3),
        *_limit_rule(limit_tokens, end, x, ink),
        _level_label(weights, found, y, ink),
        *_curve_label(found, bytes_per_token, x, y, ink),
        *_crossing_mark(found, weights, x, y, ink),
    ]
    return finished(alt.layer(*layers), height=280)


def layer_bars(kinds: Sequence[LayerKind], ink: str = colours.INK) -> alt.LayerChart:
    """One column a layer, as high as what it keeps of the context: growing, full at its window, or fixed."""
    rows = [
        {
            "layer": index,
            "next": index + 1,
            "mib": kind.bytes / MIB,
            "zero": 0,
            "size": format_bytes(kind.bytes),
            "keeps": kind.words,
            "growth": _growth(kind),
        }
        for kind in kinds
        for index in kind.indices
    ]
    number = len(rows)
    x = alt.X(
        "layer:Q",
        title="layer, from the first to the last",
        scale=alt.Scale(domain=[0, number], nice=False),
        axis=alt.Axis(values=_every(number), grid=False),
    )
    y = alt.Y("zero:Q", title="MiB each", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=4))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=x, x2="next:Q", y=y, y2="mib:Q", tooltip=tooltip("layer", "keeps", "size")
    )
    grows = base.transform_filter("datum.growth == 'grows'")
    still = base.transform_filter("datum.growth != 'grows'")
    floor = alt.Chart(alt.Data(values=[{}])).mark_rule(color=ink, opacity=0.4).encode(y=alt.datum(0))
    layers = [
        grows.mark_rect(color=colours.CACHE, stroke="#FFFFFF", strokeWidth=0.5),
        still.mark_rect(
            color=colours.CACHE, fillOpacity=0.12, stroke=colours.CACHE, strokeDash=[4, 3], strokeWidth=1.2
        ),
        floor,
    ]
    return finished(alt.layer(*layers), height=180)


def arithmetic_chart(steps: Sequence[CacheArithmetic], tokens: int, ink: str = colours.INK) -> alt.LayerChart:
    """Multiply-accumulates with and without a cache over tokens, both by tenfolds, labelled at their ends."""
    x = alt.X(
        "tokens:Q",
        scale=alt.Scale(type="log", base=2, domain=[steps[0].tokens, steps[-1].tokens], nice=False),
        title="tokens",
        axis=alt.Axis(values=doublings(steps[0].tokens, steps[-1].tokens), labelExpr=TOKENS_AXIS, grid=False),
    )
    y = alt.Y(
        "work:Q",
        scale=alt.Scale(type="log", nice=False, domain=[steps[0].cached / 2, steps[-1].recomputed * 2]),
        title="multiply-accumulates",
        axis=alt.Axis(values=[10**6, 10**9, 10**12, 10**15], labelExpr=_WORK_AXIS, grid=False),
    )
    rows = [
        {
            "tokens": step.tokens,
            "recomputed": step.recomputed,
            "cached": step.cached,
            "times": f"{step.ratio:,.0f} times",
        }
        for step in steps
    ]
    lines = alt.Chart(alt.Data(values=rows)).encode(x=x, tooltip=tooltip("tokens", "cached", "recomputed", "times"))
    third = alt.Chart(alt.Data(values=[rows[len(rows) // 3]])).encode(x=x)
    layers = [
        lines.mark_line(color=colours.CACHE, strokeWidth=3, strokeDash=[6, 4]).encode(y=_work(y, "recomputed")),
        lines.mark_line(color=colours.WEIGHTS, strokeWidth=3).encode(y=_work(y, "cached")),
        third.mark_text(text="without: T³", align="right", dx=-4, dy=-14, fontWeight=_STRONG, color=ink).encode(
            y=_work(y, "recomputed")
        ),
        third.mark_text(text="with: T²", align="left", dx=6, dy=14, fontWeight=_STRONG, color=ink).encode(
            y=_work(y, "cached")
        ),
        *_ratio_mark([row for row in rows if row["tokens"] == tokens], x, y, ink),
    ]
    return finished(alt.layer(*layers), height=260)


def _work(y: alt.Y, field: str) -> alt.Y:
    other = y.copy()
    other.shorthand = f"{field}:Q"
    return other


def _ratio_mark(rows: list[dict[str, object]], x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    """How far apart the lines are at the reader's own length."""
    mark = alt.Chart(alt.Data(values=rows)).encode(x=x)
    return [
        mark.mark_rule(color=colours.RULE, strokeDash=[4, 3], strokeWidth=1.5).encode(
            y=_work(y, "cached"), y2="recomputed:Q"
        ),
        mark.mark_text(align="right", dx=-4, dy=-14, fontWeight=_STRONG, color=ink).encode(
            y=_work(y, "recomputed"), text="times:N"
        ),
    ]


def _growth(kind: LayerKind) -> str:
    growth = kind.growth
    full = growth.max_tokens is not None and growth.max_tokens <= kind.tokens
    return "grows" if growth.kv_bytes_per_token and not full else "still"


def _round_tokens(end: int, at_most: int = 6) -> list[int]:
    """Multiples of a power of two of tokens: 0, 32k, 64k …"""
    step = 1 << max(0, (end // at_most).bit_length())
    return list(range(0, end + 1, step))


def _every(number: int) -> list[int]:
    step = max(1, -(-number // 8))
    return list(range(0, number, step))


def _limit_rule(limit_tokens: int | None, end: int, x: alt.X, ink: str) -> list[alt.Chart]:
    """The model's own limit, where the chart goes beyond it; short, so that no label crosses it."""
    if limit_tokens is None or limit_tokens >= end:
        return []
    mark = alt.Chart(alt.Data(values=[{"tokens": limit_tokens}])).encode(x=x)
    place = {"align": "left", "dx": 6} if limit_tokens < end / 2 else {"align": "right", "dx": -6}
    bottom, top = alt.value(alt.ExprRef("height")), alt.value(alt.ExprRef("height - 24"))
    return [
        mark.mark_rule(color=colours.RULE, strokeDash=[4, 3], strokeWidth=1.5).encode(y=bottom, y2=top),
        mark.mark_text(text=f"made for {limit_tokens:,}", color=ink, **place).encode(
            y=alt.value(alt.ExprRef("height - 14"))
        ),
    ]


def _level_label(weights_gib: float, found: Crossing, y: alt.Y, ink: str) -> alt.Chart:
    text = f"weights {format_bytes(found.weights_bytes)}, always"
    mark = alt.Chart(alt.Data(values=[{"gib": weights_gib}])).encode(y=y, x=alt.value(8))
    return mark.mark_text(text=text, align="left", dy=14, color=ink, fontWeight=_STRONG)


def _curve_label(found: Crossing, bytes_per_token: float, x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    """Beneath the rising line, where there is room for it; a flat one is labelled above."""
    rises = found.points[-1][1] > found.weights_bytes / 3
    tokens, size = found.points[len(found.points) * (4 if rises else 5) // 9]
    text = f"cache, {format_rate(bytes_per_token)} a token" if bytes_per_token else "cache, a state of fixed size"
    mark = alt.Chart(alt.Data(values=[{"tokens": tokens, "gib": size / GIB}])).encode(x=x, y=y)
    look = {"align": "left", "dx": 10, "dy": 14} if rises else {"align": "center", "dy": -12}
    return [mark.mark_text(text=text, color=ink, fontWeight=_STRONG, **look)]


def _crossing_mark(found: Crossing, weights_gib: float, x: alt.X, y: alt.Y, ink: str) -> list[alt.Chart]:
    if found.tokens is None:
        return []
    mark = alt.Chart(alt.Data(values=[{"tokens": found.tokens, "gib": weights_gib}])).encode(x=x, y=y)
    return [
        mark.mark_point(shape="circle", size=110, filled=True, color=colours.CACHE, stroke="#FFFFFF", opacity=1),
        mark.mark_text(
            text=f"from {found.tokens:,} tokens the cache is bigger",
            align="right",
            dx=-12,
            dy=-12,
            color=ink,
            fontWeight=_STRONG,
        ),
    ]
