"""Speculative decoding: figures by hand, laws, and Leviathan's measurements."""

import json
import math
from statistics import median

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.catalogue.performance_presets import drafts
from planner.cli import main
from planner.errors import PlannerError
from planner.speculation import (
    acceptance_for,
    best_draft_tokens,
    break_even_acceptance,
    expected_tokens,
    speculate,
    speedup,
)
from tests.draft_readings import ERROR_LIMIT, formula_errors

ACCEPTANCES = st.floats(0, 1)
DRAFT_TOKENS = st.integers(0, 64)
COSTS = st.floats(0, 2)


@pytest.mark.parametrize(
    ("acceptance", "draft_tokens", "draft_cost", "factor"),
    [(0.9, 8, 0.1, 3.40), (0.3, 8, 0.1, 0.79), (0.3, 4, 0.2, 0.79)],
)
def test_wins_and_slow_downs(acceptance: float, draft_tokens: int, draft_cost: float, factor: float) -> None:
    assert round(speedup(acceptance, draft_tokens, draft_cost), 2) == factor


def test_a_draft_of_a_fifth_makes_1_4_tokens_for_1_8_passes() -> None:
    # 1 + 0.3 + 0.09 + 0.027 + 0.0081 = 1.4251; 1 + 4 · 0.2 = 1.8
    assert math.isclose(expected_tokens(0.3, 4), 1.4251)
    assert math.isclose(speedup(0.3, 4, 0.2), 1.4251 / 1.8)


@given(DRAFT_TOKENS, COSTS)
def test_a_draft_that_is_never_accepted_never_helps(draft_tokens: int, draft_cost: float) -> None:
    assert expected_tokens(0, draft_tokens) == 1
    assert speedup(0, draft_tokens, draft_cost) <= 1
    assert best_draft_tokens(0, draft_cost) == 0


@given(DRAFT_TOKENS)
def test_a_draft_that_is_always_accepted_yields_every_token(draft_tokens: int) -> None:
    assert expected_tokens(1, draft_tokens) == draft_tokens + 1


@given(ACCEPTANCES, DRAFT_TOKENS)
def test_the_closed_form_is_the_sum_of_powers(acceptance: float, draft_tokens: int) -> None:
    powers = math.fsum(acceptance**index for index in range(draft_tokens + 1))
    assert math.isclose(expected_tokens(acceptance, draft_tokens), powers, rel_tol=1e-12)


@given(st.floats(0, 0.99), st.floats(0.01, 2))
def test_no_draft_length_beats_the_best(acceptance: float, draft_cost: float) -> None:
    best = best_draft_tokens(acceptance, draft_cost)
    assert best is not None
    factor = speedup(acceptance, best, draft_cost)
    assert all(speedup(acceptance, other, draft_cost) <= factor * (1 + 1e-12) for other in range(best + 50))


@given(st.integers(1, 64), st.floats(0, 1), ACCEPTANCES)
def test_above_the_break_even_it_is_faster_and_below_slower(
    draft_tokens: int, draft_cost: float, acceptance: float
) -> None:
    threshold = break_even_acceptance(draft_tokens, draft_cost)
    assert threshold is not None
    assume(abs(acceptance - threshold) > 1e-9)
    assert (speedup(acceptance, draft_tokens, draft_cost) > 1) == (acceptance > threshold)


@given(st.floats(1.001, 2), st.integers(1, 64))
def test_a_draft_dearer_than_the_model_never_breaks_even(draft_cost: float, draft_tokens: int) -> None:
    assert break_even_acceptance(draft_tokens, draft_cost) is None
    assert speedup(1, draft_tokens, draft_cost) < 1


@given(ACCEPTANCES, st.integers(1, 32))
def test_an_acceptance_comes_back_from_its_tokens(acceptance: float, draft_tokens: int) -> None:
    tokens = expected_tokens(acceptance, draft_tokens)
    assert math.isclose(acceptance_for(tokens, draft_tokens), acceptance, rel_tol=1e-6, abs_tol=1e-9)


