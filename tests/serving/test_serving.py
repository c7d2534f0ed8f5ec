"""How many requests a second and users the cards really take, and what is left when a node is lost."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.batching.targets import Target
from planner.batching.trace import Lengths, synthetic_trace
from planner.cli import main
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.serving.fewest_cards import fewest_cards
from planner.serving.question import ServingOption, ServingQuestion
from planner.serving.shape import ShapeWish
from planner.serving.ways import serving_options
from planner.text.serving import serving_text

LENGTHS = Lengths(median_tokens=400, sigma=0.7, max_tokens=2_000), Lengths(median_tokens=60, sigma=0.7, max_tokens=400)
QUESTION = ServingQuestion(
    trace=synthetic_trace(80, *LENGTHS, 1.0),
    target=Target(first_token_s=1.0, token_s=0.03),
    replica=ShapeWish(slots=16),
)
CHOICES = Choices(model="llama-3.1-8b", device="h100-sxm")
WORDS = ["capacity", "--model", "llama-3.1-8b", "--device", "h100-sxm"]


def options(**changes: object) -> dict[int, ServingOption]:
    """Replicas that do both, by how many cards each has."""
    found = serving_options(CHOICES, replace(QUESTION, **changes), "vllm")  # type: ignore[arg-type]
    return {option.tensor_parallel: option for option in found if not option.prefill_replicas}


@settings(max_examples=8)
@given(st.integers(1, 16), st.floats(0.05, 2), st.floats(0.005, 0.1))
def test_more_replicas_never_lower_the_capacity(count: int, first_token_s: float, token_s: float) -> None:
    target = Target(first_token_s=first_token_s, token_s=token_s)
    fewer, more = (options(device_count=cards, target=target)[1] for cards in (count, count + 1))
    assert fewer.rate_per_s <= more.rate_per_s
    assert fewer.rate_lost_per_s <= more.rate_lost_per_s
    assert fewer.users <= more.users
    assert fewer.rate_lost_per_s <= fewer.rate_per_s


@settings(max_examples=8)
@given(st.floats(0.05, 2), st.floats(0.005, 0.1), st.floats(0.1, 1))
def test_a_tighter_target_never_raises_the_capacity(first_token_s: float, token_s: float, share: float) -> None:
    loose = options(device_count=2, target=Target(first_token_s=first_token_s, token_s=token_s))
    tight = options(device_count=2, target=Target(first_token_s=share * first_token_s, token_s=share * token_s))
    assert all(tight[parallel].rate_per_s <= loose[parallel].rate_per_s for parallel in (1, 2))


def test_replicas_add_up_and_a_lost_node_takes_its_own() -> None:
    one = options(device_count=1)[1]
    eight = options(device_count=8)[1]
    assert eight.rate_per_s == pytest.approx(8 * one.rate_per_s)
    assert eight.rate_lost_per_s == pytest.approx(7 * one.rate_per_s)
    pairs = options(device_count=8, node_devices=4)
    assert [pairs[parallel].rate_lost_per_s / pairs[parallel].rate_per_s for parallel in (1, 2, 4, 8)] == pytest.approx(
        [4 / 8, 2 / 4, 1 / 2, 0]
    )


def test_replicas_for_a_rate() -> None:
    option = options(device_count=1)[1]
    assert option.replicas_for(2.5 * option.rate_per_s) == 3
    assert option.replicas_for(2.5 * option.rate_per_s, lost=1) == 4
    assert option.replicas_for(2 * option.rate_per_s) == 2
    assert replace(option, rate_per_s=0.0).replicas_for(1.0) is None


@pytest.mark.parametrize(("model", "splits"), [("smollm2-135m", {1, 3}), ("llama-3.1-8b", {1, 2, 4})])
def test_replicas_are_of_any_size_that_divides_the_heads(model: str, splits: set[int]) -> None:
    """Six cards: nine query heads and three of keys go onto three; 32 and eight onto two, or onto four of them."""
    found = serving_options(replace(CHOICES, model=model), replace(QUESTION, device_count=6), "vllm")
    assert {option.tensor_parallel for option in found} == splits


def test_one_more_card_never_does_less() -> None:
    """Three cards can always do what two do, and leave one idle."""
    rates = [max(option.rate_per_s for option in options(device_count=count).values()) for count in range(1, 9)]
    assert rates == sorted(rates)


def test_users_who_read_are_more_than_those_who_wait() -> None:
    """Little's law: rate · (latency + reading)."""
    waiting, reading = options()[1], options(think_s=30.0)[1]
    assert reading.users - waiting.users == pytest.approx(30 * waiting.rate_per_s, abs=1)


