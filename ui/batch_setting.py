"""What the page Batching runs: the requests, the server under its schedules, and how long its steps take."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from planner.answers.answer import Answer
from planner.batching.outcome import Outcome
from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.simulate import RANGE_LIMIT
from planner.batching.step_time import StepTime, affine_step_time
from planner.batching.targets import SAMPLE, mean_rate
from planner.batching.trace import Trace
from planner.inputs.choices import Choices
from planner.serving.served import Served, mean_tokens, served
from planner.serving.shape import ShapeWish
from planner.text.batching import NAMES
from planner.units import counted
from ui import own_config
from ui.fields.server import ServerWish
from ui.one_server import ServerPlan
from ui.pace import Pace, PaceWish, ready
from ui.page import NoAnswer
from ui.requests import AT_RANDOM, DRAWN, FILE, OF_BATCHES, Wish, drawn_trace, file_trace
from ui.runs import run, saturated_rate

BUSY = 0.8
"""How busy a server is drawn that is not told otherwise."""
DRAWN_REQUESTS, DRAWN_PER_SLOT = 96, 12
"""As many are drawn as can be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """*error*: how far the steps' times may be off, 0 where they are given. *rate*: of requests that come at random.

    *own*: how the server itself refills its slots, with whole prompts or in chunks; *shape* says the same to a search
    over cards. *pace*: whose steps they are; ``None`` where all take the same. *notes*: what the engine would do unless
    told.
    """

    wish: Wish
    trace: Trace
    servers: Mapping[Schedule, Server]
    own: Schedule
    shape: ShapeWish
    step_time: StepTime
    error: float
    rate: float | None
    pace: Pace | None = None
    notes: tuple[str, ...] = ()

    @property
    def begin_s(self) -> float:
        """When the first request comes; times on the page count from there."""
        return self.trace.arrivals_s[0]

    @property
    def server(self) -> Server:
        return self.servers[self.own]

    @property
    def slots(self) -> int:
        return self.server.slots

    @property
    def drawn_requests(self) -> int:
        """The first so many are shown slot by slot."""
        return min(DRAWN_REQUESTS, DRAWN_PER_SLOT * self.slots)

    @property
    def coming(self) -> float | None:
        """Requests a second that come whatever the server does; ``None`` where they wait for it or all are there."""
        if self.wish.is_closed:
            return None
        return mean_rate(self.trace) if self.rate is None else self.rate

    @property
    def why_so_many(self) -> str:
        """Where the rate comes from that nobody gave."""
        is_usual = self.wish.kind == DRAWN and self.wish.arrival == AT_RANDOM and self.wish.rate is None
        return OF_BATCHES if is_usual else ""

    def limits(self) -> dict[Schedule, float]:
        """The most requests a second that each schedule takes, by a sample of them."""
        return {
            schedule: saturated_rate(self.trace, server, self.step_time) for schedule, server in self.servers.items()
        }

    def most_range(self, limits: Mapping[Schedule, float]) -> tuple[float, float]:
        """The slow and the fast end of what refilled slots take: a rate follows the time of a step."""
        most = limits[self.own]
        return most / (1 + self.error), most * (1 + self.error)

    @property
    def closed_loop_users(self) -> int | None:
        """As many users as slots, where each asks again."""
        return self.slots if self.wish.is_closed else None

    def outcomes(self) -> dict[Schedule, Outcome]:
        """What each schedule makes of the same requests."""
        return {
            schedule: run(
                self._asked(server, self.step_time, min(self.drawn_requests, len(self.trace))), NAMES[schedule]
            )
            for schedule, server in self.servers.items()
        }

    def range(self) -> tuple[Outcome, Outcome] | None:
        """Slots refilled at once with steps of the fast and the slow end; ``None`` where there is no range."""
        if not self.error or len(self.trace) > RANGE_LIMIT:
            return None
        fast, slow = (
            run(self._asked(self.server, self.step_time.scaled(factor)), "The range")
            for factor in (1 / (1 + self.error), 1 + self.error)
        )
        return fast, slow

    def _asked(self, server: Server, step_time: StepTime, bar_requests: int = 0) -> Run:
        return Run(
            trace=self.trace,
            server=server,
            step_time=step_time,
            closed_loop_users=self.closed_loop_users,
            bar_requests=bar_requests,
        )


