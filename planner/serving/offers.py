"""The inverse question about money: the cheapest cards that hold the users, and are fast enough for them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from planner.answers.answer import answer
from planner.architecture import Architecture
from planner.at_once import AtOnce
from planner.capacity import all_that_go
from planner.catalogue.performance_presets import power_share
from planner.cost import cost
from planner.energy import device_power
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.inputs.model_files import load_model
from planner.paced import paced
from planner.records import dataclass
from planner.speed.answer import prompt_seconds
from planner.speed.busy import busy

COUNTS = range(1, 9)
"""How many cards of a kind are tried: those of one machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Cards that do what was asked, as *replicas* of *tensor_parallel* each, and their price an hour together.

    Tokens a second are a busy server's, which computes new prompts as well, *users* shared over the replicas. Of them
    *waiting_users* wait where the engine runs fewer at once on each replica, by the setting *limit*. The first token is
    that of a request that does not wait. *low* and *high* are over the speed model's range.
    """

    device: str
    device_count: int
    tensor_parallel: int
    replicas: int
    price_per_hour: float
    tokens_per_s_user: float
    tokens_per_s_user_low: float
    tokens_per_s_user_high: float
    time_to_first_token_s: float
    time_to_first_token_low_s: float
    time_to_first_token_high_s: float
    max_users: int | None
    waiting_users: int
    limit: str
    output_per_million: float
    output_per_million_low: float
    output_per_million_high: float
    joules_per_output_token: float | None
    joules_low: float | None
    joules_high: float | None


def find_offers(
    choices: Choices,
    prices: Mapping[str, float],
    *,
    speed_engine: str,
    prompt_tokens: int,
    output_tokens: int,
    min_tokens_per_s: float = 0.0,
    max_first_token_s: float | None = None,
    architecture: Architecture | None = None,
) -> list[Offer]:
    """Every card of *prices* and count that does it, the cheapest hour first, of equal ones the fewest cards.

    *choices* say what is asked, users and context among it; *prices* are those of one device an hour. Of the ways to
    make replicas of as many cards the fastest is kept. *architecture* stands in for the model's name where a file was
    uploaded.
    """
    if not 0 <= min_tokens_per_s < float("inf"):
        raise PlannerError(f"{min_tokens_per_s:g} tokens per second are no wish: give a number from 0 on.")
    if max_first_token_s is not None and not 0 < max_first_token_s < float("inf"):
        raise PlannerError(f"{max_first_token_s:g} seconds to the first token are no wish: give a number above 0.")
    architecture = architecture or load_model(choices.model, choices.online)
    free = choices.without_cards()
    found: list[Offer] = []
    for device, price in prices.items():
        splits = [(count, parallel) for count in COUNTS for parallel in COUNTS if count % parallel == 0]
        tried = all_that_go(
            partial(
                _offer,
                replace(free, device=device, tensor_parallel=parallel, replicas=count // parallel),
                architecture,
                price,
                speed_engine,
                prompt_tokens,
                output_tokens,
            )
            for count, parallel in splits
        )
        enough = [
            offer
            for offer in tried
            if offer is not None
            and offer.tokens_per_s_user >= min_tokens_per_s
            and (max_first_token_s is None or offer.time_to_first_token_s <= max_first_token_s)
        ]
        fastest: dict[int, Offer] = {}
        for offer in enough:
            known = fastest.setdefault(offer.device_count, offer)
            if offer.tokens_per_s_user > known.tokens_per_s_user:
                fastest[offer.device_count] = offer
        found += fastest.values()
    return sorted(found, key=lambda offer: (offer.price_per_hour, offer.device_count, -offer.tokens_per_s_user))


def cheapest_of_each(offers: Sequence[Offer]) -> list[Offer]:
    """Of *offers*, in order of their price, the first of each kind of card."""
    first: dict[str, Offer] = {}
    for offer in offers:
        first.setdefault(offer.device, offer)
    return list(first.values())


def _most(memory: int | None, together: AtOnce, replicas: int) -> int | None:
    """The most of all *replicas* who are decoded at once: what memory holds, or what the engine runs."""
    limit = together.most(None)
    return memory if limit is None else min(replicas * limit, replicas * limit if memory is None else memory)


def _offer(
    choices: Choices, architecture: Architecture, price: float, engine: str, prompt_tokens: int, output_tokens: int
) -> Offer | None:
    """The cards of *choices*, *price* an hour each; ``None`` where the users do not fit."""
    chosen = choose(choices, architecture)
    deployment = chosen.deployment
    memory = answer(chosen.architecture, deployment, chosen.workload)
    if not memory.fits:
        return None
    found = paced(chosen, engine)
    device, users = deployment.device, found.at_once.users
    pace = busy(found.model, found.constants, users, prompt_tokens, output_tokens)
    _, first = prompt_seconds(found.model, found.constants, prompt_tokens)
    paid = cost(
        found.model,
        found.constants,
        price_per_hour=price * deployment.device_count,
        users=users,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        power=device_power(device, deployment.device_count, power_share()),
    )
    count = deployment.device_count * deployment.replicas
    return Offer(
        device=device.name,
        device_count=count,
        tensor_parallel=deployment.tensor_parallel,
        replicas=deployment.replicas,
        price_per_hour=price * count,
        tokens_per_s_user=pace.tokens_per_s_user.value,
        tokens_per_s_user_low=pace.tokens_per_s_user.low,
        tokens_per_s_user_high=pace.tokens_per_s_user.high,
        time_to_first_token_s=first.value_s,
        time_to_first_token_low_s=first.low_s,
        time_to_first_token_high_s=first.high_s,
        max_users=_most(memory.max_users, found.at_once, deployment.replicas),
        waiting_users=max(0, chosen.workload.users - deployment.replicas * users),
        limit=found.at_once.setting,
        output_per_million=paid.output_per_million,
        output_per_million_low=paid.output_per_million_low,
        output_per_million_high=paid.output_per_million_high,
        joules_per_output_token=None if paid.energy is None else paid.energy.joules_per_output_token,
        joules_low=None if paid.energy is None else paid.energy.low_joules,
        joules_high=None if paid.energy is None else paid.energy.high_joules,
    )