def test_the_range_is_that_of_the_speed_model() -> None:
    option = options()[1]
    assert 0 < option.rate_low_per_s < option.rate_per_s < option.rate_high_per_s


def test_a_model_that_does_not_fit_takes_no_requests() -> None:
    found = serving_options(replace(CHOICES, model="llama-3.3-70b"), replace(QUESTION, device_count=4), "vllm")
    by_cards = {option.tensor_parallel: option for option in found}
    assert (by_cards[1].fits, by_cards[1].rate_per_s, by_cards[1].limit) == (False, 0.0, "memory")
    assert by_cards[4].fits
    assert found[-1] is by_cards[1]


def test_prefill_and_decode_apart_share_the_replicas() -> None:
    apart = [
        option
        for option in serving_options(CHOICES, replace(QUESTION, device_count=4, link_bytes_per_s=50e9), "vllm")
        if option.prefill_replicas
    ]
    assert {option.tensor_parallel for option in apart} == {1, 2}
    assert all(0 < option.prefill_replicas < option.replicas for option in apart)
    assert all(option.first_token_s <= 1.0 and option.token_s <= 0.03 for option in apart if option.rate_per_s)


def test_a_slow_link_is_what_ends_the_rate() -> None:
    """A mean prompt's cache of 60 MB over 0.1 GB/s takes longer than its answer may."""
    slow = serving_options(CHOICES, replace(QUESTION, device_count=2, link_bytes_per_s=1e8), "vllm")
    fast = serving_options(CHOICES, replace(QUESTION, device_count=2, link_bytes_per_s=1e11), "vllm")
    rates = [next(o.rate_per_s for o in found if o.prefill_replicas) for found in (slow, fast)]
    assert rates[0] < rates[1]


def test_the_command_prints_what_the_library_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*WORDS, "--requests", "80", "--prompt", "400", "--output", "60", "--sigma", "0.7", "--longest", "2000"]
    words += ["--slots", "16", "--max-ttft", "1", "--max-time-per-token", "0.03", "--device-count", "2"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    lengths = (replace(lengths, max_tokens=10_000) for lengths in LENGTHS)
    question = replace(QUESTION, trace=synthetic_trace(80, *lengths, 1.0, longest_request=2_000), device_count=2)
    found = serving_options(CHOICES, question, "vllm")
    assert [row["rate_per_s"] for row in printed] == [option.rate_per_s for option in found]
    assert main([*words, "--rate", "5"]) == 0
    text = capsys.readouterr().out
    assert "For 5 requests/s: 1 card as 1 × 1; to stand the loss of a node 2 cards as 2 × 1." in text
    assert main([*words, "--rate", "1000000"]) == 1
    capsys.readouterr()
    assert main([*words[:-3], "0.000001"]) == 1
    assert capsys.readouterr().out.startswith("Even a request alone misses the target")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Give a target: --max-ttft"),
        (["--max-ttft", "0"], "A target of 0 s for the first token is not possible"),
        (["--max-ttft", "-1"], "A target of -1 s"),
        (["--max-ttft", "nan"], "is not a number"),
        (["--max-ttft", "1", "--rate", "0"], "A rate of 0 requests per second is not possible"),
        (["--max-ttft", "1", "--device-count", "0"], "device_count = 0 is not possible"),
        (["--max-ttft", "1", "--device-count", "1000000000000"], "device_count = 1,000,000,000,000 is not possible"),
        (["--max-ttft", "1", "--node-devices", "0"], "--node-devices has no effect for one card"),
        (["--max-ttft", "1", "--device-count", "2", "--node-devices", "0"], "node_devices = 0 is not possible"),
        (["--max-ttft", "1", "--device-count", "2", "--node-devices", "3"], "of 2 cards in all so many cannot fail"),
        (["--max-ttft", "1", "--slots", "0"], "1 to 65,536 slots"),
        (["--max-ttft", "1", "--slots", "1000000000000"], "between 1 and 10,000,000"),
        (["--max-ttft", "1", "--slots", "1000000", "--requests", "10"], "1 to 65,536 slots"),
        (["--max-ttft", "1", "--block-tokens", "0"], "Blocks must be of 1 to 1,048,576 tokens"),
        (["--max-ttft", "1", "--device-count", "2", "--link", "0"], "A link of 0 bytes a second is not possible"),
        (["--max-ttft", "1", "--device-count", "2", "--link", "fast"], "link 'fast' is not a size"),
        (["--max-ttft", "1", "--think", "-5"], "think_s = -5 is not possible"),
        (["--max-ttft", "1", "--requests", "0"], "requests = 0 is not possible"),
        (["--max-ttft", "1", "--max-num-batched-tokens", "8"], "is less than the 256 slots"),
        (["--max-ttft", "1", "--workload", "none"], "Workload 'none' is not known"),
    ],
)
def test_bad_questions_get_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_no_slots_no_question() -> None:
    with pytest.raises(PlannerError, match="give 1 to 4,096 cards"):
        replace(QUESTION, device_count=5_000)


