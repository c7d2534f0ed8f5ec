"""Charts of money and energy: what a token costs over the users who share the hour, and offers side by side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from planner.serving.offers import Offer
from planner.text.cost import asked_price, money, offer_name
from planner.text.speed import count_users, end_mark
from planner.units import format_figure
from ui.charts import colours
from ui.charts.label_places import NARROWEST_PX, Box, Label, along, places
from ui.charts.plan import AXIS_PX, BAND, doublings, finished, other_field, tooltip

ROW_PX = 46
USERS_PX = 230
_OWN = {"shape": "circle", "size": 110, "color": colours.FREE}
_FULL = {"shape": "square", "size": 130, "color": colours.CACHE, "stroke": "#FFFFFF"}
_BOLD = 600
_HAS_ROOM = "6.6 * length(datum.label) + 8 * length(datum.price) < width"
"""Else the speed of an offer stands in the table alone."""
_AXIS = "format(datum.value, datum.value >= 100 ? ',.0f' : '~g')"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrice:
    """What a token, or a million of them, takes at so many users, with its range."""

    users: int
    value: float
    low: float
    high: float


def users_price_chart(
    points: Sequence[TokenPrice],
    asked: int,
    most: int | None,
    title: str,
    unit: str,
    ends: str = "memory",
    ink: str = colours.INK,
) -> alt.LayerChart:
    """Both axes by doublings; dashed beyond the *most* users, where memory or a setting *ends*. *unit*: of points."""
    last = points[-1].users
    low, high = min(point.low for point in points), max(point.high for point in points)
    x = alt.X(
        "users:Q",
        title="users who share the hour",
        scale=alt.Scale(type="log", base=2, domain=[1, last], nice=False),
        axis=alt.Axis(values=doublings(1, last), labelExpr="format(datum.value, ',d')", grid=False),
    )
    y = alt.Y(
        "value:Q",
        title=title,
        scale=alt.Scale(type="log", domain=[low / 1.4, high * 1.3], nice=False),
        axis=alt.Axis(values=_ones_twos_fives(low, high), labelExpr=_AXIS),
    )
    rows = [_price_row(point, unit) for point in points]
    held = [row for row, point in zip(rows, points, strict=True) if most is None or point.users <= most]
    beyond = rows[max(0, len(held) - 1) :]
    base = alt.Chart(alt.Data(values=held)).encode(x=x, tooltip=tooltip("count", "price", "range"))
    dashed = alt.Chart(alt.Data(values=beyond)).encode(x=x, y=y, tooltip=tooltip("count", "price", "range"))
    layers = [
        base.mark_area(color=colours.WEIGHTS, opacity=BAND).encode(y=other_field(y, "low"), y2="high:Q"),
        dashed.mark_line(color=colours.RULE, strokeDash=[5, 4], strokeWidth=2),
        base.mark_line(color=colours.WEIGHTS, strokeWidth=3).encode(y=y),
    ]
    own = next(row for row in rows if row["users"] == asked)
    full = f", {end_mark(ends)}:\n" if asked == most else ": "
    named = [(own, f"you, {count_users(asked)}{full}{own['price']}", _OWN)]
    if most is not None and asked != most < last and any(point.users == most for point in points):
        named.append((held[-1], f"{end_mark(ends)}: {most:,}", _FULL))
    bottom, top = low / 1.4, high * 1.3

    def at(row: dict[str, float]) -> tuple[float, float]:
        octaves = math.log2(last) or 1.0
        down = math.log(top / row["value"]) / math.log(top / bottom)
        return NARROWEST_PX * math.log2(row["users"]) / octaves, USERS_PX * down

    found = places(
        [Label(x=at(row)[0], y=at(row)[1], text=text) for row, text, _ in named],
        taken=(),
        rules=along(list(map(at, rows))),
        plot=Box(left=0.0, top=0.0, right=NARROWEST_PX, bottom=USERS_PX),
    )
    for (row, text, look), place in zip(named, found, strict=True):
        mark = alt.Chart(alt.Data(values=[row])).encode(x=x, y=y)
        layers += [
            mark.mark_point(filled=True, opacity=1, **look),
            mark.mark_text(text=text, color=ink, fontWeight=_BOLD, **place.marks()),
        ]
    return finished(alt.layer(*layers), height=USERS_PX + AXIS_PX)


def offer_bars(offers: Sequence[Offer], currency: str, ink: str = colours.INK) -> alt.LayerChart:
    """A bar an offer as long as its hour costs; what it is above it, its price at the right."""
    rows = [
        {
            "label": f"{offer_name(offer)}: {format_figure(offer.tokens_per_s_user)} tokens/s each",
            "short": offer_name(offer),
            "price": asked_price(offer.price_per_hour, currency),
            "from": 0,
            "to": offer.price_per_hour,
            "text": index + 0.28,
            "top": index + 0.52,
            "bottom": index + 0.84,
        }
        for index, offer in enumerate(offers)
    ]
    end = max(offer.price_per_hour for offer in offers) or 1.0
    scale = alt.Scale(domain=[0, len(rows)], reverse=True, nice=False)
    base = alt.Chart(alt.Data(values=rows)).encode(tooltip=tooltip("label", "price"))
    words = base.encode(y=alt.Y("text:Q", axis=None, scale=scale))
    layers = [
        base.mark_rect(color=colours.WEIGHTS, cornerRadius=2).encode(
            x=alt.X("from:Q", axis=None, scale=alt.Scale(domain=[0, end], nice=False)),
            x2="to:Q",
            y=alt.Y("top:Q", axis=None, scale=scale),
            y2="bottom:Q",
        ),
        words.mark_text(align="left", color=ink, fontSize=13, opacity=alt.ExprRef(f"{_HAS_ROOM} ? 1 : 0")).encode(
            x=alt.value(0), text="label:N"
        ),
        words.mark_text(align="left", color=ink, fontSize=13, opacity=alt.ExprRef(f"{_HAS_ROOM} ? 0 : 1")).encode(
            x=alt.value(0), text="short:N"
        ),
        words.mark_text(align="right", color=ink, fontSize=13, fontWeight=_BOLD).encode(
            x=alt.value("width"), text="price:N"
        ),
    ]
    return finished(alt.layer(*layers), height=ROW_PX * len(rows))


def _price_row(point: TokenPrice, unit: str) -> dict[str, object]:
    return {
        "users": point.users,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "count": count_users(point.users),
        "price": money(point.value, unit),
        "range": f"{money(point.low)} – {money(point.high, unit)}",
    }


def _ones_twos_fives(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    return [float(f"{step}e{power}") for power in range(first, last + 1) for step in (1, 2, 5)]
