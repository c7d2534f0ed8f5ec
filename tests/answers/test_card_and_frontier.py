"""The card's bar and the border of what fits, before anything is drawn."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.answers.answer import answer
from planner.answers.card import Part, driver_keeps_bytes, segments
from planner.budget import prepare
from planner.capacity import concurrency, max_context_tokens, max_users
from planner.deployment import Workload
from planner.frontier import frontier
from planner.inputs.choices import Choices, choose
from tests.builders import attention, deployment, layer, model, state

FULL = model(layer(attention()))  # 512 bytes a token
HYBRID = model(layer(attention(window_tokens=1_000)), layer(attention()), layer(state()))


@pytest.mark.parametrize("users", [1, 4, 40])
def test_the_bar_has_no_gap_and_no_overlap(users: int) -> None:
    chosen = choose(Choices(model="llama-3.1-8b", device="rtx-4090", overhead="1.5GiB", users=users))
    device = chosen.deployment.device
    result = answer(chosen.architecture, chosen.deployment, chosen.workload)
    bar = segments(result, device)
    assert bar[0].start_bytes == 0
    assert all(left.end_bytes == right.start_bytes for left, right in pairwise(bar))
    assert bar[-1].end_bytes == max(result.total_bytes, device.driver_bytes or 0)
    occupied = sum(part.bytes for part in bar if part.part in (Part.WEIGHTS, Part.RUNTIME, Part.CACHE))
    assert occupied == result.total_bytes


def test_what_an_engine_leaves_to_others_stands_after_what_is_free_and_is_occupied_where_too_much_is_asked() -> None:
    def parts(users: int) -> list[Part]:
        chosen = choose(Choices(model="llama-3.1-8b", device="rtx-4090", engine="vllm", context=8_192, users=users))
        result = answer(chosen.architecture, chosen.deployment, chosen.workload)
        bar = segments(result, chosen.deployment.device)
        assert all(left.end_bytes == right.start_bytes for left, right in pairwise(bar))
        return [segment.part for segment in bar]

    assert parts(1)[-4:] == [Part.CACHE, Part.FREE, Part.OUTSIDE, Part.DRIVER]
    assert Part.OUTSIDE not in parts(40)


def test_the_driver_keeps_what_it_counts_and_programs_do_not_see() -> None:
    device = choose(Choices(model="llama-3.1-8b", device="rtx-4090")).deployment.device
    assert driver_keeps_bytes(device) == 25_757_220_864 - 25_382_879_232
    assert driver_keeps_bytes(choose(Choices(model="llama-3.1-8b", memory="8GiB")).deployment.device) == 0


@given(tokens=st.integers(1, 10**5), memory_bytes=st.integers(0, 10**9))
def test_users_are_the_whole_part_of_concurrency(tokens: int, memory_bytes: int) -> None:
    ranks = prepare(HYBRID, deployment(memory_bytes))
    assert int(concurrency(ranks, tokens)) == max_users(ranks, tokens)


def test_the_border_of_full_attention_by_hand() -> None:
    # 512,000 bytes are 1,000 tokens of 512 bytes: 4 users of 250, one of 1,000.
    found = frontier(prepare(FULL, deployment(512_000)), Workload(context_tokens=250), None)
    assert (found.shortest_tokens, found.longest_tokens) == (128, 2_048)
    assert dict(found.points)[250] == 4.0
    assert found.points[-1] == (1_000, 1.0)
    assert (found.limit_users, found.most_users) == (4, 8)


def test_places_and_rises_by_hand() -> None:
    found = frontier(prepare(FULL, deployment(512_000)), Workload(context_tokens=128), None)
    assert (found.shortest_tokens, found.longest_tokens, found.most_users) == (128, 2_048, 8)
    # The axis has four doublings, the other three: a quarter of the way left of 512 is 256, where 3.9 users fit.
    assert (found.place(128), found.place(512), found.place(2_048)) == (0, 0.5, 1)
    assert found.rise(512, 1, 0.25) == pytest.approx(math.log2(1_000 / 256) / 3)
    assert found.rise(512, 6, 0.25) == 0


def test_the_border_bends_where_a_window_is_full() -> None:
    ranks = prepare(HYBRID, deployment(10**8))
    points = dict(frontier(ranks, Workload(context_tokens=4_000), 32_768).points)
    assert 1_000 in points
    # Two growing layers below the window, one above: 512 bytes a token each, and a state of 4,000 bytes.
    assert points[512] == 10**8 / (2 * 512 * 512 + 4_000)
    assert points[4_000] == 10**8 / (512 * 1_000 + 512 * 4_000 + 4_000)


@given(memory_bytes=st.integers(600, 10**8), tokens=st.integers(1, 10**5), users=st.integers(1, 1_000))
def test_the_border_falls_and_stays_on_its_axes(memory_bytes: int, tokens: int, users: int) -> None:
    """More tokens never mean more users."""
    ranks = prepare(FULL, deployment(memory_bytes))
    found = frontier(ranks, Workload(context_tokens=tokens, users=users), None)
    counts = [count for _, count in found.points]
    assert counts == sorted(counts, reverse=True)
    assert all(found.shortest_tokens <= point <= found.longest_tokens for point, _ in found.points)
    assert all(1 <= count <= found.most_users for count in counts)
    assert users <= found.most_users
    assert found.points[-1][0] == max_context_tokens(ranks)


def test_nothing_is_drawn_where_nothing_loads() -> None:
    chosen = choose(Choices(model="70b-class", memory="8GiB"))
    found = frontier(prepare(chosen.architecture, chosen.deployment), chosen.workload, None)
    assert (found.points, found.limit_users) == ((), 0)
