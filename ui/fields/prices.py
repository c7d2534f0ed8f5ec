"""What an hour of one card costs: as typed, else an example that says whose it was, else nothing."""

from dataclasses import dataclass

import streamlit as st

from planner.catalogue.performance_presets import example_prices
from planner.text.cost import example_sentence
from ui.fields import choice as fields

UNNAMED = "of your currency"
LONGEST_NAME = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HourPrice:
    """*hourly* for one card; ``None``: not known. *currency* names it in words, *option* on the command line."""

    hourly: float | None
    currency: str
    option: str = ""
    is_example: bool = False

    def say_where_from(self) -> None:
        """That nobody typed it, where nobody did."""
        if self.is_example and self.hourly is not None:
            st.caption(f":material/info: {example_sentence(example_prices(), self.hourly)}")


def price_fields(device: str) -> HourPrice:
    """The price of *device*, and what it is called; an example where there is one and no price is typed."""
    examples = example_prices()
    example = examples.prices.get(device)
    shown = "such as 0.40" if example is None else f"{example:g}"
    price = fields.figure(
        "price",
        "One card, price an hour",
        None,
        0.0,
        1e6,
        format="%g",
        placeholder=shown,
        help="Yours: rent, or electricity and what the card loses in value. Empty: an example, where there is one.",
    )
    currency = fields.text(
        "currency", "Its currency", LONGEST_NAME, placeholder="such as EUR", help="Only a word: nothing is converted."
    )
    if price:
        return HourPrice(hourly=price, currency=currency or UNNAMED, option=currency)
    if example is None:
        return HourPrice(hourly=None, currency=currency or UNNAMED, option=currency)
    return HourPrice(hourly=example, currency=examples.currency, option=examples.currency, is_example=True)
