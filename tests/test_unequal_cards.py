"""Cards that differ, and copies of the whole."""

import json

import pytest

from planner.answers.answer import Answer, answer
from planner.budget import prepare
from planner.cli import main
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.launch import launch, parse_launch


def ask(**given: object) -> Answer:
    chosen = choose(Choices(model="llama-3.1-70b", **given))  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def test_the_smaller_of_two_cards_decides_when_layers_are_cut_across_both() -> None:
    mixed = ask(devices="48GiB,24GiB", weights="int4-g128")
    small = ask(memory="24GiB", device_count=2, weights="int4-g128")
    assert mixed.memory_bytes == small.memory_bytes == 24 << 30
    assert (mixed.max_context_tokens, mixed.weights_bytes) == (small.max_context_tokens, small.weights_bytes)
    assert mixed.devices == ("48 GiB card", "24 GiB card")
    assert mixed.device_count == 2


def test_each_stage_has_the_smallest_of_its_own_cards() -> None:
    """Ranks are numbered tensor first: the first two cards are the first stage."""
    chosen = choose(
        Choices(
            model="llama-3.1-70b",
            devices="80GiB,48GiB,24GiB,16GiB",
            tensor_parallel=2,
            pipeline_parallel=2,
        )
    )
    assert [stage.memory_bytes >> 30 for stage in chosen.deployment.stages] == [48, 16]
    assert chosen.deployment.device.memory_bytes == 16 << 30


def test_llama_cpp_gives_each_card_layers_by_its_memory() -> None:
    """80 layers and the output are 81 parts; a card of 24 GiB beside one of 12 takes two thirds of them: 54."""
    chosen = choose(
        Choices(model="llama-3.1-70b", devices="24GiB,12GiB", engine="llama_cpp", weights="q2_k", context=4096)
    )
    found = answer(chosen.architecture, chosen.deployment, chosen.workload)
    assert found.fits
    alone = ask(memory="24GiB", engine="llama_cpp", weights="q2_k", context=4096, device_count=2)
    assert not alone.devices
    large, small = prepare(chosen.architecture, chosen.deployment)
    assert (len(large.rank.layers), len(small.rank.layers)) == (54, 26)
    assert small.rank.tensors
    assert not large.rank.tensors


def test_equal_cards_named_one_by_one_are_a_count() -> None:
    assert ask(devices="l4,l4", weights="int4-g128") == ask(device="l4", device_count=2, weights="int4-g128")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"devices": "l4,"}, "devices = 'l4,' is not a list of cards"),
        ({"devices": "l4,l4", "device": "l4"}, "Give --devices alone"),
        ({"devices": "l4,l4", "device_count": 3}, "device_count = 3 does not match the 2 cards of --devices."),
        ({"devices": "l4,rtx-4090", "tensor_parallel": 4}, "does not match"),
        ({"devices": "l4,rtx-9999"}, "Device 'rtx-9999' is not known"),
        ({"devices": "8GiB,0"}, "memory = 0 is not possible"),
        ({"device": "l4", "replicas": 0}, "replicas = 0 is not possible"),
        ({"device": "l4", "replicas": 2, "device_count": 3}, "replicas = 2; leave one of them out."),
    ],
)
def test_bad_lists(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(PlannerError) as raised:
        ask(**given)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("engine", ["minimum", "vllm", "llama_cpp"])
def test_replicas_share_the_users_and_nothing_else(engine: str) -> None:
    one = ask(memory="80GiB", engine=engine, weights="int4-g128" if engine != "llama_cpp" else "q4_k_m", users=3)
    two = ask(
        memory="80GiB", engine=engine, weights="int4-g128" if engine != "llama_cpp" else "q4_k_m", users=6, replicas=2
    )
    assert two.device_count == 2 * one.device_count
    assert (two.items, two.pool_tokens, two.max_context_tokens) == (one.items, one.pool_tokens, one.max_context_tokens)
    assert one.max_users is not None
    assert two.max_users == 2 * one.max_users


def test_the_command_has_the_split_and_is_read_back() -> None:
    choices = Choices(model="llama-3.1-70b", devices="24GiB,12GiB", engine="llama_cpp", weights="q2_k", context=4096)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "--tensor-split 24576,12288" in written.text
    like = Choices(model="", devices=choices.devices, engine="llama_cpp")
    assert choose(parse_launch("llama_cpp", written.text, like)).deployment == choose(choices).deployment


def test_a_command_is_for_one_replica() -> None:
    choices = Choices(model="llama-3.1-8b", memory="24GiB", engine="llama_cpp", weights="q4_k_m", users=6, replicas=2)
    written = launch(choices, choose(choices))
    assert written is not None
    assert "--parallel" not in written.text  # three of the four slots that it has anyway
    assert "Start it 2 times, each on 1 card of its own." in written.notes


@pytest.mark.parametrize("engine", ["llama_cpp", "vllm", "minimum"])
def test_every_card_is_shown_with_its_own_part(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Parts add up to what each card has, and the fullest is the one that the plan's items are of."""
    words = ["--model", "llama-3.1-8b", "--devices", "rtx-4090,rtx-3060", "--engine", engine]
    if engine != "llama_cpp":
        words += ["--pipeline-parallel", "2"]
    main(["plan", *words])
    told = capsys.readouterr().out
    assert "1: GeForce RTX 4090" in told
    assert "2: GeForce RTX 3060" in told
    main(["plan", *words, "--json"])
    found = json.loads(capsys.readouterr().out)
    for share in found["shares"]:
        parts = share["weights_bytes"] + share["runtime_bytes"] + share["cache_bytes"] + share["free_bytes"]
        assert parts == share["memory_bytes"]
    assert min(share["free_bytes"] for share in found["shares"]) == found["free_bytes"]


def test_cards_with_the_same_part_are_shown_once() -> None:
    assert ask(device="l4", device_count=2, weights="int4-g128").shares == ()
