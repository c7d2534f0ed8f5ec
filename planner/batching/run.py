"""What is asked of a simulation: the requests, the server, the time of its steps, and how the requests come."""

from collections.abc import Callable
from dataclasses import dataclass

from planner.batching.server import Server
from planner.batching.step_time import TICKS_PER_S, StepTime
from planner.batching.trace import Trace
from planner.errors import PlannerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The requests of *trace* on *server*, whose steps take *step_time*.

    *closed_loop_users* ask one request after another, the next when they have the answer; arrivals of the trace are
    then left out. The first *bar_requests* requests are drawn. *progress* is told how many are done.
    """

    trace: Trace
    server: Server
    step_time: StepTime
    closed_loop_users: int | None = None
    bar_requests: int = 0
    progress: Callable[[int], None] | None = None

    def check(self) -> None:
        """Raises PlannerError where a request can never fit, or the time of a full step is not known."""
        self.server.check(self.trace)
        known, slots = self.step_time.slots, self.server.slots
        if known < slots:
            raise PlannerError(f"The step time is known for {known:,} slots; the server has {slots:,}.")
        if self.closed_loop_users is not None and self.closed_loop_users < 1:
            raise PlannerError("A closed loop needs at least one user.")

    def arrivals(self) -> list[int]:
        """Ticks at which requests come, as far as known at the start: in a closed loop, the first of each user."""
        if self.closed_loop_users is None:
            return [round(arrival * TICKS_PER_S) for arrival in self.trace.arrivals_s]
        return [0] * min(len(self.trace), self.closed_loop_users)
