"""llama.cpp, ik_llama.cpp and Ollama against what they printed in public when they started."""

import pytest

from planner.budget import budget_for, prepare
from planner.inputs.choices import Choices, choose
from planner.units import MIB
from tests.llama_cpp_readings import Reading, readings

CACHE = ("kv_mib", "recurrent_mib", "context_mib")
WEIGHTS = ("weights_card_mib", "weights_host_mib", "weights_file_mib")
COMPUTE = ("compute_card_mib", "compute_host_only_mib")
WEIGHTS_TOLERANCE, COMPUTE_TOLERANCE = 0.0015, 0.1
ROUNDING_MIB = 0.02
"""Two figures of 0.01 MiB, keys and values or two devices, each rounded."""


def rows(names: tuple[str, ...]) -> list[object]:
    """Each reading with each of *names* that it prints."""
    return [
        pytest.param(
            reading,
            name,
            id=f"{reading.id} {name}",
            marks=pytest.mark.xfail(reason=reading.disagrees[name], raises=AssertionError)
            if name in reading.disagrees
            else (),
        )
        for reading in readings()
        for name in names
        if name in reading.printed
    ]


@pytest.mark.parametrize(("reading", "name"), rows(CACHE))
def test_caches_are_as_printed(reading: Reading, name: str) -> None:
    """To the last digit; memory breakdowns print whole MiB, cut off once a device."""
    rounding = reading.printed.get("whole_mib", 1 if name == "context_mib" else ROUNDING_MIB)
    assert reading.figure(name) == pytest.approx(reading.printed[name], abs=rounding + 1e-9)


@pytest.mark.parametrize(("reading", "name"), rows(("output_mib",)))
def test_outputs_are_as_printed(reading: Reading, name: str) -> None:
    assert reading.figure(name) == pytest.approx(reading.printed[name], abs=0.005 + 1e-9)


@pytest.mark.parametrize(("reading", "name"), rows(WEIGHTS))
def test_weights_lie_where_they_are_printed(reading: Reading, name: str) -> None:
    """From the preset and the file type alone; a mapped buffer spans the whole file."""
    assert reading.figure(name) == pytest.approx(reading.printed[name], rel=WEIGHTS_TOLERANCE)


@pytest.mark.parametrize(("reading", "name"), rows(COMPUTE))
def test_compute_buffers_are_close(reading: Reading, name: str) -> None:
    assert reading.figure(name) == pytest.approx(reading.printed[name], rel=COMPUTE_TOLERANCE)


@pytest.mark.parametrize(("latent", "close", "equal", "every"), [(False, 49, 33, 52), (True, 16, 13, 18)])
def test_most_compute_buffers_are_equal(latent: bool, close: int, equal: int, every: int) -> None:
    """One device, step, cache and flash attention known: within a tenth, and to the last digit."""
    kinds = [one for one in readings() if not one.skip and one.is_latent == latent]
    found = [(one, name) for one in kinds for name in COMPUTE if name in one.printed]
    assert sum(name not in one.disagrees for one, name in found) == close
    assert sum(abs(one.figure(name) - one.printed[name]) < 0.0101 for one, name in found) == equal
    assert len(found) == every


R1 = "ikawrakow/ik_llama.cpp#437"
TWO_CARDS = [
    ("deepseek-r1-0528", R1, 32_768, 2_048, (3588.01, 3560.02)),
    ("deepseek-r1-0528", R1, 32_768, 4_096, (4104.02, 4176.03)),
    ("deepseek-r1-0528", R1, 40_960, 4_096, (4792.02, 4560.02)),
    ("deepseek-r1-0528", R1, 61_440, 4_096, (7272.02, 6632.03)),
    ("deepseek-r1-0528", R1, 65_536, 4_096, (7688.02, 6992.03)),
    ("kimi-k2", "ikawrakow/ik_llama.cpp#616", 2_048, 512, (263.0, 334.0)),
]


@pytest.mark.parametrize(("model", "source", "context", "step", "printed"), TWO_CARDS)
def test_each_of_two_cards_has_the_buffer_that_it_printed(
    model: str, source: str, context: int, step: int, printed: tuple[float, float]
) -> None:
    """Latent attention with -mla 3 -amb 512 -fmoe, experts in main memory: the last card has the logits."""
    settings = (
        "mla_attn=3", "attn_max_batch=512", "fused_moe=true", "flash_attn=on", "cpu_moe=true", "run_time_repack=true",
        f"n_batch={max(step, 2_048)}", f"n_ubatch={step}",
    )  # fmt: skip
    choices = Choices(
        model=model, memory="8192GiB", device_count=2, weights="q4_k_m", kv_cache="q8_0", engine="ik_llama_cpp",
        engine_version="2025-07-16", set=settings, context=context,
    )  # fmt: skip
    chosen = choose(choices)
    ranks = budget_for(prepare(chosen.architecture, chosen.deployment), chosen.workload).ranks
    sizes = [sum(item.bytes for item in rank.buffers(context, 1)) / MIB for rank in ranks]
    assert sizes == pytest.approx(printed, rel=0.001), source


def test_every_reading_is_run_or_says_why_not() -> None:
    assert len(readings()) == 145
    for reading in readings():
        assert reading.source
        assert bool(reading.skip) != bool(reading.printed)
        assert reading.disagrees.keys() <= reading.printed.keys()
    assert sum(bool(reading.skip) for reading in readings()) == 11
    assert sum(bool(reading.disagrees) for reading in readings()) == 11
    assert sum(reading.circular for reading in readings()) == 2
