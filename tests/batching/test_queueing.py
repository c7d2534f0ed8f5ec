"""The formula for queues is given where it holds, and elsewhere what makes the server another queue."""

import pytest

from planner.batching.queueing import Waiting, WhyNoFormula, waiting_by_formula
from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.simulate import simulate
from planner.batching.step_time import affine_step_time
from planner.batching.targets import few_requests
from planner.batching.trace import Lengths, synthetic_trace

STEP_S = 0.02
SAME = affine_step_time(slots=8, fixed_s=STEP_S)
SLOTS = Server(schedule=Schedule.CONTINUOUS, slots=8)
LENGTHS = Lengths(median_tokens=1), Lengths(median_tokens=100, sigma=0.6, max_tokens=1_000)


def formula(
    server: Server = SLOTS, rate: float = 2.5, slope: float = 0.0, at_random: bool = True, requests: int = 1_000
) -> Waiting | WhyNoFormula:
    steps = affine_step_time(slots=8, fixed_s=STEP_S, per_sequence_s=slope)
    trace = synthetic_trace(requests, *LENGTHS, rate)
    return waiting_by_formula(
        simulate(Run(trace=trace, server=server, step_time=steps)), server, steps, rate, at_random
    )


def test_equal_steps_and_random_arrivals_are_such_a_queue() -> None:
    assert isinstance(formula(), Waiting)
    assert isinstance(formula(slope=STEP_S / 100), Waiting)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"server": Server(schedule=Schedule.STATIC, slots=8)}, WhyNoFormula.BATCHES),
        ({"at_random": False}, WhyNoFormula.RHYTHM),
        ({"server": Server(schedule=Schedule.CONTINUOUS, slots=8, pool_blocks=64)}, WhyNoFormula.POOL),
        ({"slope": STEP_S / 10}, WhyNoFormula.STEPS),
        ({"rate": 40.0}, WhyNoFormula.TOO_MANY),
        ({"requests": 100}, WhyNoFormula.FEW),
    ],
)
def test_another_queue_is_named_as_such(changes: dict[str, object], why: WhyNoFormula) -> None:
    assert formula(**changes) is why  # type: ignore[arg-type]


def test_every_reason_is_tried_here() -> None:
    marks = test_another_queue_is_named_as_such.pytestmark  # type: ignore[attr-defined]
    assert {why for _, why in marks[0].args[1]} == set(WhyNoFormula)


@pytest.mark.parametrize(
    ("requests", "slots", "words"),
    [
        (40, 4, ("Of 40 requests the 95th percentile rests on the 3 slowest alone: give 400 or more",)),
        (1, 1, ("Of 1 request the 95th percentile is the slowest one's and a server with 1 slot is hardly",)),
        (500, 256, ("Of 500 requests a server with 256 slots is hardly ever full: give 1,024 or more",)),
        (400, 100, ()),
        (1_024, 256, ()),
    ],
)
def test_figures_of_few_requests_are_said_to_be_such(requests: int, slots: int, words: tuple[str, ...]) -> None:
    found = few_requests(requests, slots)
    assert len(found) == len(words)
    assert all(said.startswith(begin) for said, begin in zip(found, words, strict=True))


def test_a_seed_gives_the_same_requests_at_every_rate() -> None:
    """Arrivals in the same rhythm, so much faster; with all at the start the lengths are the same too."""
    slow, fast, together = (
        synthetic_trace(200, *LENGTHS, rate, seed=3, shared_prefix_tokens=8) for rate in (1.0, 4.0, None)
    )
    assert slow.output_tokens == fast.output_tokens == together.output_tokens
    assert slow.prompt_tokens == fast.prompt_tokens == together.prompt_tokens
    assert [4 * arrival for arrival in fast.arrivals_s] == pytest.approx(slow.arrivals_s)