def test_edges() -> None:
    assert (best_draft_tokens(1, 0.5), best_draft_tokens(0.5, 0), best_draft_tokens(1, 1)) == (None, None, 0)
    assert [speculate(*edge).best_speedup for edge in ((1, 4, 0.5), (0.5, 4, 0), (1, 4, 0))] == [2, 2, None]
    assert (break_even_acceptance(8, 1), break_even_acceptance(8, 0), break_even_acceptance(0, 5)) == (1, 0, 0)


@pytest.mark.parametrize(
    ("acceptance", "draft_tokens", "draft_cost", "name"),
    [
        (1.1, 4, 0.1, "acceptance = 1.1"),
        (-0.1, 4, 0.1, "acceptance = -0.1"),
        (math.nan, 4, 0.1, "acceptance = nan"),
        (0.5, -1, 0.1, "draft_tokens = -1"),
        (0.5, 4, -0.1, "draft_cost = -0.1"),
        (0.5, 4, math.inf, "draft_cost = inf"),
    ],
)
def test_what_is_no_share_is_refused(acceptance: float, draft_tokens: int, draft_cost: float, name: str) -> None:
    with pytest.raises(PlannerError, match=f"^{name} is not possible"):
        speculate(acceptance, draft_tokens, draft_cost)


def test_leviathans_twelve_measurements() -> None:
    """T5-XXL on TPU v4: half of the rows are within 15%, as close as the plain formula comes."""
    errors = formula_errors()
    assert len(errors) == 12
    assert round(median(map(abs, errors)), 3) == 0.146 <= ERROR_LIMIT
    assert round(max(errors, key=abs), 2) == 0.47


def test_every_kind_of_draft_has_a_published_reading() -> None:
    methods = {draft.method for draft in drafts().values() if draft.acceptance or draft.tokens_per_pass}
    assert {"draft model", "n-gram", "MTP", "EAGLE", "EAGLE-3", "Medusa"} <= methods


def test_a_published_chain_implies_its_acceptance() -> None:
    # 1 + α + α² = 1.89
    acceptance = drafts()["eagle-llama-3.1-8b-mt-bench-2"].acceptance_per_token()
    assert acceptance is not None
    assert math.isclose(1 + acceptance + acceptance**2, 1.89)
    assert drafts()["eagle-3-llama-3.1-8b-mt-bench-t-0"].acceptance_per_token() is None


def test_a_measured_length_stands_for_the_acceptance(capsys: pytest.CaptureFixture[str]) -> None:
    """1 + α + α² = 1.89 for a chain of two; a chain of two yields no more than three."""
    words = ["speculate", "--draft-tokens", "2", "--draft-cost", "0.1", "--json"]
    assert main([*words, "--tokens-per-pass", "1.89"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["expected_tokens"] == pytest.approx(1.89)
    assert printed["acceptance"] == pytest.approx((4.56**0.5 - 1) / 2)
    assert main([*words, "--tokens-per-pass", "3.5"]) == 2
    assert "yields between 1 and 3 tokens" in capsys.readouterr().err
    assert main([*words, "--tokens-per-pass", "1.89", "--acceptance", "0.5"]) == 2
    assert "not both" in capsys.readouterr().err


def test_the_command_prints_what_the_library_says(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speculate", "--acceptance", "0.3", "--draft-tokens", "8", "--draft-cost", "0.1"]
    assert main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    result = speculate(0.3, 8, 0.1)
    assert printed["speedup"] == result.speedup
    assert printed["expected_tokens"] == result.expected_tokens
    assert printed["best_draft_tokens"] == result.best_draft_tokens == 1
    assert printed["break_even_acceptance"] == result.break_even_acceptance
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("Slower, 0.79 (0.57 to 1.10) times the speed without a draft: a pass")
