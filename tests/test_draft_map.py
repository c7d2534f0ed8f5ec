"""What a draft is worth over acceptance, length and users; and what was published for each kind of draft."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.choices import Choices
from planner.draft import EAGLE, MTP, NGRAM
from planner.draft_trade import DraftWish, draft_points
from planner.presets import load_preset
from planner.published_drafts import MODEL, published_acceptance, smaller_siblings
from planner.speculation import speculate
from planner.speculation_text import (
    alone_sentence,
    draft_name,
    published_words,
    together_sentence,
    trade_sentence,
    users_sentence,
    verdict_title,
)
from planner.speed.draft_map import (
    Drafting,
    alone_map,
    best_length,
    break_even_acceptance,
    over_users,
    together_map,
)
from tests.test_speed_sweeps import CONSTANTS
from tests.test_speed_sweeps import MODEL as H100

DRAFTING = Drafting(model=H100, constants=CONSTANTS, context_tokens=2_048, overhead=1.17, draft_cost=0.1)


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
