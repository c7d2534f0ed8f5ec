"""The inverse question about money: the cheapest cards that hold the users, and are fast enough for them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import mean

from planner.answer import answer
from planner.architecture import Architecture
from planner.batching.targets import Sustained
from planner.batching.trace import check_rate
from planner.choices import Choices, choose
from planner.cost import MILLION, SECONDS_PER_HOUR, cost
from planner.energy import device_power
from planner.errors import PlannerError, UnevenSplit
from planner.model_files import load_model
from planner.paced import paced
from planner.performance_presets import power_share
from planner.records import dataclass
from planner.served import Served
from planner.serving import MAX_DEVICES, ServingQuestion, fitting_replica, replica_rate, replicas_for
from planner.speed.answer import speed

COUNTS = (1, 2, 4, 8)
"""How many cards of a kind are tried, and how many of them make a replica."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Cards that do what was asked, as *replicas* of *tensor_parallel* each, and their price an hour together.

    Speed is that of requests that do not wait, *users* shared over the replicas; *low* and *high* are over the speed
    model's range.
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
    output_per_million: float
    output_per_million_low: float
    output_per_million_high: float
    joules_per_output_token: float | None
    joules_low: float | None
    joules_high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateOffer:
    """Cards that take a rate of requests within a latency target, spare replicas included.

    *rate_per_s* is the most that they take, *first_token_s* and *token_s* the 95th percentiles then. The price of a
    million tokens is that at the rate asked for. *low* and *high* are by the speed model's range: of the rate that
    these cards take, and of how many such cards it needs at what price; ``None`` where at the slow end no number of
    them does. *notes*: which of the engine's settings decide.
    """

    device: str
    device_count: int
    device_count_low: int
    device_count_high: int | None
    tensor_parallel: int
    replicas: int
    price_per_hour: float
    rate_per_s: float
    rate_low_per_s: float
    rate_high_per_s: float
    first_token_s: float
    token_s: float
    output_per_million: float
    output_per_million_low: float
    output_per_million_high: float | None
    notes: tuple[str, ...] = ()


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
    """Every card of *prices* and count that does it, the cheapest hour first, of equal ones the faster.

    *choices* say what is asked, users and context among it; *prices* are those of one device an hour. Of the ways to
    make replicas of as many cards the fastest is kept. *architecture* stands in for the model's name where a file was
    uploaded.
    """
    if not 0 <= min_tokens_per_s < float("inf"):
        raise PlannerError(f"{min_tokens_per_s:g} tokens per second are no wish: give a number from 0 on.")
    if max_first_token_s is not None and not 0 < max_first_token_s < float("inf"):
        raise PlannerError(f"{max_first_token_s:g} seconds to the first token are no wish: give a number above 0.")
    architecture = architecture or load_model(choices.model, choices.online)
    free, found = choices.without_cards(), []
    for device, price in prices.items():
        for count in COUNTS:
            splits = (
                _offer(
                    replace(free, device=device, tensor_parallel=parallel, replicas=count // parallel),
                    architecture,
                    price,
                    speed_engine,
                    prompt_tokens,
                    output_tokens,
                )
                for parallel in COUNTS
                if count % parallel == 0
            )
            enough = [
                offer
                for offer in splits
                if offer is not None
                and offer.tokens_per_s_user >= min_tokens_per_s
                and (max_first_token_s is None or offer.time_to_first_token_s <= max_first_token_s)
            ]
            if enough:
                found.append(max(enough, key=lambda offer: offer.tokens_per_s_user))
    return sorted(found, key=lambda offer: (offer.price_per_hour, -offer.tokens_per_s_user))


def find_rate_offers(
    choices: Choices,
    prices: Mapping[str, float],
    question: ServingQuestion,
    rate_per_s: float,
    speed_engine: str,
    spare_replicas: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[RateOffer]:
    """As many cards of each kind as take *rate_per_s* within the target of *question*, the cheapest hour first.

    *spare_replicas* may be lost. Replicas of 1, 2, 4 and 8 cards are tried, and of these the cheapest is kept; what
    *question* says of counts is left out. *progress* is told each card before it is tried.
    """
    check_rate(rate_per_s)
    if not 0 <= spare_replicas <= MAX_DEVICES:
        raise PlannerError(f"spare_replicas = {spare_replicas:,} is not possible: give 0 to {MAX_DEVICES:,}.")
    architecture = load_model(choices.model, choices.online)
    found = []
    for device, price in prices.items():
        if progress is not None:
            progress(device)
        tried = [
            _Replica(
                price=price * parallel, replicas=replicas_for(rate_per_s, most.rate_per_s), served=replica, most=most
            )
            for parallel in COUNTS
            if (
                replica := fitting_replica(
                    replace(choices.without_cards(), device=device, tensor_parallel=parallel),
                    question,
                    speed_engine,
                    architecture,
                )
            )
            is not None
            and (most := replica_rate(replica, question)).outcome is not None
        ]
        if tried:
            cheapest = min(tried, key=lambda each: ((each.replicas + spare_replicas) * each.price, each.token_s))
            found.append(_rate_offer(device, cheapest, question, rate_per_s, spare_replicas))
    return sorted(found, key=lambda offer: (offer.price_per_hour, offer.token_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replica:
    """One replica, its *price* an hour, the *most* that it takes, and how many of it the asked rate needs."""

    price: float
    replicas: int
    served: Served
    most: Sustained

    @property
    def token_s(self) -> float:
        pace = None if self.most.outcome is None else self.most.outcome.time_per_output_token
        return 0.0 if pace is None else pace.p95_s


def _rate_offer(
    device: str, found: _Replica, question: ServingQuestion, rate_per_s: float, spare_replicas: int
) -> RateOffer:
    """As many replicas as the rate needs and *spare_replicas* more; at the ends of the range too."""
    assert found.most.outcome is not None
    error = found.served.constants.p90_error
    slow, fast = (replica_rate(found.served, question, slower).rate_per_s for slower in (1 + error, 1 / (1 + error)))
    cards = found.served.model.deployment.tensor_parallel
    replicas = found.replicas + spare_replicas
    fewest = replicas_for(rate_per_s, fast) + spare_replicas
    largest = replicas_for(rate_per_s, slow) + spare_replicas if slow else None
    million = MILLION * found.price / (SECONDS_PER_HOUR * rate_per_s * mean(question.trace.output_tokens))
    return RateOffer(
        device=device,
        device_count=replicas * cards,
        device_count_low=fewest * cards,
        device_count_high=None if largest is None else largest * cards,
        tensor_parallel=cards,
        replicas=replicas,
        price_per_hour=replicas * found.price,
        rate_per_s=replicas * found.most.rate_per_s,
        rate_low_per_s=replicas * slow,
        rate_high_per_s=replicas * fast,
        first_token_s=found.most.outcome.time_to_first_token.p95_s,
        token_s=found.token_s,
        output_per_million=replicas * million,
        output_per_million_low=fewest * million,
        output_per_million_high=None if largest is None else largest * million,
        notes=found.served.shape.notes,
    )


def _offer(
    choices: Choices, architecture: Architecture, price: float, engine: str, prompt_tokens: int, output_tokens: int
) -> Offer | None:
    """The cards of *choices*, *price* an hour each; ``None`` where users do not fit or the model cannot be split."""
    chosen = choose(choices, architecture)
    deployment = chosen.deployment
    try:
        memory = answer(chosen.architecture, deployment, chosen.workload)
    except UnevenSplit:
        return None
    if not memory.fits:
        return None
    found = paced(chosen, engine)
    device, users = deployment.device, -(-chosen.workload.users // deployment.replicas)
    pace = speed(
        found.model,
        found.constants,
        context_tokens=chosen.workload.context_tokens,
        users=users,
        prompt_tokens=prompt_tokens,
        max_users=memory.max_users,
    )
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
        time_to_first_token_s=pace.time_to_first_token.value_s,
        time_to_first_token_low_s=pace.time_to_first_token.low_s,
        time_to_first_token_high_s=pace.time_to_first_token.high_s,
        max_users=memory.max_users,
        output_per_million=paid.output_per_million,
        output_per_million_low=paid.output_per_million_low,
        output_per_million_high=paid.output_per_million_high,
        joules_per_output_token=None if paid.energy is None else paid.energy.joules_per_output_token,
        joules_low=None if paid.energy is None else paid.energy.low_joules,
        joules_high=None if paid.energy is None else paid.energy.high_joules,
    )
