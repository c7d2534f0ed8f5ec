"""What schedules are known for: the 64 skewed requests, paging's waste, and the laws of queues."""

import random
from dataclasses import replace
from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.batching.outcome import Outcome
from planner.batching.queueing import erlang_c, waiting
from planner.batching.run import Run
from planner.batching.server import Schedule, Server, Tier
from planner.batching.simulate import simulate
from planner.batching.step_time import affine_step_time
from planner.batching.trace import Lengths, Trace, poisson_arrivals, shuffled_trace, synthetic_trace
from planner.catalogue.performance_presets import find_request_set
from planner.errors import PlannerError
from planner.paging import block_steps, mean_last_block_waste, token_steps

SEEDS = range(300)
ONE_SECOND_STEPS = affine_step_time(slots=8, fixed_s=1.0)


def test_the_64_skewed_requests_are_the_textbooks() -> None:
    outputs = find_request_set("skewed-64").output_tokens
    assert (len(outputs), median(outputs), max(outputs), sum(outputs)) == (64, 18, 231, 1_874)


def gains(rate: float | None, wait_to_fill: bool) -> tuple[list[float], list[float]]:
    """Continuous over static, by seed: throughput, and how much lower the mean latency is."""
    throughput, latency = [], []
    for seed in SEEDS:
        trace = shuffled_trace(find_request_set("skewed-64"), rate, seed)
        static = Server(schedule=Schedule.STATIC, slots=8, wait_to_fill=wait_to_fill)
        before = simulate(Run(trace=trace, server=static, step_time=ONE_SECOND_STEPS))
        after = simulate(
            Run(trace=trace, server=Server(schedule=Schedule.CONTINUOUS, slots=8), step_time=ONE_SECOND_STEPS)
        )
        throughput.append(after.output_tokens_per_s / before.output_tokens_per_s)
        latency.append(before.latency.mean_s / after.latency.mean_s)
    return throughput, latency


def test_all_present_at_the_start_latency_gains_three_to_five_times_at_most() -> None:
    """Every request waits for those before it in both schedules, which bounds what continuous batching can win."""
    throughput, latency = gains(rate=None, wait_to_fill=False)
    assert round(mean(throughput), 1) == 2.3
    assert round(mean(latency), 1) == 3.6
    assert (round(min(latency), 1), round(max(latency), 1)) == (2.6, 4.5)


def test_poisson_arrivals_and_a_batch_that_waits_to_fill_give_the_textbooks_ratios() -> None:
    """0.15 requests a step: 1.5 times the throughput and eight times lower latency, over ten times for single seeds."""
    throughput, latency = gains(rate=0.15, wait_to_fill=True)
    assert (round(mean(throughput), 2), round(mean(latency), 1)) == (1.55, 8.4)
    assert (round(min(latency), 1), round(max(latency), 1)) == (4.3, 12.5)


def test_single_seeds_reach_fourteen_times_where_the_batch_takes_what_is_there() -> None:
    throughput, latency = gains(rate=0.15, wait_to_fill=False)
    assert (round(mean(throughput), 2), round(mean(latency), 1)) == (1.59, 8.4)
    assert round(max(latency), 1) == 14.4


