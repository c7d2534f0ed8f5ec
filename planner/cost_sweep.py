"""What a token costs over the number of users who share the hour."""

from planner.cost import Cost, cost
from planner.energy import Power
from planner.speed.constants import SpeedConstants
from planner.speed.sweeps import spaced
from planner.speed.work import Model


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
) -> tuple[Cost, ...]:
    """From one user to *most_users* who share the same hour."""
    return tuple(
        cost(
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