OPTION = options()[1]


def split(tensor_parallel: int, rate_per_s: float, **changes: object) -> ServingOption:
    """One replica that takes *rate_per_s*."""
    changes = {"rate_per_s": rate_per_s, "replicas": 1, "tensor_parallel": tensor_parallel, **changes}
    return replace(OPTION, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rate_per_s", "cards", "spared"),
    [(1.0, (1, 1), (2, 1)), (2.0, (2, 1), (3, 1)), (3.5, (2, 2), (4, 1)), (4.0, (2, 2), (4, 2)), (8.0, (4, 2), (6, 2))],
)
def test_a_rate_takes_the_fewest_cards_over_all_splits(
    rate_per_s: float, cards: tuple[int, int], spared: tuple[int, int]
) -> None:
    """A card takes 1.25 requests a second and a pair 4: one request is a card's, though pairs do more a card."""
    found = [split(2, 4.0), split(4, 4.5), split(1, 1.25), split(8, 0.0)]
    for spare_node, expected in ((False, cards), (True, spared)):
        enough = fewest_cards(found, QUESTION, rate_per_s, spare_node=spare_node)
        assert enough is not None
        assert (enough.device_count, enough.tensor_parallel) == expected


def test_replicas_that_meet_the_target_by_chance_are_no_answer_to_a_rate() -> None:
    chance = split(8, 0.004, is_chance=True, rate_low_per_s=0.0)
    assert fewest_cards([chance, split(4, 0.0)], QUESTION, 1.0) is None
    text = serving_text([chance], replace(QUESTION, device_count=8), 1.0)
    assert text.startswith("A request alone just meets the target on 8 cards")
    assert "No number of such replicas surely takes 1 request/s within the target." in text


def test_a_long_prompt_that_just_misses_takes_no_number_of_cards(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["capacity", "--model", "llama-3-70b", "--device", "l4", "--device-count", "8", "--max-ttft", "2"]
    assert main([*words, "--rate", "1"]) == 1
    text = capsys.readouterr().out
    assert "No number of such replicas surely takes 1 request/s" in text
    assert "Note: Drawn: 1,024 requests, prompts of 1,024 and answers of 256 tokens at the median, sigma 1;" in text


def test_no_drawn_request_is_longer_than_the_model_was_made_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Llama 2 was made for 4,096 tokens: the longest of 64 drawn requests would have more."""
    words = ["simulate", "--model", "llama-2-7b", "--device", "h100-sxm", "--requests", "64", "--json"]
    assert main(words) == 0
    usual = json.loads(capsys.readouterr().out)
    assert usual["pool"]["reserved_tokens"] <= 4_096
    assert main([*words, "--longest", "8192"]) == 0
    longer = json.loads(capsys.readouterr().out)
    assert longer["pool"]["reserved_tokens"] > 4_096
    assert any("made for (4,096)" in warning for warning in longer["warnings"])


def test_what_no_request_reached_has_no_times(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--requests", "80", "--max-ttft", "0.0001"]) == 1
    text = capsys.readouterr().out
    assert "0.00 s" not in text
    assert "0.0 ms" not in text
