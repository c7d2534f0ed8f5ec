"""The event-driven server against the token-by-token one, and the laws that any schedule keeps."""

from hypothesis import given
from hypothesis import strategies as st

from planner.batching.continuous import ContinuousServer
from planner.batching.run import Run
from planner.batching.server import Schedule, Server, Tier
from planner.batching.simulate import timings_of
from planner.batching.step_time import StepTime, affine_step_time
from planner.batching.trace import Trace, longest_tokens
from planner.paging import blocks_for
from tests.batching.naive_server import NaiveServer

NS = 1e-9


@st.composite
def traces(draw: st.DrawFn, max_requests: int = 12, max_tokens: int = 12) -> Trace:
    count = draw(st.integers(1, max_requests))
    gaps = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
    arrivals = [NS * sum(gaps[: index + 1]) for index in range(count)]
    lengths = st.lists(st.integers(1, max_tokens), min_size=count, max_size=count)
    return Trace(arrivals_s=tuple(arrivals), prompt_tokens=tuple(draw(lengths)), output_tokens=tuple(draw(lengths)))


@st.composite
def step_times(draw: st.DrawFn, slots: int) -> StepTime:
    """Any table that does not shrink, steps of some nanoseconds."""
    rises = draw(st.lists(st.integers(0, 3), min_size=slots, max_size=slots))
    table = [draw(st.integers(1, 20))]
    for rise in rises:
        table.append(table[-1] + rise)
    return StepTime(
        by_sequences=tuple(10**6 * ticks for ticks in table),
        per_context_token=draw(st.sampled_from([0, 0, 10**4, 300_001])),
        per_prompt_token=draw(st.sampled_from([0, 10**5, 700_003])),
    )


def tiers(most_blocks: int) -> st.SearchStrategy[Tier]:
    return st.builds(
        Tier,
        name=st.just("host memory"),
        copy_s_per_token=st.sampled_from([0.0, 2e-9]),
        blocks=st.none() | st.integers(0, 2 * most_blocks),
    )


@st.composite
def servers(draw: st.DrawFn, trace: Trace, schedules: tuple[Schedule, ...] = tuple(Schedule)) -> Server:
    slots = draw(st.integers(1, 5))
    block = draw(st.integers(1, 5))
    schedule = draw(st.sampled_from(schedules))
    prefix = draw(st.integers(0, min(trace.prompt_tokens) - 1))
    longest = max(map(sum, zip(trace.prompt_tokens, trace.output_tokens, strict=True)))
    least = blocks_for(longest, block)
    return Server(
        schedule=schedule,
        slots=slots,
        block_tokens=block,
        pool_blocks=draw(st.none() | st.integers(least, 2 * least + 3)),
        max_num_batched_tokens=draw(st.integers(slots, slots + 8)) if schedule is Schedule.CHUNKED else None,
        wait_to_fill=draw(st.booleans()) if schedule is Schedule.STATIC else False,
        shared_prefix_tokens=prefix,
        tiers=tuple(draw(st.lists(tiers(least), max_size=2))),
    )


@given(st.data(), traces())
def test_jumping_over_steps_equals_taking_each(data: st.DataObject, trace: Trace) -> None:
    server = data.draw(servers(trace))
    step_time = data.draw(step_times(server.slots))
    users = data.draw(st.none() | st.integers(1, 6))
    naive = NaiveServer(trace, server, step_time, users)
    requests = naive.run()
    timings = timings_of(Run(trace=trace, server=server, step_time=step_time, closed_loop_users=users))
    assert timings.starts == [request.start for request in requests]
    assert timings.first_tokens == [request.first_token for request in requests]
    assert timings.finishes == [request.finish for request in requests]
    assert timings.arrivals == [request.arrival for request in requests]
    assert (timings.steps, timings.preemptions) == (naive.steps, naive.preemptions)
    assert naive.free == naive.pool
    assert naive.kept == {}
    assert naive.room == [10**12 if tier.blocks is None else tier.blocks for tier in server.tiers]


@given(st.data(), traces(max_requests=40))
def test_every_request_and_every_block_comes_back(data: st.DataObject, trace: Trace) -> None:
    server = data.draw(servers(trace, (Schedule.CONTINUOUS, Schedule.CHUNKED)))
    run = ContinuousServer(Run(trace=trace, server=server, step_time=data.draw(step_times(server.slots))))
    timings = run.run()
    assert run.pool.free == run.pool.size
    assert run.pool.phases == [0] * server.block_tokens
    assert all(tier.free == tier.size for tier in run.tiers)
    assert run.kept == {}
    assert sorted(run.free_slots) == list(range(server.slots))
    assert (run.decoding, run.pool.growing, run.cached_tokens, run.done) == (0, 0, 0, len(trace))
    assert all(map(int.__le__, timings.arrivals, timings.starts))
    assert all(map(int.__lt__, timings.starts, timings.first_tokens))
    assert all(map(int.__le__, timings.first_tokens, timings.finishes))
    assert 0 < run.pool.use(reserved_tokens=100).useful_share <= 1


@given(st.data(), traces(max_requests=20))
def test_continuous_never_ends_later_than_static(data: st.DataObject, trace: Trace) -> None:
    """For steps that cost so much and so much a sequence, unless somebody is evicted; where a full step costs more than
    two half-full ones, a static batch can be lucky."""
    slots, block = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    step_time = affine_step_time(
        slots=slots,
        fixed_s=NS * data.draw(st.integers(1, 20)),
        per_sequence_s=NS * data.draw(st.integers(0, 5)),
        per_context_token_s=NS * data.draw(st.sampled_from([0, 0.01, 0.3])),
        per_prompt_token_s=NS * data.draw(st.sampled_from([0, 0.1, 0.7])),
    )
    least = blocks_for(longest_tokens(trace), block)
    pool = data.draw(st.none() | st.integers(least, 3 * least + 3))
    static, continuous = (
        timings_of(
            Run(
                trace=trace,
                server=Server(schedule=schedule, slots=slots, block_tokens=block, pool_blocks=pool),
                step_time=step_time,
            )
        )
        for schedule in (Schedule.STATIC, Schedule.CONTINUOUS)
    )
    assert continuous.preemptions or max(continuous.finishes) <= max(static.finishes)
