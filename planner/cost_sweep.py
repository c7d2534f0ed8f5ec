"""What a token costs over the number of users who share the hour."""

from planner.cost import Cost, cost
from planner.energy import Power
from planner.records import dataclass
from planner.speed.answer import step_seconds
from planner.speed.constants import SpeedConstants
from planner.speed.sweeps import spaced
from planner.speed.work import Model, decode_work


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPoint:
    """*cost* at so many users. *low* and *high*: the price of a million answer tokens over the speed model's range."""

    cost: Cost
    low: float
    high: float


def cost_at(
    model: Model,
    constants: SpeedConstants,
    *,
    price_per_hour: float,
    users: int,
    prompt_tokens: int,
    output_tokens: int,
    power: Power | None = None,
) -> CostPoint:
    """One load, with its range: a price follows the time that a step takes."""
    found = cost(
        model,
        constants,
        price_per_hour=price_per_hour,
        users=users,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        power=power,
    )
    work = decode_work(model, users, prompt_tokens + output_tokens // 2, prompt_tokens / output_tokens)
    step = step_seconds(work, constants)
    return CostPoint(
        cost=found,
        low=found.output_per_million * step.low_s / step.value_s,
        high=found.output_per_million * step.high_s / step.value_s,
    )


def cost_over_users(
    model: Model,
    constants: SpeedConstants,
    *,
    price_per_hour: float,
    prompt_tokens: int,
    output_tokens: int,
    most_users: int,
    also: tuple[int, ...] = (),
    power: Power | None = None,
) -> tuple[CostPoint, ...]:
    """From one user to *most_users* who share the same hour."""
    return tuple(
        cost_at(
            model,
            constants,
            price_per_hour=price_per_hour,
            users=users,
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            power=power,
        )
        for users in sorted({*spaced(1, most_users), *also})
    )