def test_a_short_answer_waits_for_its_long_neighbour() -> None:
    """Two slots, steps of 1 s: static hands both over after 231 steps, continuous the short one after 4."""
    trace = Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(1, 1), output_tokens=(4, 231))
    static = simulate(Run(trace=trace, server=Server(schedule=Schedule.STATIC, slots=2), step_time=ONE_SECOND_STEPS))
    continuous = simulate(
        Run(trace=trace, server=Server(schedule=Schedule.CONTINUOUS, slots=2), step_time=ONE_SECOND_STEPS)
    )
    assert (static.latency.p50_s, continuous.latency.p50_s) == (231, 4)
    assert static.makespan_s == continuous.makespan_s == 231


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 64))
def test_block_steps_are_the_blocks_of_each_step(first: int, more: int, block: int) -> None:
    lengths = range(first, first + more + 1)
    assert block_steps(first, first + more, block) == sum(-(-tokens // block) for tokens in lengths)
    assert token_steps(first, first + more) == sum(lengths)


def paged(block_tokens: int = 16, **server: int) -> Outcome:
    """Requests as long as ShareGPT's in the paging paper, section 6.1: 161 and 338 tokens on average, 2,048 at most."""
    lengths = (
        Lengths(median_tokens=98, sigma=1.0, max_tokens=1_024),
        Lengths(median_tokens=250, sigma=0.8, max_tokens=1_024),
    )
    step_time = affine_step_time(slots=64, fixed_s=0.02)
    trace = synthetic_trace(4_000, *lengths, requests_per_s=8.0)
    return simulate(
        Run(
            trace=trace,
            server=Server(
                schedule=Schedule.CONTINUOUS, slots=64, block_tokens=block_tokens, reserved_tokens=2_048, **server
            ),
            step_time=step_time,
        )
    )


def test_paging_uses_96_percent_where_reserving_the_longest_uses_a_fifth_to_two_fifths() -> None:
    """Kwon et al., arXiv:2309.06180, figure 2: 20.4 to 38.2% against 96.3%."""
    pool = paged().pool
    assert pool is not None
    assert pool.useful_share > 0.96
    assert 0.204 < pool.reserved_share < 0.382


@pytest.mark.parametrize("block_tokens", [1, 16, 64])
def test_the_last_block_wastes_half_a_block_a_request(block_tokens: int) -> None:
    pool = paged(block_tokens).pool
    assert pool is not None
    waste = pool.reserved_share * 2_048 * (1 / pool.useful_share - 1)
    assert waste == pytest.approx(mean_last_block_waste(block_tokens), rel=0.02, abs=1e-9)


def test_a_shared_beginning_is_kept_and_computed_once() -> None:
    """Ten prompts of 100 tokens with 70 alike, in blocks of 16: four blocks shared, three of their own."""
    trace = Trace(arrivals_s=(0.0,) * 10, prompt_tokens=(100,) * 10, output_tokens=(1,) * 10)
    step_time = affine_step_time(slots=10, fixed_s=1.0, per_prompt_token_s=0.001)
    apart = simulate(Run(trace=trace, server=Server(schedule=Schedule.CONTINUOUS, slots=10), step_time=step_time))
    shared = simulate(
        Run(
            trace=trace,
            server=Server(schedule=Schedule.CONTINUOUS, slots=10, shared_prefix_tokens=70),
            step_time=step_time,
        )
    )
    assert apart.pool is not None
    assert shared.pool is not None
    assert (apart.pool.peak_blocks, shared.pool.peak_blocks) == (10 * 7, 4 + 10 * 3)
    assert (apart.makespan_s, shared.makespan_s) == pytest.approx((1 + 10 * 0.1, 1 + 10 * 0.036))


def test_an_evicted_cache_is_computed_again_or_copied_back() -> None:
    """Two requests of 4 + 5 tokens in five blocks of 2, steps of 1 s.

    After the first step each holds two full blocks, and only one is free: the second has to go.
    The first ends at 5 s. Computed again, the other has its next token in the sixth step and its fifth in the ninth.
    Copied, 4 tokens go away and come back at 0.1 s each.
    """
    trace = Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(4, 4), output_tokens=(5, 5))
    server = Server(schedule=Schedule.CONTINUOUS, slots=2, block_tokens=2, pool_blocks=5)
    again = simulate(Run(trace=trace, server=server, step_time=ONE_SECOND_STEPS))
    copied = simulate(
        Run(
            trace=trace,
            server=replace(server, tiers=(Tier(name="host memory", copy_s_per_token=0.1),)),
            step_time=ONE_SECOND_STEPS,
        )
    )
    assert (again.preemptions, copied.preemptions) == (1, 1)
    assert (again.makespan_s, copied.makespan_s) == (9, 9 + 2 * 4 * 0.1)


def test_what_host_memory_cannot_take_goes_to_disk_or_is_computed_again() -> None:
    """The same two requests: the evicted cache has two blocks. Host memory of one block leaves it to a slower disk."""
    trace = Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(4, 4), output_tokens=(5, 5))
    host, disk = Tier(name="host memory", copy_s_per_token=0.1, blocks=1), Tier(name="disk", copy_s_per_token=0.5)
    server = Server(schedule=Schedule.CONTINUOUS, slots=2, block_tokens=2, pool_blocks=5, tiers=(host, disk))
    on_disk = simulate(Run(trace=trace, server=server, step_time=ONE_SECOND_STEPS))
    assert [(use.name, use.evictions, use.peak_blocks) for use in on_disk.tiers] == [
        ("host memory", 0, 0),
        ("disk", 1, 2),
    ]
    assert on_disk.makespan_s == 9 + 2 * 4 * 0.5
    again = simulate(Run(trace=trace, server=replace(server, tiers=(host,)), step_time=ONE_SECOND_STEPS))
    assert (again.preemptions, again.tiers[0].evictions, again.makespan_s) == (1, 0, 9)


