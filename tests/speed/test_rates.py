"""Which numbers an engine's kernels multiply, and at which rate of the device: what bounds every prompt."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import format_presets, presets
from planner.catalogue.performance_presets import find_speed_constants, kernels_of, speed_constants
from planner.cli import main
from planner.deployment import Device
from planner.speed.answer import prompt_seconds
from planner.speed.busy import busy
from planner.speed.rates import arithmetic_of
from tests.speed.test_speed import CARD, CONSTANTS, dense, prepared
from tests.speed_readings.reading import model_for

FORMATS = format_presets.formats()
DEVICES = [device for device in presets.devices().values() if device.bandwidth_bytes_per_s]
ENGINES = sorted({engine for engine, _, _ in speed_constants()})


@pytest.mark.parametrize(
    ("device", "engine", "weights", "numbers", "per_s"),
    [
        # RTX 4090: 82.6 TFLOPS of FP32; twice as many of 16 bit summed in 32, four times in 16, eight times INT8
        ("rtx-4090", "vllm", "bf16", "fp16", 165_200_000_000_000),
        ("rtx-4090", "vllm", "int4-g128", "fp16", 165_200_000_000_000),
        ("rtx-4090", "vllm", "fp8", "fp8", 330_300_000_000_000),
        ("rtx-4090", "llama_cpp", "fp16", "fp16", 330_400_000_000_000),
        ("rtx-4090", "llama_cpp", "q4_k", "int8", 660_600_000_000_000),
        ("rtx-4090", "llama_cpp", "q8_0", "int8", 660_600_000_000_000),
        # neither FP8 nor integer units of use
        ("a100-80gb-sxm", "vllm", "fp8", "fp16", 312_000_000_000_000),
        ("v100-16gb", "llama_cpp", "q4_0", "fp16", 125_000_000_000_000),
        ("apple-m2-16gb", "llama_cpp", "q4_0", "fp16", 3_600_000_000_000),
        ("b300", "llama_cpp", "q4_0", "fp16", 2_250_000_000_000_000),
        # counted by FP8's rate
        ("b200", "tensorrt_llm", "nvfp4", "fp4", 4_500_000_000_000_000),
        ("h200-sxm", "tensorrt_llm", "nvfp4", "fp8", 1_978_000_000_000_000),
    ],
)
def test_the_rate_is_that_of_the_numbers_multiplied(
    device: str, engine: str, weights: str, numbers: str, per_s: int
) -> None:
    found = arithmetic_of(presets.find_device(device), [FORMATS[weights]], kernels_of(engine))
    assert found is not None
    assert (found.numbers, found.per_s) == (numbers, per_s)


def test_a_mix_counts_as_its_fastest_part_with_integers_and_as_its_slowest_with_floats() -> None:
    card = presets.find_device("rtx-4090")
    mixed = [FORMATS["q8_0"], FORMATS["bf16"]], [FORMATS["fp8"], FORMATS["bf16"]]
    integers, floats = (
        arithmetic_of(card, formats, kernels_of(engine))
        for formats, engine in zip(mixed, ("llama_cpp", "vllm"), strict=True)
    )
    assert integers is not None
    assert floats is not None
    assert (integers.numbers, floats.numbers) == ("int8", "fp16")


def test_the_ceiling_of_four_bit_floats_is_their_own() -> None:
    found = arithmetic_of(presets.find_device("b200"), [FORMATS["nvfp4"]], kernels_of("vllm"))
    assert found is not None
    assert found.per_s * found.headroom == 9_000_000_000_000_000


@pytest.mark.parametrize("engine", ENGINES)
def test_a_prompt_lies_within_its_range_and_below_its_ceiling(engine: str) -> None:
    for device in ("rtx-4090", "a100-80gb-sxm", "apple-m2-16gb"):
        for weights in ("fp16", "q4_0"):
            model = model_for("llama-3.1-8b", device, weights, "fp16", 1, engine)
            constants = find_speed_constants(engine, device, experts=False)
            for tokens in (1, 512, 8_192):
                _, found = prompt_seconds(model, constants, tokens)
                assert found.ceiling_s <= found.low_s <= found.value_s <= found.high_s


@given(st.floats(1, 8), st.floats(1, 8), st.integers(1, 300), st.integers(1, 8_000), st.integers(1, 2_000))
def test_a_better_card_is_never_slower_and_nothing_passes_the_ceiling(
    reading: float, computing: float, users: int, prompt: int, output: int
) -> None:
    better = replace(
        CARD,
        bandwidth_bytes_per_s=round(reading * (CARD.bandwidth_bytes_per_s or 0)),
        fp16_flops_per_s=round(computing * (CARD.fp16_flops_per_s or 0)),
    )
    before, after = (prepared(dense(), card) for card in (CARD, better))
    for one, other in (
        (busy(before, CONSTANTS, users, prompt, output).step, busy(after, CONSTANTS, users, prompt, output).step),
        (prompt_seconds(before, CONSTANTS, prompt)[1], prompt_seconds(after, CONSTANTS, prompt)[1]),
    ):
        assert other.value_s <= one.value_s * (1 + 1e-9)
        assert other.ceiling_s <= one.ceiling_s * (1 + 1e-9)
        for found in (one, other):
            assert found.ceiling_s <= found.low_s <= found.value_s <= found.high_s


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_every_device_answers_for_one_user(device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where nothing says how fast it computes; what then is missing is said."""
    words = ["speed", "--model", "llama-3.2-1b", "--device", device.name, "--speed-engine", "llama_cpp", "--json"]
    assert main([*words, "--context", "512"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["tokens_per_s_user"]["low"] <= printed["tokens_per_s_user"]["value"]
    assert ("prompt_tokens_per_s" in printed) == (device.fp16_flops_per_s is not None)
    if device.fp16_flops_per_s is None:
        assert "neither prompts nor several users can be planned" in printed["warnings"][0]
        assert main([*words, "--users", "2"]) == 2
        assert "computes is not known" in capsys.readouterr().err
