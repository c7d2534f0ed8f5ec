"""What follows from SGLang's, TensorRT-LLM's and LMDeploy's logs where they leave something out."""

import pytest

from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.printed_changes import printed_changes
from planner.startups.report import LogReport, report_log
from planner.units import GIB

# Public lines of 2025-05-19: no card, no share and no release are named.
XINFERENCE = """\
[2025-05-19 01:06:14] Load weight end. type=Qwen3ForCausalLM, avail mem=19.67 GB, mem usage=27.57 GB.
[2025-05-19 01:06:14] KV Cache is allocated. #tokens: 91749, K size: 7.00 GB, V size: 7.00 GB
"""
# NVIDIA/TensorRT-LLM#5872
COMPONENT = """\
[07/08/2025-19:47:15] [TRT-LLM] [RANK 1] [E] Executor creation failed due to insufficient GPU memory.

The following component could not be created: KV cache
Total GPU memory (GiB): 140.06
Free GPU memory before component creation attempt (GiB): 108.86

Previously created components and free GPU memory before/after creation (GiB):
Model: 139.55 / 110.70
Sampler: 110.70 / 110.70
"""
HYBRID = (
    "RuntimeError: Hybrid (mamba/linear-attention) state cache is too small to serve any requests. "
    "max_mamba_cache_size=2, mamba_ratio=5, resulting max_num_reqs=0."
)
LEAVE = "Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static="
CAPTURE = "Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.50 GiB. "


def report(log: str, **stated: str) -> LogReport:
    return report_log(read_log(log), Choices(**{"model": "", **stated}))  # type: ignore[arg-type]


def options(log: str) -> list[str]:
    (start,) = read_log(log).starts
    return [one.option for one in printed_changes(start)]


def test_sglang_had_free_before_loading_what_is_left_and_what_was_loaded() -> None:
    """19.67 + 27.57 GiB; 14.00 of the 19.67 are cache, and 5.67 of 47.24 are 0.12: the share was 0.88."""
    found = report(XINFERENCE, model="qwen3-14b")
    free = next(row for row in found.readings if row.name == "free")
    assert free.value / GIB == pytest.approx(47.24, abs=0.005)
    assert found.choices is not None
    assert "mem_fraction_static=0.88" in found.choices.set
    assert any("it is about 0.88" in note for note in found.notes)


def test_sglang_s_release_is_the_newest_of_the_day() -> None:
    """0.4.6 came out on 2025-04-27, 0.4.7 on 2025-06-10."""
    found = report(XINFERENCE, model="qwen3-14b")
    assert found.choices is not None
    assert found.choices.engine_version == "0.4.6"
    assert any("by its day, 2025-05-19, none after 0.4.6" in note for note in found.notes)


def test_what_is_no_day_dates_nothing() -> None:
    found = report(XINFERENCE.replace("2025-05-19", "2025-15-39"), model="qwen3-14b")
    assert not any("by its day" in note for note in found.notes)


def test_tensorrt_llm_s_model_takes_what_is_free_less_after_it() -> None:
    """139.55 − 110.70 GiB."""
    (start,) = read_log(COMPONENT).starts
    figures = {reading.name: round(reading.value / GIB, 2) for reading in start.readings}
    assert figures == {"card": 140.06, "free": 139.55, "left": 108.86, "weights": 28.85}
    assert start.failure is not None
    assert "--kv_cache_free_gpu_memory_fraction 0.8" in options(COMPONENT)


@pytest.mark.parametrize(("block", "tokens"), [("", 640), ("tokensPerBlock (64)", 640), ("tokensPerBlock (32)", 672)])
def test_tensorrt_llm_reserves_whole_blocks(block: str, tokens: int) -> None:
    """693 tokens are 5 blocks of 128, 10 of 64 or 21 of 32, and a part of one more that no request gets."""
    log = (
        f"[TensorRT-LLM][INFO] Using 693 tokens in paged KV cache. {block}\n"
        "maxTokensInPagedKvCache must be large enough to process at least 1 sequence to completion\n"
    )
    assert options(log)[0] == f"--max_seq_len {tokens}"


