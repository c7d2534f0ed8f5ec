"""--fit over several cards: each keeps its margin, and together they hold more than one."""

from dataclasses import replace
from itertools import pairwise

import pytest

from planner.advice import as_fit_chooses
from planner.budget import prepare
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch
from planner.settings.setting import parse_ints
from planner.units import GIB

EXPERTS = Choices(model="gpt-oss-120b", engine="llama_cpp", context=32_768)
DENSE = Choices(model="llama-3.1-70b", engine="llama_cpp", weights="q4_k_m", context=8192)
CARDS = (
    {"device": "rtx-3090", "device_count": 2},
    {"devices": "rtx-4090,rtx-3090,rtx-3060"},
    {"devices": "rtx-3060,rtx-4090"},
    {"device": "rtx-3060", "device_count": 3},
)


def fitted(choices: Choices) -> Choices:
    found = as_fit_chooses(choices, choose(choices).architecture)
    assert found is not None
    return found[1]


def free_bytes(choices: Choices) -> list[int]:
    chosen = choose(choices)
    tokens, users = chosen.workload.context_tokens, chosen.workload.users
    ranks = prepare(chosen.architecture, chosen.deployment)
    return [rank.pool_bytes - rank.need_bytes(tokens, rank.requests(users)) for rank in ranks]


def layers_on_host(choices: Choices) -> int:
    """Layers whose experts lie in main memory."""
    values = choose(choices).deployment.settings.values
    return values["n_cpu_moe"] or len(values["cpu_moe_layers"] or ())


@pytest.mark.parametrize("cards", CARDS, ids=str)
@pytest.mark.parametrize("plan", [EXPERTS, DENSE], ids=["experts", "dense"])
def test_every_card_keeps_its_margin(plan: Choices, cards: dict[str, str | int]) -> None:
    found = free_bytes(fitted(replace(plan, **cards)))  # type: ignore[arg-type]
    assert min(found) >= GIB


def test_two_cards_hold_the_experts_of_more_layers_than_one() -> None:
    """A card of 24 GiB holds those of 11 of 36 layers, beside the attention of all; two hold those of 25:
    what lies in main memory is copied to the first card alone."""
    one = layers_on_host(fitted(replace(EXPERTS, device="rtx-3090")))
    two = layers_on_host(fitted(replace(EXPERTS, device="rtx-3090", device_count=2)))
    three = layers_on_host(fitted(replace(EXPERTS, device="rtx-3090", device_count=3)))
    assert (one, two) == (25, 11)
    assert 1.55 * GIB * (one - two) < 24 * GIB  # A layer's experts weigh 1.57 GiB.
    assert three <= two - 11


@pytest.mark.parametrize("cards", CARDS, ids=str)
def test_no_card_has_room_for_one_more_layer(cards: dict[str, str | int]) -> None:
    """What lies in main memory of a model with experts would fit on no card that is not followed by another's."""
    choices = fitted(replace(EXPERTS, **cards))  # type: ignore[arg-type]
    if layers_on_host(choices):
        layer_bytes = 1.6 * GIB
        assert max(free_bytes(choices)) < GIB + 2 * layer_bytes


def test_the_command_says_the_same() -> None:
    choices = fitted(replace(EXPERTS, device="rtx-3090", device_count=2))
    chosen = choose(choices)
    command = launch(choices, chosen)
    assert command is not None
    assert "--tensor-split 13,24" in command.text
    assert "--override-tensor" in command.text
    again = parse_launch("llama_cpp", command.text, replace(choices, set=()))
    assert set(again.set) == set(choices.set)
    assert free_bytes(again) == free_bytes(choices)


def test_what_is_no_split_is_refused() -> None:
    for split in ("1,1,1", "0,0"):
        choices = replace(DENSE, device="rtx-3090", device_count=2, set=(f"tensor_split={split}",))
        with pytest.raises(PlannerError, match="shares for 2 cards"):
            prepare(choose(choices).architecture, choose(choices).deployment)


@pytest.mark.parametrize(("text", "numbers"), [("3", (3,)), ("1-3,7", (1, 2, 3, 7)), ("", None), ("1-", None)])
def test_lists_of_numbers(text: str, numbers: tuple[int, ...] | None) -> None:
    assert parse_ints(text) == numbers
    assert numbers is None or all(one < two for one, two in pairwise(numbers))
