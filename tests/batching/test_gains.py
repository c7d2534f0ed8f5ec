"""What refilling gains by how requests come; common beginnings; and the words for it."""

from dataclasses import replace

import pytest

from planner.batching.gains import ASSUMPTIONS, gain
from planner.batching.outcome import work_share
from planner.batching.server import Schedule, Server
from planner.batching.simulate import simulate
from planner.batching.step_time import affine_step_time
from planner.batching.targets import Target, saturated, sustained
from planner.batching.trace import Lengths, Trace, synthetic_trace
from planner.batching_text import (
    gain_words,
    pool_sentence,
    range_words,
    schedules_sentence,
    schedules_title,
    sustained_sentence,
    sustained_title,
    time_words,
    times,
)
from planner.performance_presets import find_request_set

STEPS = affine_step_time(slots=2, fixed_s=1.0)
TWO = Trace(arrivals_s=(0.0,) * 4, prompt_tokens=(1,) * 4, output_tokens=(1, 9, 9, 1))


def outcomes(trace: Trace = TWO):
    static = Server(schedule=Schedule.STATIC, slots=2)
    return {
        Schedule.STATIC: simulate(trace, static, STEPS),
        Schedule.CONTINUOUS: simulate(trace, replace(static, schedule=Schedule.CONTINUOUS), STEPS),
    }


def test_the_three_assumptions_and_their_ratios() -> None:
    """As METHOD.md has them, over the first seeds: who comes when decides more than the schedule."""
    there, waiting, taking = (gain(find_request_set("skewed-64"), each, 40) for each in ASSUMPTIONS)
    assert 2.0 < there.throughput.mean < 2.5
    assert 3.2 < there.latency.mean < 4.0
    assert there.latency.high < 5
    for found in (waiting, taking):
        assert 1.4 < found.throughput.mean < 1.7
        assert 7.5 < found.latency.mean < 9.5
    assert range_words(there.throughput) in gain_words(there)


def test_work_share_by_hand() -> None:
    """Two slots, answers of 1, 9, 9 and 1. Whole batches take 18 steps; refilled at once 10: 20 tokens of 36 and 20."""
    found = outcomes()
    assert [each.steps for each in found.values()] == [18, 10]
    assert [work_share(each, 2) for each in found.values()] == [20 / 36, 1.0]


def test_the_words_follow_the_outcomes() -> None:
    """Static hands over at 9 and 18, 13.5 on average; continuous at 1, 9, 10 and 10."""
    found = outcomes()
    assert schedules_title(found) == "Refilling slots at once: 1.8 times the work"
    assert schedules_sentence(found, 2, in_steps=True) == (
        "4 requests, 20 tokens of answers, 2 at a time. The mean wait for an answer is **14 steps** when a whole batch "
        "must finish, **8 steps** when a free slot is refilled at once."
    )
    alike = outcomes(Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(1, 1), output_tokens=(5, 5)))
    assert schedules_title(alike) == "Refilling slots at once changes nothing here"
    late = outcomes(Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(1, 1), output_tokens=(1, 9)))
    assert schedules_title(late) == "Refilling slots at once: the same work, answers 1.8 times sooner"


def test_evictions_and_sharing_are_said() -> None:
    trace = Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(4, 4), output_tokens=(5, 5))
    server = Server(schedule=Schedule.CONTINUOUS, slots=2, block_tokens=2, pool_blocks=5)
    said = pool_sentence(simulate(trace, server, STEPS))
    assert "4 blocks of 2 tokens at most, 80% of the 5 that memory leaves" in said
    assert "**1 time the pool was full**" in said
    shared = replace(server, pool_blocks=None, shared_prefix_tokens=2)
    assert "The shared beginning saved" in pool_sentence(simulate(trace, shared, STEPS))
    assert pool_sentence(outcomes()[Schedule.STATIC]) == ""


def test_prompts_with_a_common_beginning_are_longer_than_it() -> None:
    lengths = Lengths(median_tokens=50, sigma=1.0, max_tokens=1_000)
    plain, shared = (synthetic_trace(200, lengths, lengths, None, 0, prefix) for prefix in (0, 100))
    assert min(plain.prompt_tokens) < 100
    assert min(shared.prompt_tokens) == 101
    assert shared.output_tokens == plain.output_tokens


def test_a_rate_within_a_target_is_at_most_what_a_full_server_does() -> None:
    lengths = Lengths(median_tokens=20, sigma=0.5, max_tokens=100)
    trace = synthetic_trace(400, lengths, lengths, 1.0, 0)
    server = Server(schedule=Schedule.CONTINUOUS, slots=2)
    steps = affine_step_time(slots=2, fixed_s=0.01)
    found = sustained(trace, server, steps, Target(first_token_s=0.5))
    assert 0 < found.rate_per_s <= found.saturated_per_s == saturated(trace, server, steps)
    assert sustained_title(found).endswith("within your patience")
    assert "by the wait for the first token" in sustained_sentence(found, found, found, Target(first_token_s=0.5))
    never = sustained(trace, server, steps, Target(first_token_s=1e-6))
    assert sustained_title(never) == "Too slow for this patience, even for one request at a time"


@pytest.mark.parametrize(("ratio", "words"), [(1.55, "1.6"), (9.94, "9.9"), (12.4, "12")])
def test_ratios(ratio: float, words: str) -> None:
    assert times(ratio) == words


def test_steps_are_not_seconds() -> None:
    assert (time_words(12.0, True), time_words(12.0, False)) == ("12 steps", "12.00 s")