def test_sglang_s_states_too_few_for_one_request() -> None:
    found = options(HYBRID)
    assert found[0] == "--max-mamba-cache-size 5"
    assert {"--disable-radix-cache", "--mem-fraction-static 0.95"} <= set(found)


@pytest.mark.parametrize(
    ("tail", "first"),
    [
        ("0.3. Raise --mem-fraction-static above 0.320 (minimum viable = 1 - available/pre = 0.3198).", "0.34"),
        ("0.7. Raise --mem-fraction-static above 0.773", "0.8"),
    ],
)
def test_sglang_names_the_smallest_share(tail: str, first: str) -> None:
    assert options(LEAVE + tail)[0] == f"--mem-fraction-static {first}"


def test_a_share_above_the_smallest_is_not_what_is_missing() -> None:
    """0.95 was refused though 0.923 are enough: states take what weights leave."""
    tail = "0.95. Raise --mem-fraction-static above 0.923 (minimum viable = 1 - available/pre = 0.9224)."
    found = options(LEAVE + tail)
    assert found[0] == "--max-mamba-cache-size 8"
    assert not any("mem-fraction-static" in option for option in found)


@pytest.mark.parametrize(("command", "requests"), [("", 16), ("sglang serve M --cuda-graph-max-bs 8\n", 4)])
def test_sglang_s_own_answers_to_graphs_without_memory_come_first(command: str, requests: int) -> None:
    found = options(command + CAPTURE)
    assert found == ["--mem-fraction-static 0.8", f"--cuda-graph-max-bs {requests}", "--disable-cuda-graph"]


def test_sglang_s_ranks_are_those_that_fail_too() -> None:
    log = (
        "[2025-07-02 07:41:58 DP0 TP0] Load weight end. type=D, avail mem=21.73 GB, mem usage=166.59 GB.\n"
        "[2025-07-02 07:41:59 DP7 TP7] max_total_tokens=131072 is larger than the profiled value -561981.\n"
    )
    assert options(log)[-1] == "--tp-size 16"


def test_lmdeploy_s_allocator_says_that_memory_ran_out() -> None:
    log = "  what():  [TM][ERROR] CUDA runtime error: out of memory /lmdeploy/src/turbomind/utils/allocator.h:223"
    (start,) = read_log(log).starts
    assert (start.engine, start.failure and start.failure.kind) == ("lmdeploy", "memory")
    assert options(log)[0] == "--cache-max-entry-count 0.7"


def test_sglang_0_1_says_what_is_free_in_other_words() -> None:
    """sgl-project/sglang#485: 1 − 5.59 / 78.81 is 0.929; two hundredths more, rounded up, are 0.95."""
    log = (
        "[rank=1] Init torch begin. Avail mem=78.81 GB\n[rank=1] Load weight begin.\n"
        "[rank=1] Load weight end. Type=LlavaQwenForCausalLM. Avail mem=5.59 GB\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    found = options(log)
    assert found[0] == "--mem-fraction-static 0.95"
    assert found[-1] == "--tp-size 4"


def test_tensorrt_llm_s_built_engines_are_of_releases_before_1_0() -> None:
    """NVIDIA/TensorRT-LLM#2268: 0.9 of 21.89 GiB in blocks of 64 tokens of 512 KiB are 630.4, rounded up."""
    log = (
        "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 39.39 GiB, "
        "available: 21.89 GiB\n[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 631\n"
    )
    found = report(log, model="qwen1.5-7b", device="a100-40gb")
    blocks = next(row for row in found.readings if row.name == "blocks")
    assert blocks.predicted == 631
    assert any("none after 0.21.0" in note for note in found.notes)


def test_no_shorter_request_makes_sglang_start_whose_states_have_no_room() -> None:
    """It starts with any cache, so that what a plan has room for says nothing: all of it is perhaps enough."""
    found = report(HYBRID, model="qwen3.8-27b", device="rtx-5090", weights="nvfp4")
    first, *rest = found.would_start
    assert (first.option, first.starts) == ("--max-mamba-cache-size 5", True)
    assert not any(one.starts for one in rest)
    assert not any(one.option.startswith("--context-length ") and " --" not in one.option for one in rest)
    assert "--disable-radix-cache" in {one.option for one in rest}
