"""Waiting by formula, where the server is simple enough: to check the simulator, and to say when it is not needed."""

from dataclasses import dataclass
from enum import StrEnum

from planner.batching.outcome import Outcome
from planner.batching.server import Schedule, Server
from planner.batching.step_time import StepTime
from planner.errors import PlannerError

ENOUGH_WAIT = 100
"""So many of the requests must have to wait for their mean to be compared."""
SAME_STEP = 1.1
"""A full step of at most so many times that of one request alone is the same: the formula then holds to a quarter."""


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


class WhyNoFormula(StrEnum):
    """What makes a server another queue than M/G/c, in words."""

    BATCHES = "a whole batch starts and ends together, so that no slot is free by itself"
    RHYTHM = "requests come in a rhythm of their own, not at random"
    POOL = "the pool, not the slots, decides who waits"
    STEPS = "a step takes longer the more requests are in it, so that a slot is held longer the busier the server is"
    FEW = "so few of these requests have to wait that their mean is chance"
    TOO_MANY = "more come than the slots can take, so that the wait grows without end"


def waiting_by_formula(
    outcome: Outcome, server: Server, step_time: StepTime, requests_per_s: float, at_random: bool = True
) -> Waiting | WhyNoFormula:
    """What M/G/c says of *outcome*'s slots, from how long requests held one there; else why it does not hold.

    Requests come *at_random*, as a Poisson process, or in a rhythm of their own.
    """
    alone, full = step_time.by_sequences[1], step_time.by_sequences[server.slots]
    reasons = (
        (server.schedule is Schedule.STATIC, WhyNoFormula.BATCHES),
        (not at_random, WhyNoFormula.RHYTHM),
        (outcome.waits_for_pool or outcome.preemptions > 0, WhyNoFormula.POOL),
        (full > SAME_STEP * alone, WhyNoFormula.STEPS),
        (requests_per_s * outcome.service_s >= server.slots, WhyNoFormula.TOO_MANY),
    )
    for holds, why in reasons:
        if holds:
            return why
    found = waiting(requests_per_s, outcome.service_s, outcome.service_variation, server.slots)
    return found if found.share * outcome.requests >= ENOUGH_WAIT else WhyNoFormula.FEW
