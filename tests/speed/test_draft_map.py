"""What a draft is worth over acceptance, length and users; and what was published for each kind of draft."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue.performance_presets import drafts
from planner.catalogue.published_drafts import METHODS, MODEL, method_hint, published_acceptance, smaller_siblings
from planner.cli import main
from planner.draft import EAGLE, MTP, NGRAM
from planner.draft_trade import DraftWish, draft_points
from planner.engines import ENGINES
from planner.inputs.choices import Choices
from planner.presets import load_preset
from planner.speculation import DraftOverhead, speculate
from planner.speed.draft_map import (
    Drafting,
    alone_map,
    best_length,
    break_even_acceptance,
    over_users,
    together_map,
)
from planner.text.speculation import (
    alone_sentence,
    draft_name,
    published_words,
    together_sentence,
    trade_sentence,
    users_sentence,
    verdict_title,
)
from planner.weights import active_parameters
from tests.speed.test_sweeps import CONSTANTS
from tests.speed.test_sweeps import MODEL as H100

OVERHEAD = DraftOverhead(pass_s=1e-3, request_s=1e-4, source="", p90_error=0.2, formula_p90_error=0.4)
DRAFTING = Drafting(model=H100, constants=CONSTANTS, context_tokens=2_048, overhead=OVERHEAD, draft_cost=0.1)


@given(st.integers(1, 16), st.sampled_from([1, 8, 64, 512]))
def test_break_even_is_where_the_speed_is_that_without_a_draft(tokens: int, users: int) -> None:
    even = break_even_acceptance(DRAFTING.at(users, 0.5, tokens))
    if even is None:
        assert DRAFTING.at(users, 1.0, tokens).speedup < 1
    else:
        assert DRAFTING.at(users, even, tokens).speedup == pytest.approx(1, abs=1e-9)


@given(st.floats(0, 1), st.sampled_from([1, 64]))
def test_no_length_beats_the_best_one(acceptance: float, users: int) -> None:
    best = best_length(DRAFTING, users, acceptance)
    assert best.speedup >= 1
    assert best.speedup == max(DRAFTING.at(users, acceptance, tokens).speedup for tokens in range(17))
    if acceptance == 0:
        assert best.draft_tokens == 0


def test_the_map_by_the_plain_formula() -> None:
    cells = {(cell.acceptance, cell.draft_tokens): cell.speedup for cell in alone_map(0.1, [0.3, 0.9], [1, 8])}
    assert {key: round(value, 2) for key, value in cells.items()} == {
        (0.3, 1): 1.18,
        (0.9, 1): 1.73,
        (0.3, 8): 0.79,
        (0.9, 8): 3.40,
    }


def test_the_map_for_many_is_the_batch_formula_in_each_cell() -> None:
    for cell in together_map(DRAFTING, 64, [0.3, 0.9], [1, 8]):
        assert cell.speedup == DRAFTING.at(64, cell.acceptance, cell.draft_tokens).speedup


def test_many_users_turn_a_gain_into_a_loss() -> None:
    points = over_users(DRAFTING, 0.6, 4, 512, (64,))
    assert points[0].speedup > 1 > points[-1].speedup
    assert 64 in [point.users for point in points]
    first_slower = next(point.users for point in points if point.speedup < 1)
    assert f"From about {first_slower:,} users on it makes all of them slower." in users_sentence(points)


@pytest.mark.parametrize(
    ("speedup", "title"),
    [
        (3.401, "Faster: 3.40 times the speed"),
        (0.79, "Slower: 0.79 times the speed"),
        (0.9999, "No faster, no slower with a draft"),
    ],
)
def test_a_slow_down_is_said_as_plainly_as_a_win(speedup: float, title: str) -> None:
    assert verdict_title(speedup) == title


def test_the_textbooks_slow_down_in_a_sentence() -> None:
    assert alone_sentence(speculate(0.3, 8, 0.1)) == (
        "For one request alone, a draft of 8 tokens costs 0.80 passes and yields **1.43 tokens** instead of 1. "
        "**It pays from 44% acceptance** at this length; at 30% the best length is 1 (1.18 times)."
    )
    assert "**It never pays** at this length" in alone_sentence(speculate(0.3, 8, 1.5))
    found = DRAFTING.at(64, 0.0, 4)
    assert together_sentence(found, 0.5, best_length(DRAFTING, 64, 0.0)).endswith("at 0% no length helps.")


def test_published_acceptance_by_kind() -> None:
    """n-gram: 1.73 tokens a pass need at least 1 − 1/1.73; MTP: 0.744, 0.797 and 0.85."""
    ngram, mtp = published_acceptance(NGRAM), published_acceptance(MTP)
    assert (ngram.readings, round(ngram.typical, 3)) == (1, 0.422)
    assert (mtp.low, mtp.typical, mtp.high, mtp.readings) == pytest.approx((0.744, 0.797, 0.85, 3), abs=1e-3)
    assert published_acceptance(MODEL).high == 0.9
    assert published_acceptance(EAGLE).low == pytest.approx(0.541, abs=1e-3)
    assert published_words(mtp) == "74% – 85% in 3 published readings, the middle 80%"


def test_siblings_are_smaller_and_speak_the_same_tokens() -> None:
    names = [preset.name for preset in smaller_siblings(load_preset("llama-3.3-70b"))]
    assert names[0] == "llama-3.2-1b"
    assert "llama-2-7b" not in names
    assert "llama-3.3-70b" not in names
    assert smaller_siblings(load_preset("llama-3.2-1b")) == ()


def test_what_the_fastest_draft_takes() -> None:
    choices = Choices(model="llama-3.1-8b", device="rtx-4090", users=4, context=8_192, overhead="1.5GiB")
    wishes = [DraftWish(name=name, acceptance=0.7, draft_tokens=4) for name in ("eagle", "ngram")]
    points = draft_points(choices, wishes, "vllm", load_preset("llama-3.1-8b"))
    assert [draft_name(point) for point in points] == ["no draft", "EAGLE head", "n-gram"]
    said = trade_sentence(points[:2], 4, 8_192)
    assert f"takes {points[1].lost_tokens:,} tokens: each of 4 users keeps" in said
    assert "less than the 100,000 asked for" in trade_sentence(points[:2], 4, 100_000)
    assert trade_sentence(points[:1], 4, 8_192).startswith("None of these drafts")


def test_a_sibling_computes_at_most_a_quarter_of_what_the_model_does() -> None:
    """DeepSeek-V4-Flash has 13 billion active parameters and V3 37 billion: hardly cheaper a token."""
    for name in (
        "deepseek-v3",
        "llama-3.3-70b",
        "qwen3-32b",
        "qwen3-30b-a3b",
        "gemma-3-27b",
        "kimi-k2",
        "gpt-oss-120b",
    ):
        model = load_preset(name)
        for sibling in smaller_siblings(model):
            assert 4 * active_parameters(load_preset(sibling.name)) <= active_parameters(model)
    assert smaller_siblings(load_preset("deepseek-v3")) == ()
    assert "qwen3-0.6b" in [preset.name for preset in smaller_siblings(load_preset("qwen3-30b-a3b"))]


@pytest.mark.parametrize("method", sorted({draft.method for draft in drafts().values()}))
def test_a_published_method_that_is_named_as_a_draft_is_explained(method: str) -> None:
    """Each is planned under a name, or is said not to be, with what is."""
    hint = method_hint(method)
    planned = [kind for kind, methods in METHODS.items() if method in methods]
    if planned in ([], [MODEL]):
        assert hint.endswith("Without a model of their own draft: mtp, eagle, ngram.")
    else:
        assert hint == f"{method} is planned as {planned[0]}."
    assert method_hint(method.lower().replace("-", "")) == hint


@pytest.mark.parametrize("command", ["plan", "speculate", "table of drafts"])
def test_an_unknown_draft_says_what_may_be_named(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    card = ["--model", "llama-3.1-8b", "--device", "rtx-4090"]
    drafting = ["--acceptance", "0.7", "--draft-tokens", "4"]
    words = {
        "plan": ["plan", *card, "--draft-model", "medusa", "--draft-tokens", "4"],
        "speculate": ["speculate", *card, "--batch", "1", *drafting, "--draft-model", "medusa"],
        "table of drafts": ["speculate", *card, "--batch", "1", "--draft", "medusa=0.7"],
    }
    assert main(words[command]) == 2
    said = capsys.readouterr().err
    assert "Medusa is published (kvbudget drafts) but not planned: it drafts trees." in said
    assert said.endswith("Without a model of their own draft: mtp, eagle, ngram.\n")


ENGINE_WORDS = {
    "minimum": "most engines refuse it: draft with a model of the same vocabulary",
    "transformers": "assistant_tokenizer",
    "llama_cpp": "llama.cpp refuses it",
    "ik_llama_cpp": "llama.cpp refuses it",
    "ollama": "llama.cpp refuses it",
    "vllm": "use_heterogeneous_vocab",
    "sglang": "SGLang refuses it",
    "tensorrt_llm": "most engines refuse it",
    "lmdeploy": "most engines refuse it",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_draft_in_another_vocabulary_is_warned_of_wherever_one_is_named(
    engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Llama-2 has 32,000 tokens, Llama-3.1 128,256; Llama-3.2 shares the latter."""
    card = ["--model", "llama-3.1-8b", "--device", "h100-sxm", "--engine", engine, "--speed-engine", "vllm"]
    together = ["speculate", *card, "--batch", "1"]
    one = [*together, "--acceptance", "0.7", "--draft-tokens", "4", "--draft-model"]
    for words in ([*one, "llama-2-7b"], [*together, "--draft", "llama-2-7b=0.7"]):
        assert main(words) in (0, 1)
        said = capsys.readouterr().out
        headline = said.removeprefix("It does not fit. If it did: ").lower()
        assert headline.startswith(
            ("another vocabulary. if it were the same: ", "none of these drafts makes 1 request")
        )
        assert "cannot be checked token by token, and " in said
        assert ENGINE_WORDS[engine] in said
    assert main([*one, "llama-3.2-1b"]) in (0, 1)
    assert "vocabulary" not in capsys.readouterr().out
