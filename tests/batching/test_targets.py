"""The largest rate within a target: laws, and queues that are known by formula."""

from dataclasses import replace
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.batching.disaggregated import Stage, best_split, decode_stage, prefill_stage
from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.simulate import simulate
from planner.batching.step_time import StepTime, affine_step_time
from planner.batching.targets import (
    FIRST_TOKEN,
    PACE,
    THROUGHPUT,
    Target,
    at_rate,
    full_rate,
    largest_rate,
    mean_rate,
    sustained,
)
from planner.batching.trace import Lengths, Trace, synthetic_trace
from planner.errors import PlannerError

STEP_TIME = affine_step_time(slots=4, fixed_s=0.01, per_sequence_s=0.002, per_prompt_token_s=1e-4)
SERVER = Server(schedule=Schedule.CONTINUOUS, slots=4)
SECONDS = st.floats(0.001, 5)


def requests(count: int = 60, seed: int = 0) -> Trace:
    prompts, outputs = Lengths(median_tokens=100, sigma=0.8), Lengths(median_tokens=20, sigma=0.8)
    return synthetic_trace(count, prompts, outputs, 1.0, seed)


def rate(target: Target, step_time: StepTime = STEP_TIME, trace: Trace | None = None) -> float:
    return sustained(trace or requests(), SERVER, step_time, target).rate_per_s


@settings(max_examples=30)
@given(SECONDS, SECONDS, st.floats(0.1, 1), st.floats(0.1, 1), st.integers(0, 5))
def test_a_tighter_target_never_raises_the_rate(
    first_token_s: float, token_s: float, first_share: float, token_share: float, seed: int
) -> None:
    loose = Target(first_token_s=first_token_s, token_s=token_s / 10)
    tight = Target(first_token_s=first_share * first_token_s, token_s=token_share * token_s / 10)
    trace = requests(seed=seed)
    assert rate(tight, trace=trace) <= rate(loose, trace=trace) <= rate(Target(), trace=trace)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.data())
def test_a_stricter_miss_never_finds_a_larger_rate(failing: list[int], data: st.DataObject) -> None:
    """Even where a simulated percentile falls again with the rate: misses may be scattered in any way."""
    stricter = {*failing, *data.draw(st.lists(st.integers(0, 9), max_size=10))}

    def missed(levels: set[int]) -> float:
        return largest_rate(lambda found: PACE if int(97 * found) % 10 in levels else None, 1.0)[0]

    assert missed(stricter) <= missed(set(failing))


@pytest.mark.parametrize("target", [Target(first_token_s=0.2), Target(token_s=0.02)])
def test_the_rate_meets_the_target_and_a_64th_more_does_not(target: Target) -> None:
    found = sustained(requests(400), SERVER, STEP_TIME, target)
    assert found.outcome is not None
    assert target.missed(found.outcome) is None
    assert found.outcome == simulate(
        Run(trace=at_rate(requests(400), found.rate_per_s), server=SERVER, step_time=STEP_TIME)
    )
    octave = 2.0 ** -next(n for n in range(11) if found.saturated_per_s / 2**n <= found.rate_per_s)
    above = at_rate(requests(400), found.rate_per_s + octave * found.saturated_per_s / 64)
    assert target.missed(simulate(Run(trace=above, server=SERVER, step_time=STEP_TIME))) == found.limit


def test_a_target_that_a_lone_request_misses_is_met_at_no_rate() -> None:
    found = sustained(requests(), SERVER, STEP_TIME, Target(first_token_s=0.005))
    assert (found.rate_per_s, found.limit, found.outcome) == (0.0, FIRST_TOKEN, None)


def test_without_a_target_throughput_is_the_limit() -> None:
    """Four slots, twenty steps of 18 ms for each answer: 4 / (20 · 0.018) requests a second."""
    trace = synthetic_trace(400, Lengths(median_tokens=1), Lengths(median_tokens=20), 1.0)
    step_time = affine_step_time(slots=4, fixed_s=0.01, per_sequence_s=0.002)
    found = sustained(trace, SERVER, step_time, Target())
    assert found.limit == THROUGHPUT
    assert found.rate_per_s == found.saturated_per_s == pytest.approx(4 / (20 * 0.018), rel=0.03)


def test_steps_twice_as_long_halve_what_twice_the_time_allows() -> None:
    once = rate(Target(first_token_s=0.3, token_s=0.02))
    assert rate(Target(first_token_s=0.6, token_s=0.04), STEP_TIME.scaled(2.0)) == pytest.approx(once / 2)


def test_a_trace_keeps_its_rhythm() -> None:
    trace = Trace(arrivals_s=(0.0, 1.0, 4.0), prompt_tokens=(1,) * 3, output_tokens=(1,) * 3)
    assert at_rate(trace, 1.5).arrivals_s == (0.0, 0.5, 2.0)
    with pytest.raises(PlannerError, match="all come at once have no rate"):
        at_rate(replace(trace, arrivals_s=(0.0,) * 3), 1.0)


