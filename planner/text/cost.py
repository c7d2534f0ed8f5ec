"""What a page says about money and energy; ``**`` marks what to stress. Money always has its currency."""

import math
from collections.abc import Sequence

from planner.cost import Cost, ExamplePrices
from planner.energy import Energy
from planner.presets import find_device
from planner.serving.offers import Offer
from planner.serving.rate_offers import RateOffer
from planner.text.speed import count_users
from planner.units import format_figure, format_seconds

THOUSAND = 1_000
_TINY = 1e-6
"""Below it an amount has more zeros than anybody counts."""


def cost_title(found: Cost, currency: str) -> str:
    """What a million answer tokens cost at the load asked for."""
    return f"A million tokens of answers cost {money(found.output_per_million, currency)}"


def cost_sentence(found: Cost, alone: Cost, currency: str) -> str:
    """What else the hour buys, its range, and what one user alone would pay."""
    hour = asked_price(found.price_per_hour, currency)
    who = f"{found.at_once.words}:" if found.at_once.waiting else f"{count_users(found.users)} at once,"
    sentence = (
        f"{who} requests of {found.prompt_tokens:,} + {found.output_tokens:,} tokens, "
        f"{hour} an hour for all cards: between {money(found.output_per_million_low)} "
        f"and {money(found.output_per_million_high, currency)} over the speed model's range. A million prompt tokens "
        f"cost **{money(found.prompt_per_million, currency)}**, a thousand requests "
        f"**{money(THOUSAND * found.request, currency)}**."
    )
    times = alone.output_per_million / found.output_per_million if found.output_per_million else 1.0
    if found.users == 1 or times < 1.05:
        return sentence
    return f"{sentence} One user alone would pay {format_figure(times)} times as much."


def energy_title(found: Energy) -> str:
    """What a million answer tokens take from the plug, where no price is known."""
    return f"A million tokens of answers take {format_figure(found.kwh_per_million_tokens)} kWh"


def example_sentence(examples: ExamplePrices, price: float) -> str:
    """Where a price comes from that nobody gave."""
    return (
        f"Assumed: {asked_price(price, examples.currency)} an hour for one card, {examples.title} ({examples.source}). "
        "Prices change by the week: type yours below."
    )


def energy_sentence(found: Energy) -> str:
    """Joules a token as a range, and what they rest on."""
    power = found.power
    drawn = f"{power.watts:,.0f} W"
    if power.low_watts != power.high_watts:
        drawn += f" ({power.low_watts:,.0f} – {power.high_watts:,.0f})"
    return (
        f"A token of an answer takes **{format_figure(found.joules_per_output_token)} J** "
        f"({format_figure(found.low_joules)} – {format_figure(found.high_joules)}), its share of the prompt included: "
        f"{format_figure(found.kwh_per_million_tokens)} kWh a million, at {drawn} for all cards. Processors, cooling "
        f"and power supplies are not counted. Power: {power.source}."
    )


def offer_title(offers: Sequence[Offer], currency: str) -> str:
    """The cheapest hour that does what was asked."""
    if not offers:
        return "No card of your table does it"
    first = offers[0]
    return f"The cheapest that does it: {offer_name(first)}, {asked_price(first.price_per_hour, currency)} an hour"


def offer_sentence(offers: Sequence[Offer], currency: str) -> str:
    """What the cheapest gives, and which is the cheapest a token if that is another."""
    if not offers:
        return "Ask for less context, fewer users or less speed, or add larger cards to the table."
    first = offers[0]
    sentence = (
        f"{offer_each(first)} **{format_figure(first.tokens_per_s_user)} tokens a second** ({offer_pace(first)}), the "
        f"first after {format_seconds(first.time_to_first_token_s)}; a million answer tokens cost "
        f"**{money(first.output_per_million, currency)}** ({offer_million(first)})."
    )
    by_token = min(offers, key=lambda offer: offer.output_per_million)
    if by_token is first:
        return f"{sentence} It is the cheapest a token as well."
    if money(by_token.output_per_million) == money(first.output_per_million):
        return f"{sentence} A token costs about the least with it as well."
    return (
        f"{sentence} The cheapest a token is {offer_name(by_token)}: {money(by_token.output_per_million, currency)} a "
        f"million, {asked_price(by_token.price_per_hour, currency)} an hour."
    )


def offer_each(offer: Offer) -> str:
    """``Each user gets``; where some wait, how many of all replicas' users, and why."""
    if not offer.waiting_users:
        return "Each user gets"
    wait = "One user waits" if offer.waiting_users == 1 else f"{count_users(offer.waiting_users)} wait"
    replica = "" if offer.replicas == 1 else " for each replica"
    return f"{wait} for the others to end ({offer.limit}{replica}), each of whom gets"


def offer_pace(offer: Offer) -> str:
    """A user's tokens a second at both ends of the range."""
    return f"{format_figure(offer.tokens_per_s_user_low)} – {format_figure(offer.tokens_per_s_user_high)}"


def offer_million(offer: Offer) -> str:
    """A million answer tokens at both ends of the range."""
    return f"{money(offer.output_per_million_low)} – {money(offer.output_per_million_high)}"


def offer_name(offer: Offer | RateOffer) -> str:
    """``2 × GeForce RTX 4090``, with its replicas where there are several."""
    title = find_device(offer.device).title
    cards = title if offer.device_count == 1 else f"{offer.device_count} × {title}"
    return cards if offer.replicas == 1 else f"{cards} in {offer.replicas} replicas"


def money(amount: float, currency: str = "") -> str:
    """What is planned, to two digits, from one to ten to the cent: its range is wider. The currency is left out beside
    one that has it.

    >>> money(0.01234), money(0.577), money(2.54, "USD"), money(12.6), money(1_234.5), money(0.0)
    ('0.012', '0.58', '2.54 USD', '13', '1,200', '0.00')
    """
    two_digits = float(f"{amount:.2g}")
    if two_digits >= 10:
        return f"{two_digits:,.0f} {currency}".rstrip()
    return asked_price(amount if two_digits >= 1 else two_digits, currency)


def asked_price(amount: float, currency: str = "") -> str:
    """What somebody asks for an hour: three digits, two decimals at least, none from a hundred on.

    >>> asked_price(0.01234), asked_price(0.29999), asked_price(2.5, "USD"), asked_price(32.77), asked_price(1_234.5)
    ('0.0123', '0.30', '2.50 USD', '32.77', '1,234')
    """
    if amount >= 100:
        text = f"{amount:,.0f}"
    elif amount >= 1 or amount == 0:
        text = f"{amount:.2f}"
    elif amount < _TINY:
        text = f"{amount:.2g}"
    else:
        whole, _, digits = f"{amount:.{2 - math.floor(math.log10(amount))}f}".partition(".")
        text = f"{whole}.{digits.rstrip('0').ljust(2, '0')}"
    return f"{text} {currency}".rstrip()
