"""What tokens cost: a price an hour and a speed give a price a token."""

from collections.abc import Mapping

from planner.at_once import AtOnce
from planner.energy import Energy, Power, energy
from planner.engines.base import Limit
from planner.errors import PlannerError
from planner.records import dataclass
from planner.speed.busy import busy, mean_context_tokens
from planner.speed.constants import SpeedConstants
from planner.speed.fit import predicted_s
from planner.speed.work import Model, decode_work
from planner.units import shorten

SECONDS_PER_HOUR = 3_600
MILLION = 1_000_000
MAX_PRICE = 10**9
"""An hour of all cards costs no more, whatever the currency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a busy server's tokens cost, in the currency of the price. *energy* is ``None`` where no power is known.

    *users* share it: of those who ask, *at_once*, as many as the engine runs in a step.
    *prompt_per_million* and *output_per_million* share the hour by the time that each takes. *low* and *high* are over
    the speed model's range: a price follows the time that a step takes.
    """

    price_per_hour: float
    users: int
    at_once: AtOnce
    prompt_tokens: int
    output_tokens: int
    prompt_tokens_per_s: float
    prompt_tokens_per_s_low: float
    prompt_tokens_per_s_high: float
    output_tokens_per_s: float
    output_tokens_per_s_low: float
    output_tokens_per_s_high: float
    prompt_per_million: float
    prompt_per_million_low: float
    prompt_per_million_high: float
    output_per_million: float
    output_per_million_low: float
    output_per_million_high: float
    request: float
    request_low: float
    request_high: float
    energy: Energy | None
    warnings: tuple[str, ...] = ()


def cost(
    model: Model,
    constants: SpeedConstants,
    *,
    price_per_hour: float,
    users: int,
    prompt_tokens: int,
    output_tokens: int,
    power: Power | None = None,
    limit: Limit | None = None,
) -> Cost:
    """The cost of a server that is busy with *users* requests of *prompt_tokens* and *output_tokens* each.

    A step gives each its next token and computes prompt ÷ output tokens of new prompts for each. What the step takes
    longer because of them is the prompts' share of the price. *price_per_hour* and *power* are those of all devices. No
    more than *limit* requests are in a step.
    """
    asked = AtOnce(asked=users, limit=limit)
    users = asked.users
    if not 0 <= price_per_hour <= MAX_PRICE:
        raise PlannerError(f"A price of {price_per_hour:g} an hour is not possible: give 0 to {MAX_PRICE:,}.")
    pace = busy(model, constants, users, prompt_tokens, output_tokens)
    context_tokens = mean_context_tokens(prompt_tokens, output_tokens)
    share = prompt_tokens / output_tokens
    answers_s = predicted_s(decode_work(model, users, context_tokens), constants)
    whole, rate, prompts = pace.step, pace.tokens_per_s, pace.prompt_tokens_per_s
    whole_s = whole.value_s
    price_per_s = price_per_hour / SECONDS_PER_HOUR
    output = price_per_s * answers_s / users
    prompt = price_per_s * (whole_s - answers_s) / (users * share)
    request = prompt_tokens * prompt + output_tokens * output
    fast, slow = whole.low_s / whole_s, whole.high_s / whole_s
    return Cost(
        price_per_hour=price_per_hour,
        users=users,
        at_once=asked,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        prompt_tokens_per_s=prompts.value,
        prompt_tokens_per_s_low=prompts.low,
        prompt_tokens_per_s_high=prompts.high,
        output_tokens_per_s=rate.value,
        output_tokens_per_s_low=rate.low,
        output_tokens_per_s_high=rate.high,
        prompt_per_million=MILLION * prompt,
        prompt_per_million_low=MILLION * prompt * fast,
        prompt_per_million_high=MILLION * prompt * slow,
        output_per_million=MILLION * output,
        output_per_million_low=MILLION * output * fast,
        output_per_million_high=MILLION * output * slow,
        request=request,
        request_low=request * fast,
        request_high=request * slow,
        energy=None if power is None else energy(power, whole, users),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplePrices:
    """What an hour of one card cost somewhere, by its name: to begin with, until the reader says a price."""

    currency: str
    title: str
    source: str
    prices: Mapping[str, float]


def read_price(name: str, price: object, file: str) -> float:
    """The price an hour of the device *name*, as *file* says it; raises PlannerError where that is none."""
    if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price <= MAX_PRICE:
        raise PlannerError(
            f"{file}: {shorten(name)} = {shorten(repr(price))} is not a price: write a number an hour, such as 2.5, "
            f"from 0 to {MAX_PRICE:,}, with a point and nothing else."
        )
    return float(price)
