"""The inverse question about money: the cheapest cards that hold the users, and are fast enough for them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.answer import answer
from planner.architecture import Architecture
from planner.choices import Choices, choose
from planner.cost import cost
from planner.energy import device_power
from planner.model_files import load_model
from planner.performance_presets import eight_bit_formats, find_speed_constants, power_share
from planner.speed.answer import speed
from planner.speed.work import has_experts, prepare_speed

COUNTS = (1, 2, 4, 8)
"""How many cards of a kind are tried, as tensor parallel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Cards that do what was asked, and their price an hour together."""

    device: str
    device_count: int
    price_per_hour: float
    tokens_per_s_user: float
    time_to_first_token_s: float
    max_users: int | None
    output_per_million: float
    joules_per_output_token: float | None


def find_offers(
    choices: Choices,
    prices: Mapping[str, float],
    *,
    speed_engine: str,
    prompt_tokens: int,
    output_tokens: int,
    min_tokens_per_s: float = 0.0,
    max_first_token_s: float | None = None,
) -> list[Offer]:
    """Every card of *prices* and count that does it, the cheapest hour first, of equal ones the faster.

    *choices* say what is asked, users and context among it; *prices* are those of one device an hour.
    """
    architecture = load_model(choices.model, online=choices.online)
    found = []
    for device, price in prices.items():
        for count in COUNTS:
            asked = replace(choices, device=device, tensor_parallel=count)
            offer = _offer(asked, architecture, count * price, speed_engine, prompt_tokens, output_tokens)
            late = offer and max_first_token_s is not None and offer.time_to_first_token_s > max_first_token_s
            if offer and not late and offer.tokens_per_s_user >= min_tokens_per_s:
                found.append(offer)
    return sorted(found, key=lambda offer: (offer.price_per_hour, -offer.tokens_per_s_user))


def _offer(
    choices: Choices, architecture: Architecture, price: float, engine: str, prompt_tokens: int, output_tokens: int
) -> Offer | None:
    """The cards of *choices*; ``None`` where the users do not fit."""
    chosen = choose(choices, architecture)
    memory = answer(chosen.architecture, chosen.deployment, chosen.workload)
    if not memory.fits:
        return None
    model = prepare_speed(chosen.architecture, chosen.deployment, eight_bit_formats())
    device, users = chosen.deployment.device, chosen.workload.users
    constants = find_speed_constants(engine, device.name, has_experts(model.architecture))
    pace = speed(
        model,
        constants,
        context_tokens=chosen.workload.context_tokens,
        users=users,
        prompt_tokens=prompt_tokens,
        max_users=memory.max_users,
    )
    paid = cost(
        model,
        constants,
        price_per_hour=price,
        users=users,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        power=device_power(device, chosen.deployment.device_count, power_share()),
    )
    return Offer(
        device=device.name,
        device_count=chosen.deployment.device_count,
        price_per_hour=price,
        tokens_per_s_user=pace.tokens_per_s_user.value,
        time_to_first_token_s=pace.time_to_first_token.value_s,
        max_users=memory.max_users,
        output_per_million=paid.output_per_million,
        joules_per_output_token=None if paid.energy is None else paid.energy.joules_per_output_token,
    )
