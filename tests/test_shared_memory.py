"""One memory for processor and graphics: what lies on either side comes out of the same bytes."""

import pytest

from planner import presets
from planner.answers.answer import Answer, answer
from planner.answers.figures import shared_need_bytes
from planner.answers.verdict import verdict
from planner.budget import State
from planner.deciding import Where
from planner.finding.picks import larger_for, picks_for
from planner.inputs.choices import Choices, choose
from planner.line_item import OTHERS
from planner.tried_formats import default_weights
from planner.units import GIB, MIB

UNIFIED = [name for name, device in presets.devices().items() if device.unified]


def ask(device: str, engine: str = "llama_cpp", **given: object) -> Answer:
    chosen = choose(Choices(device=device, engine=engine, **given))  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def test_every_device_says_whether_its_memory_is_shared_and_how_much_there_is() -> None:
    for name, device in presets.devices().items():
        assert (device.machine_bytes is not None) == device.unified, name
        if device.machine_bytes is not None:
            assert device.memory_bytes <= device.machine_bytes <= (device.nominal_gb or 0) * GIB, name


def test_a_model_larger_than_the_machine_does_not_fit_however_its_layers_are_placed() -> None:
    """18.5 GiB of weights, 1 of cache and 2.7 of other programs on 16; with a card with as much they do."""
    given = {"model": "qwen2.5-32b-instruct", "weights": "q4_k_m", "set": ("n_gpu_layers=31",), "context": 4096}
    short = ask("apple-m4-16gb", engine="ollama", **given)
    assert not short.fits
    assert short.deciding.where is Where.SHARED
    assert short.deciding.spare_bytes == 16 * GIB - shared_need_bytes(short) < 0
    assert verdict(short).title == "No: the memory of the machine is 6.45 GiB short"
    for host_memory in ("16GiB", "64GiB"):  # It is no second memory.
        assert not ask("apple-m4-16gb", engine="ollama", host_memory=host_memory, **given).fits
    assert ask("rtx-4080", engine="ollama", **given).fits


@pytest.mark.parametrize("device", UNIFIED)
def test_both_sides_never_take_more_than_the_machine_has(device: str) -> None:
    """Of the model that fills it most, however many layers are on either side."""
    machine_bytes = presets.devices()[device].machine_bytes or 0
    for layers in range(0, 81, 16):
        found = ask(device, model="llama-3.1-70b", weights="q4_k_m", set=(f"n_gpu_layers={layers}",))
        assert found.fits == (found.free_bytes >= 0 and shared_need_bytes(found) <= machine_bytes), layers


@pytest.mark.parametrize("device", ["apple-m2-16gb", "strix-halo-128gb", "dgx-spark", "jetson-orin-nano-8gb"])
def test_nothing_is_offered_that_needs_more_than_the_machine_has(device: str) -> None:
    choices, weights = Choices(model="", device=device, engine="ollama"), default_weights("ollama")
    found = picks_for(choices, weights)
    for pick in (*found, *larger_for(choices, weights, found[0].match)):
        assert pick.match.weights_bytes + pick.match.host_bytes <= (presets.devices()[device].machine_bytes or 0)


def test_less_of_it_may_be_stated() -> None:
    """Other programs have the rest."""
    given = {"model": "llama-3.1-8b", "weights": "q8_0", "context": 8192}
    assert ask("apple-m4-16gb", **given).fits
    short = ask("apple-m4-16gb", host_memory="9GiB", **given)
    assert (short.fits, short.shared_memory_bytes) == (False, 9 * GIB)


def test_kept_prompts_decide_only_where_main_memory_was_stated() -> None:
    given = {"model": "llama-3.1-8b", "weights": "q8_0", "context": 8192}
    alone, stated = ask("apple-m4-16gb", **given), ask("apple-m4-16gb", host_memory="16GiB", **given)
    assert "kept prompts" not in {item.name for item in alone.host_items}
    assert any("Kept prompts may fill up to 8.00 GiB" in warning for warning in alone.warnings)
    assert stated.deciding.item == "kept prompts"
    assert verdict(stated).title.startswith("Probably: ")


def test_the_system_takes_its_part_of_a_memory_that_is_shared_unless_what_is_left_is_stated() -> None:
    """As of a machine without a card: 2,765 MiB expected, 100 to 5,018."""
    given = {"model": "qwen3-4b", "weights": "q4_k_m", "engine": "ollama", "context": 4096}
    found = ask("apple-m1-8gb", **given)  # type: ignore[arg-type]
    others = next(item for item in found.host_items if item.name == OTHERS)
    assert (others.low_bytes, others.bytes, others.high_bytes) == (100 * MIB, 2_765 * MIB, 5_018 * MIB)
    assert found.state is State.UNCERTAIN
    assert OTHERS not in [i.name for i in ask("apple-m1-8gb", host_memory="6GiB", **given).host_items]  # type: ignore[arg-type]
    assert OTHERS not in [i.name for i in ask("rtx-4060", **given).host_items]  # type: ignore[arg-type]
