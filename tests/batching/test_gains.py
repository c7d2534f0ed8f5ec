"""What refilling gains by how requests come; common beginnings; and the words for it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.batching.gains import ASSUMPTIONS, gain
from planner.batching.outcome import work_share
from planner.batching.pauses import pause
from planner.batching.run import Run
from planner.batching.server import Schedule, Server
from planner.batching.simulate import simulate
from planner.batching.step_time import affine_step_time
from planner.batching.targets import Target, saturated, sustained
from planner.batching.trace import Lengths, Trace, synthetic_trace
from planner.catalogue.performance_presets import find_request_set
from planner.cli import main
from planner.serving.served import USUAL_SLOTS
from planner.text.batching import (
    coming_sentence,
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
from planner.text.queue import limits_sentence, pauses_sentence, pauses_title

METHOD = Path(__file__).parents[2] / "planner" / "METHOD.md"
STEPS = affine_step_time(slots=2, fixed_s=1.0)
TWO = Trace(arrivals_s=(0.0,) * 4, prompt_tokens=(1,) * 4, output_tokens=(1, 9, 9, 1))


def outcomes(trace: Trace = TWO):
    static = Server(schedule=Schedule.STATIC, slots=2)
    return {
        Schedule.STATIC: simulate(Run(trace=trace, server=static, step_time=STEPS)),
        Schedule.CONTINUOUS: simulate(
            Run(trace=trace, server=replace(static, schedule=Schedule.CONTINUOUS), step_time=STEPS)
        ),
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


def test_who_waits_is_counted_while_bars_are_drawn() -> None:
    """Four at once in two slots: two wait for nine steps in whole batches, and one for each short answer refilled."""
    static = Server(schedule=Schedule.STATIC, slots=2)
    for server, waiting in (
        (static, [(0, 2), (9, 0)]),
        (replace(static, schedule=Schedule.CONTINUOUS), [(0, 2), (1, 1), (9, 0)]),
    ):
        run = Run(trace=TWO, server=server, step_time=STEPS, bar_requests=4)
        assert [(point.from_s, point.waiting) for point in simulate(run).queue] == waiting
        assert simulate(replace(run, bar_requests=0)).queue == ()


def test_the_words_follow_the_outcomes() -> None:
    """Static hands over at 9 and 18, 13.5 on average; continuous at 1, 9, 10 and 10."""
    found = outcomes()
    assert schedules_title(*found.values()) == "Refilling slots at once: 1.8 times the work"
    there = coming_sentence(None, None, "step")
    assert schedules_sentence(*found.values(), 2, there, Schedule.CONTINUOUS, in_steps=True) == (
        "4 requests, 20 tokens of answers, 2 at a time, each in a slot. All of them are there at the start. On average "
        "an answer is there after **14 steps** when a whole batch must finish first, after **8 steps** when a free "
        "slot is refilled at once."
    )
    said = schedules_sentence(*found.values(), 2, there, Schedule.CHUNKED, in_steps=True)
    assert said.endswith("refilled at once, prompts in chunks.")
    alike = outcomes(Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(1, 1), output_tokens=(5, 5)))
    assert schedules_title(*alike.values()) == "Refilling slots at once changes nothing here"
    late = outcomes(Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(1, 1), output_tokens=(1, 9)))
    assert schedules_title(*late.values()) == "Refilling slots at once: answers 1.8 times sooner"
    assert schedules_title(*found.values(), all_keep_up=True) == "Refilling slots at once: answers 1.8 times sooner"


def test_evictions_and_sharing_are_said() -> None:
    trace = Trace(arrivals_s=(0.0, 0.0), prompt_tokens=(4, 4), output_tokens=(5, 5))
    server = Server(schedule=Schedule.CONTINUOUS, slots=2, block_tokens=2, pool_blocks=5)
    said = pool_sentence(simulate(Run(trace=trace, server=server, step_time=STEPS)))
    assert "4 blocks of 2 tokens at most, 80% of the 5 that memory leaves" in said
    assert "**1 time the pool was full**" in said
    shared = replace(server, pool_blocks=None, shared_prefix_tokens=2)
    assert "The shared beginning saved" in pool_sentence(simulate(Run(trace=trace, server=shared, step_time=STEPS)))
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


def test_a_queue_that_grows_is_said() -> None:
    most = (
        "These slots can take **0.5 requests a step** when refilled at once, 0.2 requests a step in whole batches: 2.5 "
    )
    for rate, words in (
        (None, ": 2.5 times as many."),
        (0.1, ": 2.5 times as many."),
        (0.3, "**Whole batches cannot keep up** with the 0.3 requests a step that come: their queue grows"),
        (0.9, "**Neither keeps up** with the 0.9 requests a step that come: both queues grow"),
    ):
        said = limits_sentence(0.2, 0.5, rate, "step")
        assert said.startswith(most)
        assert words in said
    assert "keep" not in limits_sentence(0.2, 0.5, 0.2, "step")


def test_what_a_schedule_takes_at_most() -> None:
    """Two slots, answers of 1 and 9 in turn: a batch of one of each takes 9 steps, a refilled slot 5 a request."""
    trace = Trace(arrivals_s=(0.0,) * 80, prompt_tokens=(1,) * 80, output_tokens=(1, 9) * 40)
    static = Server(schedule=Schedule.STATIC, slots=2)
    assert saturated(trace, static, STEPS) == pytest.approx(2 / 9, rel=0.03)
    assert saturated(trace, replace(static, schedule=Schedule.CONTINUOUS), STEPS) == pytest.approx(2 / 5, rel=0.06)


def test_pauses_by_hand() -> None:
    """Steps of 20 ms and 1 ms a sequence, 0.1 ms a prompt token: 1,000 tokens beside three others, or 253 of them."""
    times = affine_step_time(slots=4, fixed_s=0.02, per_sequence_s=0.001, per_prompt_token_s=1e-4)
    found = pause(times, 3, 256, 1_000)
    assert (found.whole_s, found.chunked_s) == pytest.approx((0.124, 0.024 + 0.0253))
    short = pause(times, 3, 256, 100)
    assert short.whole_s == short.chunked_s == pytest.approx(0.034)
    assert pauses_title(short) == "Prompts in chunks: no difference here"
    assert "chunks change nothing" in pauses_sentence(short, short, 256)
    assert pauses_title(found) == "Prompts in chunks: pauses 2.5 times shorter"
    assert "no pause is longer than **49.3 ms**" in pauses_sentence(short, found, 256)


def test_the_table_of_method_md_is_what_300_seeds_give() -> None:
    text = METHOD.read_text(encoding="utf-8")
    for assumption in ASSUMPTIONS:
        found = gain(find_request_set("skewed-64"), assumption, 300)
        cells = [range_words(ratio).replace("–", "to") for ratio in (found.throughput, found.latency)]
        assert f" | {' | '.join(cells)} |" in text


def test_the_command_gives_the_range_over_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    found = gain(find_request_set("skewed-64"), ASSUMPTIONS[1], 5)
    words = ["simulate", "--workload", "skewed-64", "--step-ms", "1000", "--rate", "0.15", "--wait-to-fill", "--seeds"]
    assert main([*words, "5", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["throughput"]["mean"], printed["latency"]["high"]) == (found.throughput.mean, found.latency.high)
    assert main([*words, "5"]) == 0
    first, brackets = capsys.readouterr().out.splitlines()
    assert "with 0.15 requests/s coming, where a whole batch waits until it is full: " in first
    assert brackets == "Means over 5 seeds; in brackets the least and the most of a single one."
    assert main([*words, "0"]) == 2


def test_waiting_by_formula_beside_the_simulated_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Steps that do not depend on who is there: within a fifth, but for the half step that passes before one begins."""
    words = ["simulate", "--requests", "4000", "--prompt", "1", "--output", "200", "--sigma", "0.6", "--step-ms", "1"]
    words += ["--slots", "8"]
    assert main([*words, "--rate", "28", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["slot_wait_s"] == pytest.approx(printed["waiting_by_formula"]["mean_s"], rel=0.2, abs=0.001)
    assert printed["mean_in_system"] == pytest.approx(printed["requests_per_s"] * printed["latency"]["mean_s"])
    assert main([*words, "--rate", "100", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["waiting_by_formula"] is None


def test_the_first_sentence_names_the_slots_and_whether_they_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight slots take a request every 29 steps or so each; the textbook's answers are 29 tokens long on average."""
    words = ["simulate", "--workload", "skewed-64", "--step-ms", "1000"]
    for more, begins in (
        (["--at-once"], "With 8 slots an answer takes "),
        (["--rate", "0.1"], "With 8 slots an answer takes "),
        (
            ["--rate", "0.1", "--slots", "1"],
            "With 1 slot the queue only grows, since 0.1 requests/s come and 0.0342 are",
        ),
    ):
        assert main([*words, *more]) == 0
        first, *_ = capsys.readouterr().out.splitlines()
        assert first.startswith(begins)
        assert "an answer takes" in first
    assert main([*words, "--rate", "0.1", "--at-once"]) == 2


def test_a_server_has_the_same_slots_whatever_is_asked_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    for steps in (["--step-ms", "10"], ["--model", "llama-3.1-8b", "--device", "h100-sxm"]):
        assert main(["simulate", "--requests", "20", *steps, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["slots"] == USUAL_SLOTS


def test_what_became_of_evicted_caches_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--requests", "40", "--sigma", "0", "--prompt", "10", "--output", "40", "--step-ms", "10"]
    words += ["--slots", "8", "--pool-blocks", "12"]
    for tiers, ends in (
        ([], "computed again"),
        (["--host-us", "1"], "copied to host memory"),
        (["--host-us", "1", "--host-blocks", "0", "--disk-us", "9"], "copied to disk"),
    ):
        assert main([*words, *tiers]) == 0
        (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("  evictions"))
        assert " times the pool was full and the youngest gave way: " in line
        assert line.endswith(ends)
    assert main([*words[:-2], "--pool-blocks", "400"]) == 0
    assert "  evictions              0: the pool was never full" in capsys.readouterr().out
    words[words.index("40") :] = ["9", "--sigma", "0", "--prompt", "100", "--output", "5", "--step-ms", "10"]
    assert main([*words, "--pool-blocks", "14"]) == 0
    assert "  evictions              0, but some waited for room in the pool" in capsys.readouterr().out
