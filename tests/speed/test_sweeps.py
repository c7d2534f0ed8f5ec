"""Speed over one quantity at a time: the same figures as one answer gives, and how many users stay fast enough."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue.performance_presets import find_speed_constants, kernels_of
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.speed.answer import speed
from planner.speed.constants import SpeedConstants
from planner.speed.sweeps import (
    UserRange,
    by_context,
    by_prompt,
    by_users,
    drawn_users,
    fast_enough_users,
    pace_at,
    phases,
    spaced,
)
from planner.speed.work import Model, prepare_speed
from planner.text.speed import knee_sentence, speed_sentence, speed_title


def h100() -> tuple[Model, SpeedConstants]:
    chosen = choose(Choices(model="llama-3.1-8b", device="h100-sxm"))
    model = prepare_speed(chosen.architecture, chosen.deployment, kernels_of("vllm"))
    return model, find_speed_constants("vllm", "h100-sxm", False)


MODEL, CONSTANTS = h100()


def answer(users: int, max_users: int | None, context: int = 2_048):
    return speed(
        MODEL, CONSTANTS, context_tokens=context, users=users, prompt_tokens=context - 512, max_users=max_users
    )


def test_every_point_is_what_one_answer_says() -> None:
    result = answer(64, 250)
    points = {point.users: point for point in by_users(MODEL, CONSTANTS, 2_048, 250, (64,))}
    assert (points[64].step, points[64].each, points[64].together) == (
        result.step,
        result.tokens_per_s_user,
        result.tokens_per_s,
    )
    assert min(points) == 1
    assert max(points) == 250
    first = next(p for p in by_prompt(MODEL, CONSTANTS, 8_192, (1_536,)) if p.prompt_tokens == 1_536)
    assert first.time == result.time_to_first_token
    longer = by_context(MODEL, CONSTANTS, 64, 8_192, (2_048,))
    assert next(p for p in longer if p.context_tokens == 2_048).step == result.step


@given(st.integers(1, 5_000), st.integers(0, 5_000))
def test_spaced_numbers_rise_from_the_least_to_the_most(least: int, more: int) -> None:
    found = spaced(least, least + more)
    assert (found[0], found[-1]) == (least, least + more)
    assert found == sorted(set(found))


@given(st.sampled_from([5.0, 20.0, 60.0, 110.0]))
def test_the_last_user_who_is_fast_enough(target: float) -> None:
    """n users get it and n + 1 do not; the slow end of the range serves fewer, the fast end more."""
    found = fast_enough_users(MODEL, CONSTANTS, 2_048, target)
    assert pace_at(MODEL, CONSTANTS, found.value, 2_048).each.value >= target
    assert pace_at(MODEL, CONSTANTS, found.value + 1, 2_048).each.value < target
    assert pace_at(MODEL, CONSTANTS, found.low, 2_048).each.low >= target
    assert found.low <= found.value <= found.high


def test_no_user_is_fast_enough_beyond_the_ceiling() -> None:
    assert fast_enough_users(MODEL, CONSTANTS, 2_048, 10_000) == UserRange(value=0, low=0, high=0)
    with pytest.raises(PlannerError, match="no target"):
        fast_enough_users(MODEL, CONSTANTS, 2_048, 0)


def test_a_prompts_token_costs_the_prompts_time_shared_out() -> None:
    reading, one, many = phases(MODEL, CONSTANTS, 64, 2_048, 1_536)
    result = answer(64, 250)
    assert reading.token.value_s * 1_536 == pytest.approx(result.time_to_first_token.value_s)
    assert many.token.value_s * 64 == pytest.approx(result.step.value_s)
    assert one.token.value_s > many.token.value_s > reading.token.value_s
    for phase in (reading, one, many):
        assert sum(phase.shares.values()) == pytest.approx(1)
    # An 8B model: one user waits for 15 GiB of weights; 64 × 0.25 GiB of cache are as much again.
    assert (reading.bound, one.bound) == ("arithmetic", "weights")
    assert many.cache_share == pytest.approx(16 / (16 + 13.98), abs=0.01)


def test_pictures_go_beyond_what_is_asked_and_held() -> None:
    assert drawn_users(asked=4, knee_users=15, most_users=7) == 15
    assert drawn_users(asked=4, knee_users=150, most_users=7) == 14
    assert drawn_users(asked=4, knee_users=15, most_users=5_000) == 90
    assert drawn_users(asked=4, knee_users=15, most_users=None) == 30
    assert drawn_users(asked=100, knee_users=15, most_users=7) == 200


@pytest.mark.parametrize(
    ("users", "memory", "fast", "title"),
    [
        (4, 7, 25, "Fast enough for up to 7 users"),
        (4, None, 25, "Fast enough for up to 25 users"),
        (1, 1, 25, "Fast enough for 1 user"),
        (64, 250, 25, "Too slow for 64 users at once, fast enough for up to 25 users"),
        (64, 7, 25, "Memory holds only 7 of 64 users, fast enough for up to 7 users"),
        (64, 30, 25, "Memory holds only 30 of 64 users, fast enough for up to 25 users"),
    ],
)
def test_the_title_says_who_is_served(users: int, memory: int | None, fast: int, title: str) -> None:
    assert speed_title(answer(users, memory), UserRange(value=fast, low=fast, high=fast)) == title


def test_too_slow_and_too_big_are_said_as_plainly() -> None:
    none = UserRange(value=0, low=0, high=0)
    assert speed_title(answer(4, 250), none).startswith("Too slow even for one user: ")
    assert speed_title(answer(4, 0), none).startswith("It does not fit. If it did: ")
    assert "Memory has no room for a single one" in speed_sentence(answer(4, 0), none, 20)


def test_memory_may_end_before_the_knee() -> None:
    assert "Memory ends before it" in knee_sentence(15, 7)
    assert "everybody waits" in knee_sentence(15, 50)
    assert knee_sentence(15, None) == knee_sentence(15, 50)
