"""What tokens cost: a price an hour and a speed give a price a token."""

from collections.abc import Mapping

from planner.energy import Energy, Power, energy
from planner.errors import PlannerError
from planner.records import dataclass
from planner.speed.answer import step_seconds
from planner.speed.constants import SpeedConstants
from planner.speed.fit import predicted_s
from planner.speed.work import Model, decode_work

SECONDS_PER_HOUR = 3_600
MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a busy server's tokens cost, in the currency of the price. *energy* is ``None`` where no power is known.

    *prompt_per_million* and *output_per_million* share the hour by the time that each takes.
    """

    price_per_hour: float
    users: int
    prompt_tokens: int
    output_tokens: int
    prompt_tokens_per_s: float
    output_tokens_per_s: float
    prompt_per_million: float
    output_per_million: float
    request: float
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
) -> Cost:
    """The cost of a server that is busy with *users* requests of *prompt_tokens* and *output_tokens* each.

    A step gives each its next token and computes prompt ÷ output tokens of new prompts for each. What the step takes
    longer because of them is the prompts' share of the price. *price_per_hour* and *power* are those of all devices.
    """
    if not 0 <= price_per_hour < float("inf"):
        raise PlannerError(f"price = {price_per_hour:g} is not possible: it must be a number from 0 on.")
    if prompt_tokens < 1 or output_tokens < 1:
        raise PlannerError("A request needs at least one prompt token and one token of an answer.")
    context_tokens = prompt_tokens + output_tokens // 2
    share = prompt_tokens / output_tokens
    answers_s = predicted_s(decode_work(model, users, context_tokens), constants)
    whole = step_seconds(decode_work(model, users, context_tokens, share), constants)
    whole_s = whole.value_s
    price_per_s = price_per_hour / SECONDS_PER_HOUR
    output = price_per_s * answers_s / users
    prompt = price_per_s * (whole_s - answers_s) / (users * share)
    return Cost(
        price_per_hour=price_per_hour,
        users=users,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        prompt_tokens_per_s=users * share / whole_s,
        output_tokens_per_s=users / whole_s,
        prompt_per_million=MILLION * prompt,
        output_per_million=MILLION * output,
        request=prompt_tokens * prompt + output_tokens * output,
        energy=None if power is None else energy(power, whole, users),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplePrices:
    """What an hour of one card cost somewhere, by its name: to begin with, until the reader says a price."""

    currency: str
    title: str
    source: str
    prices: Mapping[str, float]


def read_prices(table: Mapping[str, object], file: str) -> dict[str, float]:
    """Prices an hour of one device by its name, from a TOML table ``device = price``.

    Raises PlannerError naming the line at fault.
    """
    prices = {}
    for name, price in table.items():
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < float("inf"):
            raise PlannerError(f"{file}: {name} = {price!r} is not a price: write a number an hour, such as 2.5.")
        prices[name] = float(price)
    if not prices:
        raise PlannerError(f"{file} has no prices: write a line a device, such as rtx-4090 = 0.40.")
    return prices