def setting(plan: ServerPlan, wish: Wish, server: ServerWish, pace_wish: PaceWish | None) -> Setting:
    """Everything that is asked; without a *pace_wish* every step takes the same.

    A rate that nobody gave is a share of what the server takes.

    Raises NoAnswer where the plan has no speed or no room, PlannerError for requests that can never fit.
    """
    if pace_wish is None:
        return Setting(
            wish=wish,
            trace=drawn_trace(wish, wish.rate),
            servers=server.servers(None, 0.0, chunks=False),
            own=Schedule.CONTINUOUS,
            shape=server.shape,
            step_time=affine_step_time(slots=server.slots, fixed_s=1.0),
            error=0.0,
            rate=wish.rate,
        )
    assert plan.answer is not None
    wish = replace(wish, prefix=server.prefix_tokens)
    pace = ready(plan, pace_wish)
    rate = wish.rate
    if wish.kind != FILE and wish.arrival == AT_RANDOM and rate is None:
        rate = _usual_rate(plan, wish, server, pace)
    trace = file_trace(wish) if wish.kind == FILE else drawn_trace(wish, rate)
    replica = _replica(plan.choices, plan.answer, trace, server, pace)
    servers = server.servers(replica.pool_blocks, plan.answer.kv_bytes_per_token, chunks=True)
    servers[server.own].check(trace)
    return Setting(
        wish=wish,
        trace=trace,
        servers=servers,
        own=server.own,
        shape=server.shape,
        step_time=replica.step_time,
        error=replica.constants.widest_error,
        rate=rate,
        pace=pace,
        notes=(*replica.shape.notes, *_too_short_steps(server), *_beyond_memory(plan.answer, server.slots)),
    )


def _too_short_steps(server: ServerWish) -> Iterator[str]:
    """That a step which was asked for has no room for a token of each slot."""
    if server.typed_chunk and server.own is Schedule.CONTINUOUS:
        yield (
            f"A step of {counted(server.chunk_tokens, 'token')} has no room for one of each of the {server.slots:,} "
            "slots: prompts are read whole here."
        )


def _beyond_memory(answer: Answer, slots: int) -> Iterator[str]:
    """That not every slot can hold a request as long as the set-up's."""
    if answer.max_users is not None and answer.max_users < slots:
        yield (
            f"Memory holds {counted(answer.max_users, 'user')} with {answer.context_tokens:,} tokens each, and there "
            f"are {slots:,} slots: where long requests meet, some wait for room or give way."
        )


def _usual_rate(plan: ServerPlan, wish: Wish, server: ServerWish, pace: Pace) -> float:
    """A share of what whole batches take, to two digits: what every schedule can serve."""
    assert plan.answer is not None
    sample = drawn_trace(replace(wish, requests=min(wish.requests, SAMPLE)), None)
    replica = _replica(plan.choices, plan.answer, sample, server, pace)
    whole = server.servers(replica.pool_blocks, 0.0, chunks=False)[Schedule.STATIC]
    whole.check(sample)
    return float(f"{BUSY * saturated_rate(sample, whole, replica.step_time):.2g}")


def _replica(choices: Choices, answer: Answer, trace: Trace, server: ServerWish, pace: Pace) -> Served:
    asked = replace(choices, context=mean_tokens(trace), users=1)
    architecture, wish = own_config.architecture(), pace.wish
    found = served(asked, server.shape, wish.engine, architecture, wish.measured)
    if found.pool_blocks == 0:
        raise NoAnswer(
            f"{answer.model} leaves no room for caches on {answer.device}: see Plan for what would make room."
        )
    return found
