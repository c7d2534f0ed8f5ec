"""A trace through a server: the one call for every schedule."""

from collections.abc import Callable

from planner.batching.continuous import ContinuousServer
from planner.batching.outcome import Outcome, Timings, summarise
from planner.batching.server import Schedule, Server
from planner.batching.static import run_static
from planner.batching.step_time import StepTime
from planner.batching.trace import Trace, longest_tokens
from planner.errors import PlannerError

RANGE_LIMIT = 50_000
"""Requests up to which the ends of a range are run as well."""


def simulate(
    trace: Trace,
    server: Server,
    step_time: StepTime,
    *,
    closed_loop_users: int | None = None,
    bar_requests: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    """Every request's way through *server*, whose steps take *step_time*.

    *closed_loop_users* ask one request after another, the next when they have the answer; arrivals of the trace are
    then left out. The first *bar_requests* requests are drawn. *progress* is told how many are done. The same input
    gives the same outcome to the tick. Raises PlannerError where a request can never fit.
    """
    server.check(trace)
    if step_time.slots < server.slots:
        raise PlannerError(f"The step time is known for {step_time.slots:,} slots; the server has {server.slots:,}.")
    if closed_loop_users is not None and closed_loop_users < 1:
        raise PlannerError("A closed loop needs at least one user.")
    if server.schedule is Schedule.STATIC:
        timings = run_static(trace, server, step_time, closed_loop_users, bar_requests, progress)
        return summarise(timings, trace.output_tokens, server.slots, pool=None)
    run = ContinuousServer(trace, server, step_time, closed_loop_users, bar_requests, progress)
    timings = run.run()
    reserved_tokens = server.reserved_tokens or longest_tokens(trace)
    return summarise(timings, trace.output_tokens, server.slots, run.pool.use(reserved_tokens))


def simulate_ends(
    trace: Trace, server: Server, step_time: StepTime, error: float, closed_loop_users: int | None = None
) -> tuple[Outcome, Outcome] | None:
    """The same with the fast and the slow end of steps that may be off by *error* to both sides, a share of 1.

    ``None`` where there is no range, and for more than RANGE_LIMIT requests, which would take their time.
    """
    if not error or len(trace) > RANGE_LIMIT:
        return None
    fast, slow = (
        simulate(trace, server, step_time.scaled(factor), closed_loop_users=closed_loop_users)
        for factor in (1 / (1 + error), 1 + error)
    )
    return fast, slow


def timings_of(trace: Trace, server: Server, step_time: StepTime) -> Timings:
    """When each request begins and ends, without a summary."""
    if server.schedule is Schedule.STATIC:
        return run_static(trace, server, step_time)
    return ContinuousServer(trace, server, step_time).run()
