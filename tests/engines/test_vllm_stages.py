"""What vLLM asks of pipeline stages when it starts: each for its own layers, or the smallest for all of them."""

import pytest

from planner.answers.answer import Answer, answer
from planner.inputs.choices import Choices, choose
from planner.units import GIB

POOL = round(3.18 * GIB)
"""What one of two stages of Qwen3-Coder-30B printed: https://github.com/vllm-project/vllm/issues/34076."""


def two_stages(version: str, context: int) -> Answer:
    """48 layers × 2 × 4 heads × 128 × 2 B = 98,304 B a token, of which each stage keeps half."""
    chosen = choose(
        Choices(
            model="qwen3-coder-30b-a3b",
            weights="fp8",
            memory="31.8GiB",
            engine="vllm",
            engine_version=version,
            context=context,
            pipeline_parallel=2,
            set=(f"kv_cache_memory_bytes={POOL}",),
        )
    )
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


@pytest.mark.parametrize(("version", "stages"), [("0.13.0", 2), ("0.14.0", 1), ("0.16.0", 1), ("0.17.0", 2)])
def test_from_0_14_to_0_16_the_smallest_pool_must_hold_a_request_of_all_stages(version: str, stages: int) -> None:
    """The log says that 24.0 GiB are needed and that 34,736 tokens start: 3.18 GiB over 98,304 B, to its last digit."""
    found = two_stages(version, 262_144)
    assert found.report is not None
    assert found.report.longest_start_tokens == POOL * stages // 98_304 // 16 * 16
    assert found.report.request_bytes == 24 * GIB // stages
    assert any(f"the longest that starts is {found.report.longest_start_tokens:,}" in each for each in found.warnings)


def test_a_length_between_the_two_is_refused_where_memory_holds_it() -> None:
    """50,000 tokens take 2.29 GiB of each stage's 3.18 GiB, and 4.58 GiB of both."""
    assert two_stages("0.17.0", 50_000).fits
    assert not two_stages("0.16.0", 50_000).fits


def test_what_is_printed_afterwards_is_of_each_stage() -> None:
    """The pool over half of 98,304 B, in blocks of 16 tokens."""
    found = two_stages("0.16.0", 32_768)
    assert found.fits
    assert found.pool_tokens == POOL // (98_304 // 2 * 16) * 16
