"""The changes that a failed start gets: each tried, by what the log prints, and none that changes nothing."""

from dataclasses import replace

import pytest

from planner.inputs.choices import Choices, choose
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log
from planner.startups.trial import Try, carried
from planner.units import GIB, MIB
from tests.logs.writer import vllm_lines
from tests.startups.test_report import FAILED, NOTHING_GIVEN, given_with
from tests.vllm_readings import Reading, readings

LLAMA = (
    "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060) (0000:01:00.0) - {free} MiB free\n"
    "llama_model_loader: loaded meta data with 28 key-value pairs and 399 tensors from Qwen3-8B-Q8_0.gguf\n"
    "load_tensors: offloaded 37/37 layers to GPU\n"
    "load_tensors:        CUDA0 model buffer size =  7669.77 MiB\n"
    "llama_context: n_ctx         = 40960\n"
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 5760.00 MiB on device 0: cudaMalloc failed: out of memory\n"
)
HYBRID = (
    "vLLM API server version 0.26.0\n"
    "non-default args: {{'model': 'Qwen/Qwen3.6-27B-FP8', 'max_model_len': 131072, 'gpu_memory_utilization': 0.85, "
    "'tensor_parallel_size': 2}}\n"
    "(Worker_TP0 pid=1) Free memory on device cuda:0 (19.6/19.98 GiB) on startup. Desired GPU memory utilization is "
    "(0.85, 16.98 GiB).\n"
    "(Worker_TP0 pid=1) Available KV cache memory: {pool} GiB\n"
    "ValueError: To serve at least one request with the model's max seq len (131072), ({request} GiB KV cache is "
    "needed, which is larger than the available KV cache memory ({pool} GiB). Based on the available memory, the "
    "estimated maximum model length is {longest}.\n"
)
FAILURES = [
    row
    for row in readings()
    if {"longest_start", "state_blocks"} & row.printed.keys() or row.printed.get("pool_gib", 1) < 0
]


def report(log: str, given: Choices = NOTHING_GIVEN) -> LogReport:
    return report_log(read_log(log), given)


def by_option(found: LogReport) -> dict[str, Try]:
    return {one.option: one for one in found.would_start if one.says == "planner"}


def longest(found: LogReport) -> int:
    (option,) = [option for option in by_option(found) if option.startswith("--ctx-size") and " " in option]
    return int(option.split()[1])


def test_llama_cpp_has_what_was_free_and_no_more() -> None:
    """Weights of 7,669.77 MiB, 147,456 B a token and a compute buffer: less is free, and a shorter context starts."""
    for free in (11_753, 9_000):
        tokens = longest(report(LLAMA.format(free=free)))
        taken = 7669.77 + tokens * 147_456 / MIB
        assert taken < free
        # 256 MiB for libraries, the compute buffer and a step of 256 tokens, 36 MiB, are the rest.
        assert 256 <= free - taken < 450


def test_what_starts_leaves_room_for_libraries_that_come_later() -> None:
    """7,669.77 + 27,136 × 144 KiB + a step's 132.26 MiB leave 282 of 11,900 MiB; 256 tokens more are 36 MiB."""
    options = by_option(report(LLAMA.format(free=11_900)))
    assert options["--ctx-size 27136"].starts


def test_llama_cpp_gets_fewer_layers_even_where_all_were_asked_for() -> None:
    log = "llama-server -m Qwen3-8B-Q8_0.gguf -c 40960 -ngl 99\n" + LLAMA.format(free=11_753)
    options = by_option(report(log))
    (layers,) = [option for option in options if option.startswith("--n-gpu-layers")]
    assert options[layers].starts
    assert 0 < int(layers.split()[1]) < 37


def test_two_cards_have_each_what_was_free_on_it() -> None:
    log = LLAMA.format(free=11_753).replace(
        "llama_model_loader",
        "llama_model_load_from_file_impl: using device CUDA1 (NVIDIA GeForce RTX 4060) - 7300 MiB free\n"
        "llama_model_loader",
        1,
    )
    found = report(log)
    assert found.choices is not None
    assert (found.choices.devices, found.choices.pipeline_parallel) == ("11753MiB,7300MiB", 2)


def test_a_hybrid_is_told_of_its_sequences_too() -> None:
    """The length alone starts nothing: each of the default 256 requests needs a block for its state."""
    plain = report(HYBRID.format(pool="1.86", request="4.19", longest=55664))
    first, second, *_ = plain.would_start
    for one in (first, second):
        assert one.starts
        assert one.option == "--max-model-len 55664 --max-num-seqs 77"
        assert "at most 77 requests at once" in one.change