def test_the_last_requests_do_not_count_for_a_full_server() -> None:
    """Eight finish one a second, then one lingers; with slots enough for all of them only the whole time is known."""
    finishes = [*(10**15 * second for second in range(1, 9)), 10**17]
    assert full_rate(finishes, slots=1) == pytest.approx(1.0)
    assert full_rate(finishes, slots=9) == 9 / 100


def test_prompts_by_themselves_are_an_m_d_1_queue() -> None:
    """Mean time D + ρ·D / (2·(1 − ρ)) at the rate found. Source: DistServe, arXiv:2401.09670, section 3.1."""
    trace = synthetic_trace(40_000, Lengths(median_tokens=1), Lengths(median_tokens=2), 1.0)
    stage = prefill_stage(trace, [0.1] * len(trace), [0.0] * len(trace), Target(first_token_s=0.4))
    load = 0.1 * stage.rate_per_s
    assert 0.5 < load < 0.9
    assert stage.p95_s <= 0.4
    assert stage.mean_s == pytest.approx(0.1 + load * 0.1 / (2 * (1 - load)), rel=0.05)


def test_a_link_bounds_the_rate_of_prompts() -> None:
    trace = synthetic_trace(100, Lengths(median_tokens=1), Lengths(median_tokens=2), 1.0)
    stage = prefill_stage(trace, [0.1] * 100, [0.5] * 100, Target())
    assert stage.rate_per_s == pytest.approx(2.0)


def test_a_decode_replica_spends_no_time_on_prompts() -> None:
    """One request at a time: nineteen steps of 12 ms for the tokens after the first, and its transfer."""
    trace = synthetic_trace(50, Lengths(median_tokens=5_000), Lengths(median_tokens=20), 1.0)
    alone = replace(SERVER, slots=1)
    stage = decode_stage(trace, alone, STEP_TIME, [0.1] * 50, Target(token_s=0.018))
    assert 0.012 + 0.1 / 19 <= stage.p95_s <= 0.018
    assert stage.limit == PACE
    nothing = decode_stage(trace, alone, STEP_TIME, [0.2] * 50, Target(token_s=0.018))
    assert nothing.rate_per_s == 0


def test_answers_of_one_token_are_never_decoded() -> None:
    trace = Trace(arrivals_s=(0.0, 1.0), prompt_tokens=(5, 5), output_tokens=(1, 1))
    with pytest.raises(PlannerError, match="nothing to decode"):
        decode_stage(trace, SERVER, STEP_TIME, [0.0, 0.0], Target())


@given(st.integers(2, 40), st.floats(0.01, 10), st.floats(0.01, 10), st.integers(1, 5))
def test_more_replicas_never_lower_the_rate_of_a_split(replicas: int, first: float, second: float, lost: int) -> None:
    prefill, decode = (Stage(rate_per_s=found, limit=THROUGHPUT, p95_s=0.0, mean_s=0.0) for found in (first, second))
    split, more = best_split(replicas, prefill, decode), best_split(replicas + 1, prefill, decode)
    assert split.rate_per_s <= more.rate_per_s
    assert split.prefill_replicas + split.decode_replicas == replicas
    assert split.without(lost, prefill, decode) <= split.rate_per_s


def test_the_best_split_balances_the_stages() -> None:
    """A prompt takes a third of the time of an answer: one replica of four for prompts."""
    prefill = Stage(rate_per_s=3.0, limit=FIRST_TOKEN, p95_s=0.0, mean_s=0.0)
    decode = Stage(rate_per_s=1.0, limit=PACE, p95_s=0.0, mean_s=0.0)
    split = best_split(4, prefill, decode)
    assert (split.prefill_replicas, split.decode_replicas, split.rate_per_s) == (1, 3, 3.0)
    with pytest.raises(PlannerError, match="at least two replicas"):
        best_split(1, prefill, decode)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_target_is_refused(seconds: float) -> None:
    with pytest.raises(PlannerError, match="is not possible"):
        Target(first_token_s=seconds)


def test_a_pace_is_an_average_over_the_requests_of_a_split() -> None:
    trace = requests(100)
    stage = decode_stage(trace, SERVER, STEP_TIME, [0.0] * 100, Target(token_s=0.05))
    assert stage.mean_s <= 0.05 * mean(trace.output_tokens) * 2


@pytest.mark.parametrize(("arrivals", "rate"), [(2, None), (9, None), (10, 2.0), (40, 2.0)])
def test_a_few_arrivals_tell_no_rate(arrivals: int, rate: float | None) -> None:
    ones = (1,) * arrivals
    trace = Trace(arrivals_s=tuple(n / 2 for n in range(arrivals)), prompt_tokens=ones, output_tokens=ones)
    assert mean_rate(trace) == rate
