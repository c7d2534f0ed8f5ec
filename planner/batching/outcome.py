"""When each request started, answered first and ended, and what that adds up to."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil, fsum, sqrt
from typing import TypeVar

from planner.batching.step_time import TICKS_PER_S
from planner.batching.tiers import TierUse
from planner.paging import PoolUse

Number = TypeVar("Number", int, float)


@dataclass(slots=True, kw_only=True)
class Timings:
    """Ticks of each request, in the order of the trace. *busy* are ticks during which a request held a slot, summed.

    *waits_for_pool*: somebody waited beside a free slot, for blocks.
    """

    arrivals: list[int]
    starts: list[int]
    first_tokens: list[int]
    finishes: list[int]
    busy: int = 0
    steps: int = 0
    preemptions: int = 0
    waits_for_pool: bool = False
    tiers: list[TierUse] = field(default_factory=list)
    bars: "list[Bar]" = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One stretch of a slot's picture: *phase* is ``prefill``, ``decode`` or ``waiting`` (for the batch to end)."""

    request: int
    slot: int
    phase: str
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """From *from_s* on so many requests have come and *waiting* for their first slot, until the next of these."""

    from_s: float
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Seconds of one quantity over all requests; percentiles by nearest rank."""

    mean_s: float
    p50_s: float
    p90_s: float
    p95_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a schedule made of a trace. Times count from the first arrival; latency and TTFT from a request's own.

    *time_per_output_token* is that of the tokens after the first, over requests with more than one.
    *slot_wait_s*: from arrival until a slot is taken, *service_s* from then to the answer, both means;
    *service_variation*: standard deviation ÷ mean of the latter. *mean_in_system* is Little's N: requests inside,
    averaged over time, and that is requests_per_s · latency. *waits_for_pool*: somebody waited beside a free slot, for
    blocks. *preemptions* that no tier took were computed again. *queue*: who waits, while the *bars* show who does not.
    """

    requests: int
    output_tokens: int
    makespan_s: float
    requests_per_s: float
    output_tokens_per_s: float
    latency: Spread
    time_to_first_token: Spread
    time_per_output_token: Spread | None
    slot_wait_s: float
    service_s: float
    service_variation: float
    mean_in_system: float
    slot_use: float
    steps: int
    waits_for_pool: bool
    preemptions: int
    tiers: tuple[TierUse, ...]
    pool: PoolUse | None
    bars: tuple[Bar, ...]
    queue: tuple[Queue, ...]


def summarise(timings: Timings, output_tokens: tuple[int, ...], slots: int, pool: PoolUse | None) -> Outcome:
    """Throughput, spreads and shares."""
    arrivals, finishes = timings.arrivals, timings.finishes
    begin, end = min(arrivals), max(finishes)
    makespan_s = (end - begin) / TICKS_PER_S
    latencies = [finish - arrival for arrival, finish in zip(arrivals, finishes, strict=True)]
    first_waits = [first - arrival for arrival, first in zip(arrivals, timings.first_tokens, strict=True)]
    paces = [
        (finish - first) // (tokens - 1)
        for first, finish, tokens in zip(timings.first_tokens, finishes, output_tokens, strict=True)
        if tokens > 1
    ]
    total = sum(output_tokens)
    waits = [start - arrival for arrival, start in zip(arrivals, timings.starts, strict=True)]
    services = [(finish - start) / TICKS_PER_S for start, finish in zip(timings.starts, finishes, strict=True)]
    return Outcome(
        requests=len(arrivals),
        output_tokens=total,
        makespan_s=makespan_s,
        requests_per_s=len(arrivals) / makespan_s,
        output_tokens_per_s=total / makespan_s,
        latency=spread(latencies),
        time_to_first_token=spread(first_waits),
        time_per_output_token=spread(paces) if paces else None,
        slot_wait_s=sum(waits) / len(waits) / TICKS_PER_S,
        service_s=fsum(services) / len(services),
        service_variation=variation(services),
        mean_in_system=sum(latencies) / (end - begin),
        slot_use=timings.busy / ((end - begin) * slots),
        steps=timings.steps,
        waits_for_pool=timings.waits_for_pool,
        preemptions=timings.preemptions,
        tiers=tuple(timings.tiers),
        pool=pool,
        bars=tuple(timings.bars),
        queue=_queue(timings),
    )


def _queue(timings: Timings) -> tuple[Queue, ...]:
    """How many wait, for as long as the bars show who does not."""
    if not timings.bars:
        return ()
    end = round(max(bar.end_s for bar in timings.bars) * TICKS_PER_S)
    changes = Counter[int]()
    for arrival, start in zip(timings.arrivals, timings.starts, strict=True):
        if arrival > end:
            break
        changes[arrival] += 1
        changes[start] -= 1
    moments = sorted(moment for moment, change in changes.items() if change and moment <= end)
    waiting = accumulate(changes[moment] for moment in moments)
    return tuple(
        Queue(from_s=moment / TICKS_PER_S, waiting=count) for moment, count in zip(moments, waiting, strict=True)
    )


def variation(values: Sequence[float]) -> float:
    """The standard deviation of *values* ÷ their mean, which is above 0.

    >>> variation([2.0, 2.0]), variation([1.0, 3.0])
    (0.0, 0.5)
    """
    mean = fsum(values) / len(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / len(values)) / mean


def work_share(outcome: Outcome, slots: int) -> float:
    """Tokens made ÷ the places for them in all steps: how much of the time that slots were held was work."""
    return outcome.output_tokens / (outcome.steps * slots)


def spread(ticks: Iterable[int]) -> Spread:
    """Mean, percentiles and maximum of *ticks*, at least one."""
    ordered = sorted(ticks)
    return Spread(
        mean_s=sum(ordered) / len(ordered) / TICKS_PER_S,
        p50_s=percentile(ordered, 0.50) / TICKS_PER_S,
        p90_s=percentile(ordered, 0.90) / TICKS_PER_S,
        p95_s=percentile(ordered, 0.95) / TICKS_PER_S,
        p99_s=percentile(ordered, 0.99) / TICKS_PER_S,
        max_s=ordered[-1] / TICKS_PER_S,
    )


def percentile(ordered: Sequence[Number], share: float) -> Number:
    """The least of *ordered* that at least *share* of them do not exceed (nearest rank).

    >>> percentile([10, 20, 30, 40], 0.5), percentile([10, 20, 30, 40], 0.95)
    (20, 40)
    """
    return ordered[max(0, ceil(share * len(ordered)) - 1)]