FIRST_ENGINE = (
    "vLLM API server version 0.6.4\n"
    "non-default args: {{'model': 'meta-llama/Llama-3.1-8B', 'max_model_len': {length}}}\n"
    "Loading model weights took 14.9888 GB\n"
    "Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=15.34GiB peak_torch_memory=17.98GiB "
    "memory_usage_post_profile=15.35GiB non_torch_memory=0.35GiB kv_cache_size=2.89GiB gpu_memory_utilization=0.90\n"
    "The model's max seq len ({length}) is larger than the maximum number of tokens that can be stored in KV cache "
    "(23648).\n"
)


def test_fewer_requests_change_nothing_where_one_long_prompt_is_the_peak() -> None:
    """vLLM's first engine: 20,000 tokens peak at 17.06 GiB and 29,000 at 17.98, whatever the sampler takes."""
    log = FIRST_ENGINE.format(length=29_000)
    for said in (log, log.replace("29000}", "29000, 'max_num_seqs': 128}")):
        options = by_option(report(said))
        assert {"--gpu-memory-utilization 0.95", "--quantization fp8", "--enable-chunked-prefill"} <= options.keys()
        assert options["--enable-chunked-prefill"].starts
        assert not [option for option in options if "--max-num-seqs" in option]


def test_a_change_that_brings_nothing_is_not_offered() -> None:
    """Every change either starts, or leaves room for more tokens than there are without it."""
    found = report(FAILED)
    assert all(one.starts or (one.max_context_tokens or 0) > 29_040 for one in found.would_start)


@pytest.mark.parametrize("reading", FAILURES, ids=lambda reading: reading.id)
def test_every_public_failure_gets_a_change_that_starts(reading: Reading) -> None:
    """First the engine's own figure where it prints one; ours for the same change agrees within the pool's rounding."""
    found = report("\n".join(vllm_lines(replace(reading, engine_version=None))), given_with(reading))
    first = found.would_start[0]
    assert first.starts
    assert first.option
    if printed := reading.printed.get("longest_start"):
        assert first.option == f"--max-model-len {printed}"
        ours = next(row for row in found.readings if row.name == "longest_start")
        assert ours.predicted == pytest.approx(printed, rel=0.001)
        lengths = [one for one in found.would_start if one.option.startswith("--max-model-len")]
        assert all((one.max_context_tokens or 0) <= printed for one in lengths)
    if blocks := reading.printed.get("state_blocks"):
        assert first.option == f"--max-num-seqs {blocks}"


def test_what_is_measured_stays_where_the_rule_says_the_same_of_both_plans() -> None:
    found = report(FAILED)
    assert found.profile is not None
    assert found.choices is not None
    before = choose(found.choices)
    for setting in ("enable_prefix_caching=false", "block_size=32"):
        after = choose(replace(found.choices, set=(*found.choices.set, setting)))
        moved = carried(found.profile, before, after)
        assert [item.bytes for item in moved.items] == [item.bytes for item in found.profile.items]
    fewer = choose(replace(found.choices, set=("gpu_memory_utilization=0.85", "max_num_seqs=1")))
    assert sum(item.bytes for item in carried(found.profile, before, fewer).items) <= sum(
        item.bytes for item in found.profile.items
    )


def test_a_log_of_another_request_than_the_plans_shows_only_what_it_prints() -> None:
    """Stages that were split by hand: twice the layers on the card that decides."""
    log = FAILED.replace("(18.00 GiB KV", "(36.00 GiB KV").replace("29040", "14520")
    found = report(log)
    assert "One request takes 36.00 GiB by the log and 18.00 GiB by the plan" in found.notes[0]
    assert [one.option for one in found.would_start if one.starts][:1] == ["--max-model-len 14520"]
    assert all(one.choices is None for one in found.would_start)


def test_memory_that_runs_out_beside_the_pool_asks_for_a_smaller_share() -> None:
    """SGLang's graphs find nothing left: more of the card for the pool would be worse."""
    log = (
        "server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tp_size=1, context_length=4096, mem_fraction_static=0.9)\n"
        "[TP0] Load weight end. type=Qwen3ForCausalLM, avail mem=7.80 GB, mem usage=15.30 GB.\n"
        "[TP0] KV Cache is allocated. #tokens: 36032, K size: 2.47 GB, V size: 2.47 GB\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 0.50 GiB. GPU 0 has a total capacity of 23.64 "
        "GiB of which 0.10 GiB is free.\n"
    )
    (one,) = report(log).would_start
    # 0.9 − 0.4 ÷ 23.64 − 0.01 = 0.873
    assert (one.option, one.starts) == ("--mem-fraction-static 0.87", False)


HEAD = "non-default args: {'model': 'me/mine', 'gpu_memory_utilization': 0.9, 'max_model_len': 32768}\n"