@pytest.mark.parametrize("schedule", [Schedule.STATIC, Schedule.CONTINUOUS])
def test_littles_law_in_a_closed_loop(schedule: Schedule) -> None:
    """N = X · R: with eight users who ask again at once, eight are inside, but for the end when no more is asked."""
    trace = synthetic_trace(4_000, Lengths(median_tokens=10), Lengths(median_tokens=40, sigma=0.5, max_tokens=300))
    step_time = affine_step_time(slots=6, fixed_s=0.01, per_sequence_s=0.001, per_prompt_token_s=1e-4)
    outcome = simulate(
        Run(trace=trace, server=Server(schedule=schedule, slots=6), step_time=step_time, closed_loop_users=8)
    )
    assert outcome.requests_per_s * outcome.latency.mean_s == pytest.approx(outcome.mean_in_system)
    assert outcome.mean_in_system == pytest.approx(8, rel=0.01)


@pytest.mark.parametrize("load", [0.5, 0.7, 0.85])
def test_waiting_for_a_slot_is_an_m_g_c_queue_where_steps_do_not_depend_on_the_load(load: float) -> None:
    """Steps of constant time, so that an answer takes its tokens' number of steps whoever else is there."""
    slots, step_s = 8, 0.001
    outputs = Lengths(median_tokens=2_000, sigma=0.6, max_tokens=100_000)
    sample = outputs.draw(40_000, random.Random(1))
    service_s = step_s * mean(sample)
    variation = (mean(length**2 for length in sample) / mean(sample) ** 2 - 1) ** 0.5
    rate = load * slots / service_s
    trace = Trace(
        arrivals_s=poisson_arrivals(len(sample), rate, random.Random(2)),
        prompt_tokens=(1,) * len(sample),
        output_tokens=sample,
    )
    step_time = affine_step_time(slots=slots, fixed_s=step_s)
    outcome = simulate(Run(trace=trace, server=Server(schedule=Schedule.CONTINUOUS, slots=slots), step_time=step_time))
    expected = waiting(rate, service_s, variation, slots)
    # The first token comes with the step that computes the prompt, and half a step passes before it can begin.
    waited = outcome.time_to_first_token.mean_s - 1.5 * step_s
    assert waited == pytest.approx(expected.mean_s, rel=0.2)
    assert outcome.slot_use == pytest.approx(load, rel=0.03)


def test_erlang_c_by_hand() -> None:
    # M/M/1 waits with its load; M/M/2 at a = 1: 2ρ² / (1 + ρ) = 1/3 with ρ = 1/2
    assert erlang_c(1, 0.25) == 0.25
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    with pytest.raises(PlannerError, match="waiting grows without end"):
        erlang_c(2, 2.0)


def test_progress_reaches_the_last_request() -> None:
    seen: list[int] = []
    trace = synthetic_trace(50, Lengths(median_tokens=5), Lengths(median_tokens=5))
    simulate(
        Run(
            trace=trace,
            server=Server(schedule=Schedule.CONTINUOUS, slots=8),
            step_time=ONE_SECOND_STEPS,
            progress=seen.append,
        )
    )
    assert seen == list(range(1, 51))


def test_bars_fill_the_slots() -> None:
    """The same two requests as a picture: static's short answer waits in its slot until the batch ends."""
    trace = Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(1, 1), output_tokens=(2, 3))
    static = simulate(
        Run(trace=trace, server=Server(schedule=Schedule.STATIC, slots=2), step_time=ONE_SECOND_STEPS, bar_requests=2)
    )
    continuous = simulate(
        Run(
            trace=trace,
            server=Server(schedule=Schedule.CONTINUOUS, slots=2),
            step_time=ONE_SECOND_STEPS,
            bar_requests=2,
        )
    )
    drawn = [[(bar.slot, bar.phase, bar.start_s, bar.end_s) for bar in run.bars] for run in (static, continuous)]
    assert drawn[0] == [
        (0, "prefill", 0, 1),
        (0, "decode", 1, 2),
        (0, "waiting", 2, 3),
        (1, "prefill", 0, 1),
        (1, "decode", 1, 3),
    ]
    assert sorted(drawn[1]) == [(0, "decode", 1, 2), (0, "prefill", 0, 1), (1, "decode", 1, 3), (1, "prefill", 0, 1)]
