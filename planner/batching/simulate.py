"""Requests through a server: the one call for every schedule."""

from dataclasses import replace

from planner.batching.continuous import ContinuousServer
from planner.batching.outcome import Outcome, Timings, summarise
from planner.batching.run import Run
from planner.batching.server import Schedule
from planner.batching.static import run_static
from planner.batching.trace import longest_tokens

RANGE_LIMIT = 50_000
"""Requests up to which the ends of a range are run as well."""


def simulate(run: Run) -> Outcome:
    """Every request's way through the server. The same input gives the same outcome to the tick.

    Raises PlannerError where a request can never fit.
    """
    run.check()
    outputs, slots = run.trace.output_tokens, run.server.slots
    if run.server.schedule is Schedule.STATIC:
        return summarise(run_static(run), outputs, slots, pool=None)
    server = ContinuousServer(run)
    timings = server.run()
    reserved_tokens = run.server.reserved_tokens or longest_tokens(run.trace)
    return summarise(timings, outputs, slots, server.pool.use(reserved_tokens))


def simulate_ends(run: Run, error: float) -> tuple[Outcome, Outcome] | None:
    """The same with the fast and the slow end of steps that may be off by *error* to both sides, a share of 1.

    ``None`` where there is no range, and for more than RANGE_LIMIT requests, which would take their time.
    """
    if not error or len(run.trace) > RANGE_LIMIT:
        return None
    fast, slow = (
        simulate(replace(run, step_time=run.step_time.scaled(factor), bar_requests=0, progress=None))
        for factor in (1 / (1 + error), 1 + error)
    )
    return fast, slow


def timings_of(run: Run) -> Timings:
    """When each request begins and ends, without a summary."""
    return run_static(run) if run.server.schedule is Schedule.STATIC else ContinuousServer(run).run()
