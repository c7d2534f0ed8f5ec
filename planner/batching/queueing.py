"""Waiting by formula, where the server is simple enough: to check the simulator, and to say when it is not needed."""

from dataclasses import dataclass

from planner.batching.outcome import Outcome
from planner.errors import PlannerError


def erlang_c(servers: int, load: float) -> float:
    """The chance that a request has to wait: Poisson arrivals, *load* busy servers on average (arrival rate · time).

    By the stable recursion of Erlang B: B(n) = a·B(n−1) / (n + a·B(n−1)), C = B / (1 − ρ·(1 − B)).
    >>> erlang_c(1, 0.5), round(erlang_c(2, 1.0), 4)
    (0.5, 0.3333)
    """
    if servers < 1 or not 0 <= load < servers:
        raise PlannerError(f"A load of {load:g} needs more than {servers:,} servers: waiting grows without end.")
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Waiting in an M/G/c queue: *share* of requests that wait at all, the mean over all of them, and the load ρ."""

    share: float
    mean_s: float
    utilisation: float


def waiting(requests_per_s: float, service_s: float, variation: float, servers: int) -> Waiting:
    """M/G/c by the Lee-Longton approximation: the M/M/c wait times (1 + cv²) / 2, *variation* being cv.

    It holds where the service time does not depend on the load: slots whose steps take the same time however many are
    busy. Then it is good to a fifth. Source: Lee and Longton, 1959; Allen, Probability, Statistics and Queueing Theory.
    """
    load = requests_per_s * service_s
    share = erlang_c(servers, load)
    mean_s = share * service_s / (servers - load) * (1 + variation**2) / 2
    return Waiting(share=share, mean_s=mean_s, utilisation=load / servers)


def waiting_by_formula(outcome: Outcome, slots: int, requests_per_s: float) -> Waiting | None:
    """What M/G/c says of *outcome*'s slots, from how long requests held one there; ``None`` where the load is too much.

    Simulated service times already depend on how busy the slots were: where steps do not, the two agree.
    """
    if requests_per_s * outcome.service_s >= slots:
        return None
    return waiting(requests_per_s, outcome.service_s, outcome.service_variation, slots)
