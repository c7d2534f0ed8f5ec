"""Charts of schedules: who holds which slot when, and the range of what refilling gains."""

from collections.abc import Sequence

import altair as alt

from planner.batching.gains import Gain
from planner.batching.outcome import Bar, Queue
from planner.text.batching import range_words
from ui.charts import colours
from ui.charts.plan import finished, other_field, tooltip

BAND_PX = 19
FEW_SLOTS, WIDE_BAND_PX = 6, 26
"""So few slots are drawn in wider bands."""
MOST_SLOTS = 12
"""Slots that are drawn; more are not told apart."""
WORK = ("#0072B2", "#2B8CC8", "#5AA5D8")
PREFILL = colours.CACHE
PREFILL_PX = 2
IDLE = "#77808A44"
WAITING = colours.RULE
QUEUE_BANDS, QUEUE_GAP = 3, 1.0
"""Height of the queue's picture, and the room above it for its words, in bands of a slot."""
_TIME_AXIS = "format(datum.value, datum.value >= 10 ? ',.0f' : '~g')"
_BOLD = 600
_ROW_PX = 84


def slots_chart(
    bars: Sequence[Bar],
    queue: Sequence[Queue],
    slots: int,
    most_waiting: int,
    done_s: float,
    end_s: float,
    unit: str,
    ink: str = colours.INK,
) -> alt.LayerChart:
    """A band a slot, numbered from the top: prompts and answers in colours, held or free and idle in dashed grey.

    Beneath them how many wait for a slot, as high as the picture for *most_waiting*. *done_s*: when the last answer was
    complete; *end_s*: where the picture ends.
    """
    drawn = min(slots, MOST_SLOTS)
    rows = [_bar_row(bar, end_s) for bar in bars if bar.slot < drawn and bar.phase != "waiting" and bar.start_s < end_s]
    last = min(done_s, end_s)
    idle = [{"from": 0.0, "to": last, "top": slot + 0.12, "bottom": slot + 0.88} for slot in range(drawn)]
    x = alt.X(
        "from:Q",
        title=unit,
        scale=alt.Scale(domain=[0, end_s], nice=False),
        axis=alt.Axis(tickCount=6, grid=False, labelExpr=_TIME_AXIS),
    )
    y = alt.Y(
        "top:Q",
        title="slot",
        scale=alt.Scale(domain=[0, drawn + QUEUE_GAP + QUEUE_BANDS], reverse=True, nice=False),
        axis=alt.Axis(
            values=[slot + 0.5 for slot in range(drawn)],
            labelExpr="floor(datum.value) + 1",
            labelOverlap=False,
            grid=False,
        ),
    )
    ground = alt.Chart(alt.Data(values=idle)).encode(x=x, x2="to:Q", y=y, y2="bottom:Q")
    work = alt.Chart(alt.Data(values=rows)).encode(
        x=x, x2="to:Q", y=y, y2="bottom:Q", color=alt.Color("fill:N", scale=None), tooltip=tooltip("request", "what")
    )
    # A prompt is read in a moment: without an edge of its own its colour would be thinner than a pixel.
    prompts = work.transform_filter(f"datum.fill == '{PREFILL}'")
    layers = [
        ground.mark_rect(color=colours.RULE, fillOpacity=0.12, stroke=colours.RULE, strokeDash=[2, 3], strokeWidth=0.7),
        work.mark_rect(clip=True),
        prompts.mark_rect(clip=True, stroke=PREFILL, strokeWidth=PREFILL_PX),
        *_queue_layers(queue, drawn, most_waiting, end_s, (x, y), ink),
    ]
    if done_s <= end_s:
        mark = alt.Chart(alt.Data(values=[{"from": done_s}])).encode(x=x)
        side = {"align": "right", "dx": -2} if done_s > 0.3 * end_s else {"align": "left", "dx": 2}
        layers += [
            mark.mark_rule(color=ink, strokeWidth=1.5),
            mark.mark_text(
                text=f"done at {_number(done_s)}", color=ink, fontWeight=_BOLD, baseline="bottom", **side
            ).encode(y=alt.value(-4)),
        ]
    band_px = WIDE_BAND_PX if drawn <= FEW_SLOTS else BAND_PX
    return finished(alt.layer(*layers), height=round(band_px * (drawn + QUEUE_GAP + QUEUE_BANDS)) + 70)


