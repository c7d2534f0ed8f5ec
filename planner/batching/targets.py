"""How many requests a second a server takes before 95 of 100 no longer answer in time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from planner.batching.outcome import Outcome
from planner.batching.run import Run
from planner.batching.server import Server
from planner.batching.simulate import simulate, timings_of
from planner.batching.step_time import TICKS_PER_S, StepTime
from planner.batching.trace import Trace, beginning, check_rate, repeated
from planner.errors import PlannerError
from planner.units import counted

FIRST_TOKEN, PACE, THROUGHPUT = "time to first token", "time per token", "throughput"
"""What a rate ends at."""
_OCTAVES = tuple(2.0**-power for power in (10, 7, 5, 4, 3, 2, 1, 0))
_PARTS = 8
_ROUNDS = 2
ENOUGH = 400
"""Requests from which twenty and more lie beyond the 95th percentile."""
HARDLY = 64
"""Requests hardly ever meet that come at less than one part in so many of the rate of a full server."""
FEWEST_ARRIVALS = 10
"""From fewer no rate is told: that of ten is known to a third."""
MANY = 4
"""So many times the slots are enough requests for a server to be full for a while."""
SAMPLE = 2_000
"""So many requests say what a server takes of more of their kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """95 of 100 requests have their first token within *first_token_s*, and then a token every *token_s* or faster.

    The pace is a request's own average. ``None``: not asked.
    """

    first_token_s: float | None = None
    token_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("first token", self.first_token_s), ("time per token", self.token_s)):
            if value is not None and not 0 < value < float("inf"):
                raise PlannerError(f"A target of {value:g} s for the {name} is not possible: it must be above 0.")

    def missed(self, outcome: Outcome) -> str | None:
        """Which of the two *outcome* misses, if any."""
        pace = outcome.time_per_output_token
        return self.missed_by(outcome.time_to_first_token.p95_s, 0.0 if pace is None else pace.p95_s)

    def missed_by(self, first_token_s: float, token_s: float) -> str | None:
        """The same from the two percentiles."""
        if self.first_token_s is not None and first_token_s > self.first_token_s:
            return FIRST_TOKEN
        return PACE if self.token_s is not None and token_s > self.token_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sustained:
    """The largest rate at which the target is met, to one part in 64, and what ends it.

    *saturated_per_s* is what the server does when everybody is there at once: no rate above it lasts. *outcome* is that
    at *rate_per_s*; ``None`` with a rate of 0, where even requests that come one by one miss the target.
    """

    rate_per_s: float
    saturated_per_s: float
    limit: str
    outcome: Outcome | None

    @property
    def is_hardly_any(self) -> bool:
        """Whether the target is met only while requests hardly ever meet each other."""
        return HARDLY * self.rate_per_s < self.saturated_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Requests a second that come, whatever the server does, and the most that it takes of them."""

    coming_per_s: float
    most_per_s: float

    @property
    def is_too_much(self) -> bool:
        """Whether the queue grows for as long as requests come."""
        return self.coming_per_s > self.most_per_s


def enough_requests(slots: int) -> int:
    """So many requests fill *slots* for a while, and have a 95th percentile."""
    return max(ENOUGH, MANY * slots)


def few_requests(requests: int, slots: int = 0) -> tuple[str, ...]:
    """That percentiles of so few *requests* rest on a handful of them, or *slots* are hardly full; nothing of many."""
    enough = enough_requests(slots)
    if requests >= enough:
        return ()
    why = []
    if requests < ENOUGH:
        slowest = requests - ceil(0.95 * requests) + 1
        rests = "is the slowest one's" if slowest == 1 else f"rests on the {slowest:,} slowest alone"
        why.append(f"the 95th percentile {rests}")
    if requests < MANY * slots:
        why.append(f"a server with {counted(slots, 'slot')} is hardly ever full")
    return (f"Of {counted(requests, 'request')} {' and '.join(why)}: give {enough:,} or more for a figure to rely on.",)


def at_rate(trace: Trace, requests_per_s: float) -> Trace:
    """The same requests in the same rhythm, so much slower or faster that they come at *requests_per_s* on average."""
    check_rate(requests_per_s)
    end = trace.arrivals_s[-1]
    if end <= 0:
        raise PlannerError("Requests that all come at once have no rate: give a trace or a distribution with arrivals.")
    factor = len(trace) / end / requests_per_s
    return replace(trace, arrivals_s=tuple(arrival * factor for arrival in trace.arrivals_s))


def sustained(trace: Trace, server: Server, step_time: StepTime, target: Target) -> Sustained:
    """The largest rate of *trace* that *server* takes within *target*."""
    saturated_per_s = saturated(trace, server, step_time)
    outcomes: dict[float, Outcome] = {}

    def missed(rate: float) -> str | None:
        outcomes[rate] = simulate(Run(trace=at_rate(trace, rate), server=server, step_time=step_time))
        return target.missed(outcomes[rate])

    rate, limit = largest_rate(missed, saturated_per_s)
    return Sustained(rate_per_s=rate, saturated_per_s=saturated_per_s, limit=limit, outcome=outcomes.get(rate))


def saturated(trace: Trace, server: Server, step_time: StepTime) -> float:
    """Requests a second of *server* when all of *trace* are there at once: more than that it never takes."""
    together = replace(trace, arrivals_s=(0.0,) * len(trace))
    return full_rate(timings_of(Run(trace=together, server=server, step_time=step_time)).finishes, server.slots)


def most_taken(trace: Trace, server: Server, step_time: StepTime) -> float:
    """Requests a second that *server* takes at most of such as *trace* has: of a sample, which fills its slots."""
    enough = MANY * server.slots
    return saturated(beginning(repeated(trace, enough), max(SAMPLE, enough)), server, step_time)


def mean_rate(trace: Trace) -> float | None:
    """Requests a second at which *trace* comes; ``None`` where all are there at once, or too few to tell a rate."""
    span_s = trace.arrivals_s[-1] - trace.arrivals_s[0]
    return (len(trace) - 1) / span_s if span_s > 0 and len(trace) >= FEWEST_ARRIVALS else None


def full_rate(finishes: Sequence[int], slots: int) -> float:
    """Requests a second of a server that is full, from when each is done if all are there at the start.

    Of many requests the middle half counts: the last ones leave slots empty.
    """
    ordered = sorted(finishes)
    count = len(ordered)
    whole = count * TICKS_PER_S / ordered[-1]
    if count < MANY * slots:
        return whole
    first, last = ordered[count // 4], ordered[3 * count // 4]
    return max(whole, (3 * count // 4 - count // 4) * TICKS_PER_S / (last - first)) if last > first else whole


def largest_rate(missed: Callable[[float], str | None], saturated_per_s: float) -> tuple[float, str]:
    """The last rate before the first that misses something, and what that misses; *saturated_per_s* at most.

    Rates rise by octaves, then evenly between the last two, twice. A simulated percentile can fall again with the rate;
    because the first miss decides, a stricter *missed* never finds a larger rate.
    """
    rate, above, limit = 0.0, 0.0, ""
    for share in _OCTAVES:
        above = share * saturated_per_s
        limit = missed(above) or ""
        if limit:
            break
        rate = above
    if not limit:
        return rate, THROUGHPUT
    if rate == 0:
        return rate, limit
    for _ in range(_ROUNDS):
        start, step = rate, (above - rate) / _PARTS
        for part in range(1, _PARTS):
            found = missed(start + part * step)
            if found:
                above, limit = start + part * step, found
                break
            rate = start + part * step
    return rate, limit
