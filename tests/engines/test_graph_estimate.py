"""What vLLM takes from the pool for CUDA graphs, where it takes them for far larger than they are."""

from dataclasses import replace

import pytest

from planner.answers.answer import Answer, answer
from planner.inputs.choices import Choices, choose
from planner.launch import parse_launch
from planner.units import GIB

# vllm-project/vllm#45178: MiniMax-M2.5 NVFP4 on two B200, experts shared by two data-parallel ranks; 0.22.
WITH, WITHOUT = 245_840, 769_888
VARIABLE = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0"


COMMAND = (
    "vllm serve nvidia/MiniMax-M2.5-NVFP4 --data-parallel-size 2 --enable-expert-parallel --max-model-len 2304 "
    "--kv-cache-dtype fp8"
)


def minimax(*settings: str, **options: object) -> Answer:
    like = Choices(model="", engine="vllm", device="b200", engine_version="0.22")
    read = parse_launch("vllm", COMMAND, like)
    chosen = choose(replace(read, set=(*read.set, *settings), **options))  # type: ignore[arg-type]
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def test_without_the_estimate_the_tokens_are_those_that_were_printed() -> None:
    """Within 1.1%: the graphs come out of what the share leaves then."""
    found = minimax("estimate_cudagraphs=false")
    assert found.report is not None
    assert found.report.pool_tokens == pytest.approx(WITHOUT, rel=0.015)
    assert not any(VARIABLE in note for note in found.warnings)


def test_with_it_what_was_printed_lies_within_the_range() -> None:
    """524,048 tokens fewer of 126,976 B are 62 GiB; 102 graphs of 1.2 GiB are 122.4."""
    found = minimax()
    (graphs,) = (item for item in found.items if item.name == "CUDA graphs")
    estimate = (WITHOUT - WITH) * 126_976
    assert estimate / GIB == pytest.approx(61.97, abs=0.01)
    assert graphs.low_bytes < estimate < graphs.high_bytes == round(102 * 1.2 * GIB)
    assert graphs.bytes < 2 * GIB
    assert any(VARIABLE in note for note in found.warnings)


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ((), {"data_parallel": None, "expert_parallel": None, "tensor_parallel": 2}),
        ((), {"weights": "fp8", "device": "b300"}),  # 1.47 GiB in vllm-project/vllm#45150
        ((), {"engine_version": "0.17"}),
        (("enforce_eager=true",), {}),
    ],
)
def test_elsewhere_the_range_is_the_usual(settings: tuple[str, ...], options: dict[str, object]) -> None:
    found = minimax(*settings, **options)
    assert all(item.high_bytes < 10 * GIB for item in found.items if item.name == "CUDA graphs")
    assert not any(VARIABLE in note for note in found.warnings)
