"""What a predicted figure of a log rests on: never on itself, and on what is printed rather than what is assumed."""

from dataclasses import replace
from typing import Any

import pytest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.comparison import MADE_OF_IT, Compared, Match
from planner.startups.pools import FROM_FREE
from planner.startups.report import report_log

NO_CARD = "Model loading took 15.27 GiB and 3 seconds\nAvailable KV cache memory: 3.99 GiB\n"
TOKENS = "GPU KV cache size: 29,040 tokens\n"
# Public: DeepSeek-R1-Distill-Qwen-7B with SGLang 0.4.2 on an RTX 3090; Qwen1.5-7B with TensorRT-LLM 0.13 (issue 2268).
SGLANG_04 = (
    "server_args=ServerArgs(model_path='DeepSeek-R1-Distill-Qwen-7B', mem_fraction_static=0.88, tp_size=1)\n"
    "[TP0] Load weight begin. avail mem=22.76 GB\n"
    "[TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=8.37 GB\n"
    "[TP0] KV Cache is allocated. K size: 2.82 GB, V size: 2.82 GB.\n"
    "[TP0] max_total_num_tokens=105531, chunked_prefill_size=2048, max_prefill_tokens=16384, "
    "max_running_requests=2049, context_len=131072\n"
)
TENSORRT_LLM = (
    "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 39.39 GiB, available: "
    "21.89 GiB\n[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 631\n"
)


def rows(log: str, **given: Any) -> dict[str, Compared]:
    found = report_log(read_log(log), replace(Choices(model="", engine=""), **given))
    return {row.name: row for row in found.readings}


@pytest.mark.parametrize(
    ("log", "name"),
    [
        (NO_CARD + TOKENS, "pool"),
        (NO_CARD.splitlines()[0] + "\n" + TOKENS, "pool_tokens"),
        (TENSORRT_LLM, "card"),
        ("Load weight begin. avail mem=78.60 GB\nLoad weight end. avail mem=63.5 GB, mem usage=15.1 GB.\n", "free"),
    ],
)
def test_what_the_card_was_worked_out_from_is_no_hit(log: str, name: str) -> None:
    found = rows(log, model="qwen3-8b", weights="bf16")[name]
    assert (found.match, found.predicted, found.why) == (Match.NONE, None, MADE_OF_IT)


def test_with_a_stated_card_the_same_figure_is_predicted() -> None:
    assert rows(NO_CARD + TOKENS, model="qwen3-8b", device="rtx-4090")["pool"].predicted is not None


def test_what_follows_from_a_printed_pool_is_predicted_even_where_the_card_is_worked_out() -> None:
    """3.99 GiB / (16 × 36 layers × 2 × 8 heads × 128 × 2 bytes) = 1,815 blocks: 29,040 tokens."""
    assert rows(NO_CARD + TOKENS, model="qwen3-8b")["pool_tokens"].match is Match.EQUAL


def test_sglang_s_tokens_follow_from_what_it_prints_as_free() -> None:
    """8.37 − 0.12 × 22.76 GiB are 5.639 GiB, of 57,344 bytes a token 105,584; rounding leaves 105,479 to 105,690."""
    found = rows(SGLANG_04, device="rtx-3090")
    tokens = found["printed_tokens"]
    assert tokens.predicted == pytest.approx((8.37 - 0.12 * 22.76) * 2**30 / 57_344, abs=2)
    assert FROM_FREE in tokens.why
    assert tokens.match is Match.INSIDE
    # 105,531 tokens and a page of one: 28 layers of 4 heads of 128 in 2 bytes.
    assert found["keys"].predicted == 105_532 * 28_672
    assert {found[name].match for name in ("keys", "values")} == {Match.EQUAL}


def test_tensorrt_llm_s_blocks_follow_from_what_it_prints_as_free() -> None:
    """0.9 × 21.89 GiB / (64 tokens × 524,288 bytes) = 630.5, and the version rounds up."""
    found = rows(TENSORRT_LLM, model="qwen1.5-7b", engine_version="0.13")["blocks"]
    assert (found.predicted, found.match) == (631, Match.EQUAL)


def test_the_pool_of_one_card_is_not_the_smallest() -> None:
    """178,880 tokens of 48,128 bytes are 8.02 GiB: another card's pool is smaller than the 8.11 GiB printed."""
    log = (
        "vllm serve Qwen/Qwen3-235B-A22B-FP8 --tensor-parallel-size 4\n"
        "Available KV cache memory: 8.11 GiB\nGPU KV cache size: 178,880 tokens\n"
    )
    assert "which is one card's: the smallest decides" in rows(log)["pool_tokens"].why