@pytest.mark.parametrize(
    ("log", "option"),
    [
        # vLLM's first engine says how many tokens its cache holds.
        (
            "max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3664)",
            "--max-model-len 3664",
        ),
        # 2 GiB are missing of a card of 20 GiB: a tenth of it more.
        (
            "Free memory on device (19.9/20.00 GiB) on startup. Desired GPU memory utilization is (0.8, 16.0 GiB)\n"
            "max seq len (32768), (8.00 GiB KV cache is needed, which is larger than the available KV cache memory "
            "(6.00 GiB)",
            "--gpu-memory-utilization 0.9",
        ),
        # Half the bytes a token: 8.00 GiB become 4.
        (
            "max seq len (32768), (8.00 GiB KV cache is needed, which is larger than the available KV cache memory "
            "(6.00 GiB)",
            "--kv-cache-dtype fp8",
        ),
        # 15.3 of 23.64 GiB: 0.647.
        (
            "Free memory on device (15.3/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 "
            "GiB)",
            "--gpu-memory-utilization 0.64",
        ),
        ("max_num_seqs (1024) exceeds available Mamba cache blocks (969).", "--max-num-seqs 969"),
        # 0.5 GiB were asked for and 0.1 left of 20 GiB: 0.9 − 0.02 − 0.01.
        (
            "Available KV cache memory: 2.97 GiB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 0.50 "
            "GiB. GPU 0 has a total capacity of 20.00 GiB of which 0.10 GiB is free.",
            "--gpu-memory-utilization 0.87",
        ),
        # SGLang: loading leaves 2 of 20 GiB, so 0.9 is where the pool begins.
        (
            "[TP0] Load weight begin. avail mem=20.00 GB\n[TP0] Load weight end. type=Own, avail mem=2.00 GB, mem "
            "usage=18.00 GB.\nRuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
            "--mem-fraction-static 0.92",
        ),
        (
            "server_args=ServerArgs(model_path='me/mine', mem_fraction_static=0.9)\n[TP0] KV Cache is allocated. "
            "#tokens: 36032, K size: 2.47 GB, V size: 2.47 GB\nCUDA out of memory. Tried to allocate 0.50 GiB. GPU 0 "
            "has a total capacity of 20.00 GiB of which 0.10 GiB is free.",
            "--mem-fraction-static 0.87",
        ),
        (
            "[TensorRT-LLM][INFO] Allocate 956301312 bytes for k/v cache.\nERROR: maxTokensInPagedKvCache (29184) must "
            "be large enough to process at least 1 sequence to completion",
            "--max_seq_len 29184",
        ),
    ],
)
def test_a_model_that_is_not_known_gets_what_the_log_prints(log: str, option: str) -> None:
    found = report((HEAD if "[T" not in log else "") + log)
    assert found.choices is None
    assert found.failure is not None
    is_sure = found.failure.kind != "memory"  # what was asked for may not be the last
    assert option in [one.option for one in found.would_start if one.starts == is_sure]


def test_a_retry_that_goes_on_is_no_failure() -> None:
    log = (
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 51748.72 MiB on device 1: cudaMalloc failed: out of "
        "memory\nggml_gallocr_reserve_n_impl: failed to allocate CUDA1 buffer of size 54262464512\n"
        "sched_reserve: compute buffer allocation failed, retrying without pipeline parallelism\n"
        "main: server is listening on http://127.0.0.1:8080\n"
    )
    assert report(log).failure is None


def test_a_breakdown_before_anything_is_allocated_measures_nothing() -> None:
    """What --fit prints has less than nothing unaccounted for; what was free counts instead."""
    log = LLAMA.format(free=11_753) + (
        "common_memory_breakdown_print: |   - CUDA0 (RTX 3060)   | 12044 = 11753 + (13734 = 7669 +    5760 +     304) "
        "+      -13443 |\n"
    )
    found = report(log)
    assert found.profile is not None
    (context,) = [item for item in found.profile.items if item.name == "context"]
    assert 0 <= context.bytes < GIB


def test_buffers_in_main_memory_are_not_compared_with_the_cards() -> None:
    cut = LLAMA.format(free=11_753).replace("       CUDA0 model", "   CPU_Mapped model")
    (weights,) = [row for row in report(cut).readings if row.name == "weights"]
    assert weights.predicted is None
    assert weights.why.startswith("in main memory")


def test_a_pool_that_an_error_says_again_is_one_line() -> None:
    found = report(
        FAILED.replace("(EngineCore_DP0 pid=72) INFO 08-13 Available", "(VllmWorker pid=72) INFO 08-13 Available")
    )
    (pool,) = [row for row in found.readings if row.name == "pool"]
    assert "of 2 lines" not in pool.why
