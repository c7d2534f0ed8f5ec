"""What a cache saves, against the loops that the closed forms stand for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cli import main
from planner.errors import PlannerError
from planner.multiply_accumulates import cache_arithmetic, cached, recomputed

TOKENS = st.integers(1, 200)
WIDTHS = st.integers(1, 256)


def test_4096_tokens_need_67_mb_of_scores_without_a_cache_and_16_kb_with_one() -> None:
    result = cache_arithmetic(4_096)
    assert (result.recomputed_score_bytes, result.cached_score_bytes) == (4 * 4_096**2, 4 * 4_096)
    assert (result.recomputed_score_bytes, result.cached_score_bytes) == (67_108_864, 16_384)
    assert result.ratio == 8_193 / 3


@given(TOKENS, WIDTHS)
def test_cached_is_one_query_against_every_key_so_far(tokens: int, width: int) -> None:
    """A score and a weighted sum: 2·d for each of t keys at step t."""
    assert cached(tokens, width) == sum(2 * width * step for step in range(1, tokens + 1))


@given(TOKENS, WIDTHS)
def test_recomputed_is_every_query_again_at_every_step(tokens: int, width: int) -> None:
    assert recomputed(tokens, width) == sum(2 * width * step * step for step in range(1, tokens + 1))


@given(st.integers(1, 2**33), WIDTHS)
def test_the_ratio_is_two_thirds_of_the_tokens_and_a_third(tokens: int, width: int) -> None:
    result = cache_arithmetic(tokens, width)
    assert 3 * result.recomputed == (2 * tokens + 1) * result.cached


@pytest.mark.parametrize(("tokens", "width"), [(0, 64), (-1, 64), (2**33 + 1, 64), (1, 0)])
def test_what_no_model_has_is_refused(tokens: int, width: int) -> None:
    with pytest.raises(PlannerError, match="it must be between 1 and"):
        cache_arithmetic(tokens, width)


def test_the_command_says_sizes_as_the_page_does(capsys: pytest.CaptureFixture[str]) -> None:
    """4 · 4,096² = 67,108,864 B and 4 · 4,096 = 16,384 B, in decimal units as a token's cache is."""
    assert main(["arithmetic", "--tokens", "4096"]) == 0
    printed = capsys.readouterr().out
    assert "67.1 MB" in printed
    assert "16.4 kB" in printed