def _queue_layers(
    queue: Sequence[Queue], drawn: int, most_waiting: int, end_s: float, axes: tuple[alt.X, alt.Y], ink: str
) -> list[alt.Chart]:
    """Columns as high as requests wait, on a floor of their own, and the most of them in words."""
    x, y = axes
    floor = drawn + QUEUE_GAP + QUEUE_BANDS
    ends = [*(point.from_s for point in queue[1:]), end_s]
    rows = [
        {
            "from": point.from_s,
            "to": min(until, end_s),
            "top": floor - QUEUE_BANDS * point.waiting / max(1, most_waiting),
            "bottom": floor,
            "count": f"{point.waiting:,} waiting",
        }
        for point, until in zip(queue, ends, strict=False)
        if point.waiting and point.from_s < end_s
    ]
    most = max((point.waiting for point in queue if point.from_s < end_s), default=0)
    words = f"waiting for a slot: {most:,} at most" if most else "nobody waits for a slot"
    columns = alt.Chart(alt.Data(values=rows)).encode(x=x, x2="to:Q", y=y, y2="bottom:Q", tooltip=tooltip("count"))
    ground = alt.Chart(alt.Data(values=[{"from": 0.0, "to": end_s, "top": floor}])).encode(x=x, y=y)
    above = alt.Chart(alt.Data(values=[{"from": 0.0, "top": drawn + QUEUE_GAP - 0.1}])).encode(x=x, y=y)
    return [
        ground.mark_rule(color=WAITING).encode(x2="to:Q"),
        columns.mark_rect(color=WAITING, clip=True),
        above.mark_text(text=words, color=ink, align="left", baseline="bottom", dx=2),
    ]


def gains_chart(gains: Sequence[Gain], ink: str = colours.INK) -> alt.LayerChart:
    """Two bars an assumption, least to most over the seeds, the mean as a dot: throughput and latency."""
    rows = []
    for index, found in enumerate(gains):
        for offset, (name, values, colour) in enumerate(
            (("throughput", found.throughput, colours.WEIGHTS), ("latency", found.latency, colours.CACHE))
        ):
            rows.append(
                {
                    "low": values.low,
                    "mean": values.mean,
                    "high": values.high,
                    "place": index + 0.56 + 0.24 * offset,
                    "fill": colour,
                    "label": f"{name} {range_words(values)}",
                    "what": name,
                    "range": range_words(values),
                }
            )
    names = [
        {"place": index + 0.17, "words": found.assumption.words.replace("; ", ";\n")}
        for index, found in enumerate(gains)
    ]
    x = alt.X(
        "low:Q",
        title="times: throughput higher, mean latency lower",
        scale=alt.Scale(type="log", base=2, domain=[0.9, 40], nice=False),
        axis=alt.Axis(values=[1, 2, 4, 8, 16], format="d", grid=True),
    )
    y = alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[0, len(gains)], reverse=True, nice=False))
    base = alt.Chart(alt.Data(values=rows)).encode(y=y, tooltip=tooltip("what", "range"))
    ends, middle = base.encode(x=x, x2="high:Q"), base.encode(x=other_field(x, "mean"))
    fill = alt.Color("fill:N", scale=None)
    layers = [
        ends.mark_rule(strokeWidth=7, opacity=0.35).encode(color=fill),
        middle.mark_point(shape="circle", size=90, filled=True, opacity=1).encode(color=fill),
        base.mark_text(align="left", dx=8, color=ink).encode(x=other_field(x, "high"), text="label:N"),
        alt.Chart(alt.Data(values=names))
        .mark_text(align="left", color=ink, fontWeight=_BOLD, lineBreak="\n", lineHeight=15)
        .encode(y=y, x=alt.value(2), text="words:N"),
    ]
    return finished(alt.layer(*layers), height=_ROW_PX * len(gains) + 60)


def _bar_row(bar: Bar, end_s: float) -> dict[str, object]:
    prompt = bar.phase == "prefill"
    return {
        "from": bar.start_s,
        "to": min(bar.end_s, end_s),
        "top": bar.slot + 0.12,
        "bottom": bar.slot + 0.88,
        "fill": PREFILL if prompt else WORK[bar.request % len(WORK)],
        "request": f"{bar.request + 1:,}",
        "what": f"{'prompt' if prompt else 'answer'}, {_number(bar.start_s)} – {_number(bar.end_s)}",
    }


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
