"""Logs of SGLang, TensorRT-LLM, LMDeploy and llama.cpp against the planner: comparison, profile, what would start."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.answers.answer import Answer, answer
from planner.budget import OUTSIDE
from planner.inputs.choices import Choices, choose
from planner.line_item import Basis
from planner.logs.read import read_log
from planner.startups.comparison import Match
from planner.startups.report import LogReport, report_log
from planner.units import GIB, MIB

NOTHING_GIVEN = Choices(model="", engine="")
L40S = (
    "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B-Instruct', tp_size=1, context_length=None, "
    "mem_fraction_static=None, kv_cache_dtype='auto')\n"
    "[TP0] Load weight begin. avail mem=44.00 GB\n"
    "[TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=28.91 GB, mem usage=15.09 GB.\n"
    "[TP0] Using KV cache dtype: torch.bfloat16\n"
    "[TP0] KV Cache is allocated. #tokens: 183133, K size: 11.18 GB, V size: 11.18 GB\n"
    "[TP0] max_total_num_tokens=183133, chunked_prefill_size=4096, max_prefill_tokens=16384, "
    "max_running_requests=2048, context_len=131072\n"
)
RTX_5090 = (
    "[TensorRT-LLM] TensorRT-LLM version: 1.2.1\n"
    "Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, available: 17.83 GiB\n"
    "Number of blocks in KV cache primary pool: 8219\nNumber of tokens per block: 32.\n"
    "Allocated 16.05 GiB for max tokens in paged KV cache (263008).\n"
)


def report(log: str, **given: Any) -> LogReport:
    return report_log(read_log(log), replace(NOTHING_GIVEN, **given))


def again(found: LogReport, **changed: Any) -> Answer:
    """The plan of the same start, or of a *changed* one, with what it measured."""
    assert found.choices is not None
    chosen = choose(replace(found.choices, **changed))
    return answer(chosen.architecture, replace(chosen.deployment, profile=found.profile), chosen.workload)


def rows(found: LogReport) -> dict[str, Match]:
    return {row.name: row.match for row in found.readings}


def test_sglang_s_figures_stand_beside_their_predictions() -> None:
    """A public start on an L40S, of a release whose share is that of 0.5.6."""
    found = report(L40S, device="l40s", engine_version="0.5.6")
    matches = rows(found)
    assert {matches[name] for name in ("keys", "values")} == {Match.EQUAL}
    assert {matches[name] for name in ("free", "pool_tokens", "printed_tokens", "free_after_load")} == {Match.INSIDE}
    keys = next(row for row in found.readings if row.name == "keys")
    # 183,133 tokens and a page of one: 32 layers of 8 heads of 128 in 2 bytes.
    assert keys.predicted == 183_134 * 32 * 8 * 128 * 2


def test_the_card_of_sglang_is_what_was_free_and_what_is_usually_gone() -> None:
    found = report(L40S)
    assert found.choices is not None
    assert found.choices.memory == "44.45GiB"
    assert any("give --device for the card itself" in note for note in found.notes)


def test_a_plan_with_sglang_s_profile_prints_the_same_tokens() -> None:
    found = report(L40S, device="l40s", engine_version="0.5.6")
    assert found.profile is not None
    measured = {item.name: item.bytes for item in found.profile.items}
    assert measured["context"] == pytest.approx(0.34 * GIB, abs=0.02 * GIB)
    assert measured["weights as loaded"] == pytest.approx(0.13 * GIB, abs=0.03 * GIB)
    same = again(found)
    assert same.pool_tokens == 183_133
    assert {item.basis for item in same.items if item.name in measured} == {Basis.MEASURED}
    # An fp8 cache holds twice as many.
    assert again(found, kv_cache="fp8").pool_tokens == pytest.approx(2 * 183_133, abs=1)


def test_sglang_s_states_are_compared_by_their_number() -> None:
    log = (
        "server_args=ServerArgs(model_path='Qwen/Qwen3.6-27B', tp_size=1, context_length=131072, "
        "mem_fraction_static=0.7)\n[TP0] Load weight begin. avail mem=119.00 GB\n"
        "[TP0] Mamba Cache is allocated. max_mamba_cache_size: 360, conv_state size: 0.99GB, ssm_state size: 50.77GB\n"
        "[TP0] KV Cache is allocated. #tokens: 228520, K size: 3.49 GB, V size: 3.49 GB\n"
    )
    found = report(log, device="gb10", kv_cache="fp8")
    assert {rows(found)[name] for name in ("conv_states", "ssm_states", "keys", "values")} == {Match.EQUAL}


def test_sglang_s_data_parallel_attention_is_told_apart_from_its_tp() -> None:
    log = (
        "server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', tp_size=8, dp_size=8, ep_size=1, "
        "enable_dp_attention=True, speculative_algorithm='EAGLE', speculative_num_draft_tokens=4)\n"
        "[DP3 TP3] Load weight begin. avail mem=137.90 GB\n"
    )
    choices = report(log, device="h200").choices
    assert choices is not None
    assert (choices.tensor_parallel, choices.data_parallel, choices.expert_parallel) == (None, 8, None)
    assert {"speculative_algorithm=EAGLE", "speculative_num_draft_tokens=4", "enable_dp_attention=True"} <= set(
        choices.set
    )


def test_a_draft_that_is_not_known_here_is_left_out() -> None:
    log = (
        "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B', tp_size=1, speculative_algorithm='EAGLE3', "
        "speculative_num_draft_tokens=4)\n[TP0] Load weight begin. avail mem=79.00 GB\n"
    )
    choices = report(log, device="h100-sxm").choices
    assert choices is not None
    assert not [text for text in choices.set if text.startswith("speculative_algorithm")]


def test_a_start_without_room_gets_a_larger_share() -> None:
    log = (
        "server_args=ServerArgs(model_path='meta-llama/Llama-3.1-8B', tp_size=1, context_length=8192, "
        "mem_fraction_static=0.6)\n[TP0] Load weight begin. avail mem=23.20 GB\n"
        "[TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=8.20 GB, mem usage=15.00 GB.\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    found = report(log, device="rtx-4090")
    assert found.failure is not None
    tries = {one.option: one for one in found.would_start if one.option}
    # 0.69 leaves 8.20 − 0.31 × 23.20 GiB, which is 8,257 tokens of 128 KiB; 0.68 less than 1 GiB, which is 8,192.
    assert tries["--mem-fraction-static 0.69"].starts
    assert found.would_start[0].starts


def test_tensorrt_llm_s_figures_follow_from_the_printed_pool() -> None:
    found = report(RTX_5090, model="llama-3.1-8b", weights="fp8", kv_cache="fp8")
    matches = rows(found)
    # The pool is 0.9 of the 17.83 GiB that are printed as free.
    assert {matches[name] for name in ("block", "pool")} == {Match.EQUAL}
    assert {matches[name] for name in ("blocks", "pool_tokens", "free_after_load")} == {Match.INSIDE}
    same = again(found)
    assert same.pool_tokens == 263_008
    assert same.report is not None
    assert same.report.num_blocks == 8_219


def test_lmdeploy_s_start_makes_a_profile_from_its_blocks() -> None:
    log = (
        "[BlockManager] block_size = 8.000 MB\n[BlockManager] max_block_count = 500\n"
        "session_len truncated to 32000 due to limited KV cache memory\n"
    )
    found = report(log, model="llama-3.1-8b", device="rtx-4090", context=65_536)
    assert rows(found)["block"] is Match.EQUAL
    # 8 MiB is 64 tokens of 131,072 bytes.
    assert next(row.value for row in found.readings if row.name == "block") == 64 * 131_072 == 8 * MIB
    assert again(found).pool_tokens == 32_000
    # It has started: nothing need change.
    assert (found.failure, found.would_start) == (None, ())
    assert "up to 32,000 tokens" in found.notes[0]


def test_lmdeploy_s_budget_line_says_what_was_free() -> None:
    log = "Object cache budget: 4096.00 MB from free 5120.00 MB and ratio 0.800\n"
    found = report(log, model="llama-3.1-8b", device="rtx-4090")
    same = again(found)
    room = same.memory_bytes - sum(item.bytes for item in same.items if item.name not in ("cache", OUTSIDE))
    assert room == 5_120 * MIB
    assert same.pool_tokens == 4_096 // 8 * 64


def test_llama_cpp_s_breakdown_measures_what_it_leaves_unaccounted_for() -> None:
    log = (
        "llama_model_loader: loaded meta data with 36 key-value pairs and 579 tensors from Qwen3-8B-Q4_K_M.gguf "
        "(version GGUF V3)\nload_tensors:        CUDA0 model buffer size =  4500.00 MiB\n"
        "llama_memory_breakdown_print: |   - CUDA0 (RTX 4090) | 24080 = 17000 + (6580 =   4500 +    1152 +     304) + "
        "        500 |\n"
    )
    found = report(log, device="rtx-4090")
    assert found.profile is not None
    measured = {item.name: item for item in found.profile.items}
    assert measured["context"].bytes == 500 * MIB
    assert again(found).items[-1].name == "cache"
    sizes = {item.name: item.bytes for item in again(found).items}
    assert sizes["weights"] + sizes["weights as loaded"] == 4_500 * MIB


@settings(max_examples=25)
@given(
    engine=st.sampled_from(["sglang", "tensorrt_llm", "lmdeploy"]),
    share=st.integers(min_value=30, max_value=70),
    free_gib=st.integers(min_value=2_000, max_value=2_330),
)
def test_a_profile_gives_the_printed_tokens_back(engine: str, share: int, free_gib: int) -> None:
    """plan(profile_from(log)) prints what the log did, whatever was loaded."""
    blocks, block = share * 10, 32 if engine == "tensorrt_llm" else 64
    tokens = blocks * block
    log = {
        "sglang": f"[TP0] Load weight begin. avail mem={free_gib / 100:.2f} GB\n"
        f"[TP0] KV Cache is allocated. #tokens: {tokens}, K size: 1.00 GB, V size: 1.00 GB\n",
        "tensorrt_llm": f"Number of blocks in KV cache primary pool: {blocks}\n",
        "lmdeploy": f"[BlockManager] max_block_count = {blocks}\n",
    }[engine]
    found = report(log, model="llama-3.1-8b", device="rtx-4090", weights="fp8")
    assert found.profile is not None
    assert again(found).pool_tokens == tokens
