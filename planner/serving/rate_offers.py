"""The cheapest cards for requests that come as they please: as many as keep 95 of 100 within the latency."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from statistics import mean

from planner.architecture import Architecture
from planner.batching.targets import Sustained
from planner.batching.trace import check_rate
from planner.capacity import all_that_go
from planner.cost import MILLION, SECONDS_PER_HOUR
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.inputs.model_files import load_model
from planner.records import dataclass
from planner.serving.question import MAX_DEVICES, ServingQuestion, replicas_for
from planner.serving.served import Served
from planner.serving.ways import fitting_replica, full_replica_rate, replica_rate

PARALLEL = (1, 2, 4, 8)
"""How many cards of a replica are tried: each costs a search of its own, and others split few models evenly."""


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


def find_rate_offers(
    choices: Choices,
    prices: Mapping[str, float],
    question: ServingQuestion,
    rate_per_s: float,
    speed_engine: str,
    spare_replicas: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[RateOffer]:
    """As many cards of each kind as take *rate_per_s* within the target of *question*, the cheapest hour first,
    of equal ones the fewest cards.

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
        on_device = replace(choices.without_cards(), device=device)
        cheapest = _cheapest(on_device, architecture, price, question, rate_per_s, speed_engine, spare_replicas)
        if cheapest is not None:
            found.append(_rate_offer(device, cheapest, question, rate_per_s, spare_replicas))
    return sorted(found, key=lambda offer: (offer.price_per_hour, offer.device_count, offer.token_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replica:
    """One replica, its *price* an hour, the *most* that it takes, and how many of it the asked rate needs."""

    price: float
    replicas: int
    served: Served
    most: Sustained

    def rank(self, spare_replicas: int) -> tuple[float, int, float]:
        """The cheapest hour comes first, of equal ones the fewest cards, then the fastest."""
        count = self.replicas + spare_replicas
        return count * self.price, count * self.served.model.deployment.tensor_parallel, self.token_s

    @property
    def token_s(self) -> float:
        pace = None if self.most.outcome is None else self.most.outcome.time_per_output_token
        return 0.0 if pace is None else pace.p95_s


def _cheapest(
    choices: Choices,
    architecture: Architecture,
    price: float,
    question: ServingQuestion,
    rate_per_s: float,
    engine: str,
    spare_replicas: int,
) -> _Replica | None:
    """Of replicas of PARALLEL cards of *choices*, *price* an hour each, the one that comes first by its rank."""
    best: _Replica | None = None

    def attempt(parallel: int) -> None:
        nonlocal best
        replica = fitting_replica(replace(choices, tensor_parallel=parallel), question, engine, architecture)
        if replica is None:
            return
        hour = price * parallel
        if best is not None:
            fewest = replicas_for(rate_per_s, full_replica_rate(replica, question)) + spare_replicas
            if fewest * hour > best.rank(spare_replicas)[0]:
                return  # full servers would be dearer already, and within the target none takes more
        found = _tried(replica, hour, question, rate_per_s)
        if found is not None and (best is None or found.rank(spare_replicas) < best.rank(spare_replicas)):
            best = found

    all_that_go(partial(attempt, parallel) for parallel in PARALLEL)
    return best


def _tried(replica: Served, price: float, question: ServingQuestion, rate_per_s: float) -> _Replica | None:
    """How many of *replica* the rate takes; ``None`` where even one request alone misses the target.

    Also where it hardly takes more than one request, and at the slow end of the range not even that.
    """
    most = replica_rate(replica, question)
    if most.outcome is None:
        return None
    slower = 1 + replica.constants.widest_error
    if most.is_hardly_any and replica_rate(replica, question, slower).rate_per_s == 0:
        return None
    return _Replica(price=price, replicas=replicas_for(rate_per_s, most.rate_per_s), served=replica, most=most)


def _rate_offer(
    device: str, found: _Replica, question: ServingQuestion, rate_per_s: float, spare_replicas: int
) -> RateOffer:
    """As many replicas as the rate needs and *spare_replicas* more; at the ends of the range too."""
    assert found.most.outcome is not None
    error = found.served.constants.widest_error
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
        notes=found.served.notes,
    )
