"""What tokens cost, and on which cards they are cheapest, as text for a terminal. No figure is computed here."""

from collections.abc import Iterable, Sequence

from planner.answers.words import if_it_did
from planner.cost import Cost
from planner.serving.offers import Offer
from planner.serving.rate_offers import RateOffer
from planner.text.cost import THOUSAND, asked_price, money, offer_each, offer_name
from planner.units import counted, counted_words, format_figure, format_seconds

NOTHING = "No card of the table does this; ask for less context, users or speed."
NOTHING_IN_TIME = (
    "No number of any card of the table does this: each misses the target with a request alone, may miss it, or does "
    "not hold it. Ask for a longer time or shorter requests."
)
UNNAMED = "Money is in the currency of the prices; --currency gives it a name."


def cost_text(result: Cost, currency: str, fits: bool = True) -> str:
    """Prices of a million tokens in a sentence, as if it did where it does not fit; then how they come about."""
    hour = asked_price(result.price_per_hour, currency)
    output = _range(result.output_per_million, result.output_per_million_low, result.output_per_million_high, currency)
    prompt = _range(result.prompt_per_million, result.prompt_per_million_low, result.prompt_per_million_high, currency)
    requests = _range(
        THOUSAND * result.request, THOUSAND * result.request_low, THOUSAND * result.request_high, currency
    )
    first = (
        f"A million tokens of answers cost {output}, a million of prompts {prompt}, at {hour} an hour for all cards."
    )
    if result.at_once.waiting:
        first = f"{result.at_once.words}: {first[0].lower()}{first[1:]}"
    lines = [
        if_it_did(first, fits),
        "",
        f"  {counted(result.users, 'user')}, {result.prompt_tokens:,} + {result.output_tokens:,} tokens a request",
        f"  answers   {format_figure(result.output_tokens_per_s)} tokens/s "
        f"({format_figure(result.output_tokens_per_s_low)} to {format_figure(result.output_tokens_per_s_high)})",
        f"  prompts   {format_figure(result.prompt_tokens_per_s)} tokens/s "
        f"({format_figure(result.prompt_tokens_per_s_low)} to {format_figure(result.prompt_tokens_per_s_high)})",
        f"  a thousand requests cost {requests}",
    ]
    if (found := result.energy) is not None:
        lines += [
            f"  energy    {format_figure(found.joules_per_output_token)} J a token of an answer, its prompt included "
            f"({format_figure(found.low_joules)} to {format_figure(found.high_joules)}); "
            f"{format_figure(found.kwh_per_million_tokens)} kWh a million",
            f"  power     {found.power.watts:,.0f} W ({found.power.low_watts:,.0f} to {found.power.high_watts:,.0f}), "
            f"{found.power.basis}: {found.power.source}",
        ]
    notes = (
        *result.warnings,
        *_unnamed(currency),
        "Ranges are the speed model's: a price follows the time that a step takes.",
        "For a server that is always this busy; an idle hour costs the same.",
    )
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)])


def offers_text(offers: Sequence[Offer], currency: str) -> str:
    """The cheapest in a sentence, then all in lines; speeds and prices of tokens with their ranges."""
    if not offers:
        return NOTHING
    first = offers[0]
    pace = _spread(map(format_figure, _each(first)))
    lines = [
        f"The cheapest that does it: {offer_name(first)}, {asked_price(first.price_per_hour, currency)} an hour. "
        f"{offer_each(first)} {pace} tokens/s; a million tokens of answers cost {_million(first, currency)}.",
        "",
    ]
    rows = [("cards", "an hour", "each, tokens/s", "first token", "million answers", "J a token", "most users")]
    for offer in offers:
        first_s = (offer.time_to_first_token_s, offer.time_to_first_token_low_s, offer.time_to_first_token_high_s)
        joules = (offer.joules_per_output_token, offer.joules_low, offer.joules_high)
        rows.append(
            (
                offer_name(offer),
                asked_price(offer.price_per_hour),
                _spread(map(format_figure, _each(offer))),
                _spread(map(format_seconds, first_s)),
                _million(offer),
                "–" if None in joules else _spread(format_figure(each or 0.0) for each in joules),
                "any number" if offer.max_users is None else f"{offer.max_users:,}",
            )
        )
    notes = (*_unnamed(currency), "In brackets: over the speed model's range. For users who do not wait for a slot.")
    return "\n".join([*lines, *_columns(rows), *(f"Note: {note}" for note in notes)])


def rate_offers_text(offers: Sequence[RateOffer], rate_per_s: float, currency: str, drawn: str) -> str:
    """The same for requests that come as they please, as *drawn* says: how many cards take them within the target."""
    if not offers:
        return f"{NOTHING_IN_TIME}\nNote: {drawn}"
    first = offers[0]
    lines = [
        f"The cheapest that takes {counted_words(f'{rate_per_s:g}', 'request')}/s: {offer_name(first)}, "
        f"{asked_price(first.price_per_hour, currency)} an hour; a million tokens of answers cost "
        f"{_million(first, currency)}.",
        "",
    ]
    rows = [("cards", "it may take", "an hour", "takes, requests/s", "TTFT p95", "a token p95", "million answers")]
    for offer in offers:
        rates = (offer.rate_per_s, offer.rate_low_per_s, offer.rate_high_per_s)
        rows.append(
            (
                offer_name(offer),
                f"{offer.device_count_low:,} to {_or_no_end(offer.device_count_high)}",
                asked_price(offer.price_per_hour),
                _spread(f"{rate:.3g}" for rate in rates),
                format_seconds(offer.first_token_s),
                format_seconds(offer.token_s),
                _million(offer),
            )
        )
    notes = (
        drawn,
        *_engine_notes(offers),
        *_unnamed(currency),
        "In brackets: over the speed model's range; the price of as many such cards as the rate takes at either end.",
    )
    return "\n".join([*lines, *_columns(rows), *(f"Note: {note}" for note in notes)])


def _engine_notes(offers: Sequence[RateOffer]) -> list[str]:
    """Which settings of the engine decide; with the cards that they are of, where they differ."""
    cards: dict[str, list[str]] = {}
    for offer in offers:
        for note in offer.notes:
            cards.setdefault(note, []).append(offer.device)
    return [note if len(cards) == 1 else f"{', '.join(names)}: {note}" for note, names in cards.items()]


def _each(offer: Offer) -> tuple[float, float, float]:
    return offer.tokens_per_s_user, offer.tokens_per_s_user_low, offer.tokens_per_s_user_high


def _million(offer: Offer | RateOffer, currency: str = "") -> str:
    return _range(offer.output_per_million, offer.output_per_million_low, offer.output_per_million_high, currency)


def _range(amount: float, low: float, high: float | None, currency: str = "") -> str:
    end = "no end" if high is None else money(high)
    return f"{money(amount, currency)} ({money(low)} to {end})"


def _spread(words: Iterable[str]) -> str:
    middle, low, high = words
    return f"{middle} ({low} to {high})"


def _or_no_end(count: int | None) -> str:
    return "no end" if count is None else f"{count:,}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first to the left, the others to the right, each as wide as it needs."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _unnamed(currency: str) -> tuple[str, ...]:
    return () if currency else (UNNAMED,)
