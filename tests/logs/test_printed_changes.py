"""What a log alone suggests, where it names no model or no card: by what there was no room for."""

from pathlib import Path

import pytest

import planner
from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import LogReport, report_log
from planner.startups.text import log_text
from tests.logs.test_public_excerpts import Excerpt, excerpts


def report(text: str, **given: str) -> LogReport:
    return report_log(read_log(text), Choices(**{"model": "", "engine": ""} | given))


def options(text: str) -> list[str]:
    return [one.option for one in report(text).would_start]


@pytest.mark.parametrize("excerpt", excerpts(), ids=lambda excerpt: excerpt.source)
def test_every_failure_that_is_about_memory_has_something_to_try(excerpt: Excerpt) -> None:
    if excerpt.failure not in ("", "other"):
        assert excerpt.report().would_start


def test_the_method_says_how_many_logs_are_answered() -> None:
    failed = [excerpt for excerpt in excerpts() if excerpt.failure]
    counts = []
    for given in ([{}] * len(failed), [excerpt.given for excerpt in failed]):
        answers = [row.report(**stated).would_start for row, stated in zip(failed, given, strict=True)]
        sure = sum(any(one.starts for one in tries) for tries in answers)
        counts += [sure, sum(map(bool, answers)) - sure]
    method = " ".join(Path(planner.__file__).with_name("METHOD.md").read_text(encoding="utf-8").split())
    figures = sum(len(excerpt.figures) for excerpt in excerpts())
    assert f"Of {len(excerpts())} public logs" in method
    assert f"{figures} figures; {len(failed)} are of starts that failed." in method
    assert (
        f"From the log alone {counts[0]} of these get a change that is enough and {counts[1]} one that may be, with "
        f"model, card and their number stated {counts[2]} and {counts[3]};"
    ) in method


NO_BLOCKS = "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.\n"


def test_vllm_without_room_for_a_cache_and_without_a_word_on_the_card() -> None:
    assert options("# GPU blocks: 0, # CPU blocks: 256\n" + NO_BLOCKS) == [
        *("--gpu-memory-utilization 0.95", "--quantization fp8", "--tensor-parallel-size 2")
    ]


SHORT = (
    "ValueError: To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (4.50 GiB). Based on the available memory, the estimated "
    "maximum model length is 32768.\n"
)


def test_vllm_with_nothing_but_the_refusal() -> None:
    """1.12 GiB short: with 0.95 of the card instead of 0.92 that is a card of 37.3 GiB, instead of 0.90 one of 22.4."""
    one_length, share, fp8 = report(SHORT).would_start
    assert (one_length.option, one_length.starts) == ("--max-model-len 32768", True)
    assert (share.option, share.starts) == ("--gpu-memory-utilization 0.95", False)
    assert "1.12 GiB more on one of 38 GiB or more" in share.change
    assert (fp8.option, fp8.starts) == ("--kv-cache-dtype fp8", False)
    assert "2.81 GiB instead of 5.62 GiB" in fp8.change
    of_2025 = report("INFO [api_server.py:1839] vLLM API server version 0.11.0\n" + SHORT).would_start
    assert "23 GiB or more" in of_2025[1].change
    text = log_text(report(SHORT))
    assert "predicted" not in text
    assert "no such figure" not in text


def test_vllm_as_many_gib_into_main_memory_as_are_short_and_one_for_the_cache() -> None:
    """2.77 GiB short: 3, and 1; with 0.95 − 0.90 of the card, by default in 0.11, it would have to have 56 GiB."""
    found = report("INFO [gpu_worker.py:298] Available KV cache memory: -2.77 GiB\n" + NO_BLOCKS).would_start
    assert "--cpu-offload-gb 4" in [one.option for one in found]
    assert any("56 GiB or more" in one.change for one in found)
    assert not any(one.starts for one in found)


def test_vllm_that_names_a_request_where_nothing_is_left_at_all() -> None:
    """0.52 GiB short: 1, and 1 for the cache; the estimate of 0 tokens is none to try."""
    text = (
        "ValueError: To serve at least one request with the models's max seq len (8192), (1.00 GiB KV cache is needed, "
        "which is larger than the available KV cache memory (-0.52 GiB). Based on the available memory, the estimated "
        "maximum model length is 0.\n"
    )
    assert {"--cpu-offload-gb 2", "--quantization fp8"} <= set(options(text))
    assert not [option for option in options(text) if option.startswith("--max-model-len")]


def test_twice_the_cards_that_there_were() -> None:
    line = "INFO engine.py: Initializing an LLM engine (v0.8.5) with config: tensor_parallel_size=4, quantization=awq\n"
    assert "--tensor-parallel-size 8" in options(line + NO_BLOCKS)
    assert "--quantization fp8" not in options(line + NO_BLOCKS)


@pytest.mark.parametrize(("rank", "number"), [("TP7", 16), ("DP7 TP7", 16), ("DP7", 2), ("PP1 TP3", 8), ("", 2)])
def test_twice_the_cards_whose_ranks_speak(rank: str, number: int) -> None:
    lines = f"[2025-07-02 07:41:58{f' {rank}' if rank else ''}] Load weight begin. avail mem=188.32 GB\n"
    assert f"--tp-size {number}" in options(lines + FULL)


def test_tensorrt_llm_takes_requests_that_its_blocks_hold() -> None:
    """40 blocks of 64 are 2,560 tokens; 0.95 in place of its own 0.9 are 2,702."""
    text = (
        "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 40\n"
        "[TensorRT-LLM][INFO] Number of tokens per block: 64.\n"
        "[TensorRT-LLM][ERROR] maxTokensInPagedKvCache must be large enough to process at least 1 sequence\n"
    )
    first, second = report(text).would_start
    assert (first.option, first.starts) == ("--max_seq_len 2560", True)
    assert (second.option, second.starts) == ("--kv_cache_free_gpu_memory_fraction 0.95", False)
    assert "about 2,702 tokens" in second.change


def test_vllm_that_prints_tokens_alone_has_a_share_for_the_request_too() -> None:
    """2.89 GiB × 29,000 ÷ 23,648 = 3.544: 0.654 more, of 23.58 are 0.028."""
    text = (
        "Memory profiling results: total_gpu_memory=23.58GiB initial_memory_usage=15.34GiB peak_torch_memory=17.98GiB "
        "memory_usage_post_profile=15.35GiB non_torch_memory=0.35GiB kv_cache_size=2.89GiB "
        "gpu_memory_utilization=0.90\n"
        "The model's max seq len (29000) is larger than the maximum number of tokens that can be stored in KV cache "
        "(23648).\n"
    )
    tries = {one.option: one.starts for one in report(text).would_start}
    assert tries == {
        "--max-model-len 23648": True,
        "--gpu-memory-utilization 0.93": True,
        "--kv-cache-dtype fp8": False,
    }


def test_weights_that_are_in_fewer_bits_already_are_not_to_be_made_so() -> None:
    for model, is_offered in (("Qwen/Qwen3-8B", True), ("Qwen/Qwen3-8B-FP8", False), ("Qwen/Qwen3-8B-AWQ", False)):
        found = options(f"INFO non-default args: {{'model': '{model}'}}\n" + NO_BLOCKS)
        assert ("--quantization fp8" in found) is is_offered


FULL = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("", ["--mem-fraction-static 0.95", "--tp-size 2"]),
        (" Current value: mem_fraction_static=0.9", ["--mem-fraction-static 0.95", "--tp-size 2"]),
        (" Current value: mem_fraction_static=0.2", ["--mem-fraction-static 0.85"]),
    ],
)
def test_sglang_takes_a_larger_share_than_it_did(said: str, found: list[str]) -> None:
    assert options(FULL + said) == found


OOM = "ggml_backend_cuda_buffer_type_alloc_buffer: allocating {} MiB on device 0: cudaMalloc failed: out of memory\n"


def test_llama_cpp_lays_as_many_layers_on_the_card_as_were_free() -> None:
    """33 layers of 16 GiB, 9 free, 1 kept: 33 × 8 / 16 = 16."""
    text = (
        "using device CUDA0 (NVIDIA GeForce RTX 3080) - 9216 MiB free\n"
        "load_tensors: offloaded 33/33 layers to GPU\n" + OOM.format("16384.00")
    )
    text += "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
    assert options(text)[0] == "--n-gpu-layers 16"
    assert "--fit on" in options(text)


def test_llama_cpp_keeps_fewer_cells_where_the_cache_had_no_room() -> None:
    """8 GiB free, 4 of weights, 8 asked for: half of them; and half the bytes in each."""
    text = (
        "using device CUDA0 (NVIDIA GeForce RTX 3070) - 8192 MiB free\n"
        "load_tensors:        CUDA0 model buffer size =  4096.00 MiB\n"
        "llama_context: n_ctx         = 65536\n" + OOM.format("8192.00")
    )
    text += "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache\n"
    assert options(text) == ["--ctx-size 32768", "--flash-attn on --cache-type-k q8_0 --cache-type-v q8_0"]


def test_llama_cpp_lays_a_layer_more_aside_than_a_step_is_short() -> None:
    """23 layers of 3,946.35 + 11 MiB are 172.06 each: 66.5 MiB are one, and one more."""
    text = (
        "load_tensors: offloaded 23/23 layers to GPU\n"
        "load_tensors:        CUDA0 model buffer size =  3946.35 MiB\n"
        "llama_kv_cache_init:      CUDA0 KV buffer size =    11.00 MiB\n" + OOM.format("66.50")
    )
    assert options(text + "graph_reserve: failed to allocate compute buffers\n")[-1] == "--n-gpu-layers 21"


def test_llama_cpp_computes_less_at_once_where_a_step_had_no_room() -> None:
    text = "llama_context: n_ubatch      = 2048\nllama_context: flash_attn    = enabled\n" + OOM.format("900.00")
    text += "graph_reserve: failed to allocate compute buffers\n"
    assert options(text) == ["--ubatch-size 512"]


def test_ollama_is_told_in_its_own_words() -> None:
    text = (
        'level=ERROR source=sched.go:489 msg="error loading llama server" error="llama runner process has terminated: '
        'cudaMalloc failed: out of memory"\n'
        "level=DEBUG source=sched.go:491 runner.name=registry.ollama.ai/library/unheard-of:14b runner.inference=cuda "
        "runner.parallel=2 runner.model=sha256-1 runner.num_ctx=8192\n"
    )
    assert options(text)[:3] == [
        *("OLLAMA_NUM_PARALLEL=1", "PARAMETER num_ctx 2048", "OLLAMA_FLASH_ATTENTION=1 OLLAMA_KV_CACHE_TYPE=q8_0")
    ]
    assert not [option for option in options(text) if option.startswith("-")]


TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.57 GiB "
    "of which 594.88 MiB is free. {}Of the allocated memory 9.21 GiB is allocated by PyTorch."
)
OTHER = "Process 4711 has 12.50 GiB memory in use. "
ITSELF = "Including non-PyTorch memory, this process has 10.49 GiB memory in use. "


@pytest.mark.parametrize("processes", [OTHER + ITSELF, ITSELF + OTHER])
def test_another_process_that_an_error_names_is_to_end(processes: str) -> None:
    found = report("INFO [model.py:1] vLLM API server version 0.11.0\n" + TORCH.format(processes))
    assert ("others", 12.5 * 2**30) in [(row.name, row.value) for row in found.readings]
    assert "End what else is on the card, of which 12.50 GiB" in found.would_start[-1].change


def test_the_only_process_is_not_another() -> None:
    """A container does not know its own processes by the numbers that the driver has for them."""
    for processes in (OTHER, ITSELF):
        found = report("INFO [model.py:1] vLLM API server version 0.11.0\n" + TORCH.format(processes))
        assert not any("End what else" in one.change for one in found.would_start)


def test_what_was_not_free_before_loading_is_to_end_where_it_is_more_than_a_desktop() -> None:
    """llama.cpp prints what is free of a card as it comes to it: 16 of 24 GiB are another's, 1 of 24 is a screen."""
    lines = (
        "  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes, VRAM: 24564 MiB\n"
        "using device CUDA0 (NVIDIA GeForce RTX 4090) - {} MiB free\n" + OOM.format("12000.00")
    )
    assert any("15.99 GiB were not free" in one.change for one in report(lines.format(8192)).would_start)
    assert not any("not free" in one.change for one in report(lines.format(23540)).would_start)


@pytest.mark.parametrize(
    "line",
    [
        "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
        "min_per_gpu_memory=10.5, local_gpu_memory=78.9, local_gpu_memory * 0.9=71.01",
        "AssertionError: Error in memory profiling. Initial free memory 70.11 GiB, current free memory 71.22 GiB.",
    ],
)
def test_cards_that_are_not_free_are_to_be_freed(line: str) -> None:
    found = report(line)
    assert found.failure is not None
    assert found.failure.kind == "free"
    assert [one.change for one in found.would_start if one.change.startswith("End what else is on the card")]


def test_main_memory_is_freed_or_less_of_it_is_asked_for() -> None:
    found = report('error="model requires more system memory (12.5 GiB) than is available (9.5 GiB)"').would_start
    assert "3.00 GiB more of main memory" in found[0].change
    assert found[0].starts


def test_numbers_in_full_are_left_with_the_option_that_asked_for_them() -> None:
    """In 16 bit weights and cache take half: the change is an option less, and both are counted so."""
    text = (
        "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2-7B-Instruct --dtype float\n"
        "vLLM API server version 0.6.1\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 518.00 MiB. GPU 0 has a total capacity of 21.67 "
        "GiB of which 4.06 MiB is free.\n"
    )
    found = report(text)
    assert found.choices is not None
    assert (found.choices.weights, found.choices.kv_cache) == ("fp32", "fp32")
    half = next(one for one in found.would_start if one.change.startswith("Weights in bf16"))
    assert half.change == "Weights in bf16, without --dtype float32"
    assert half.choices is not None
    assert half.choices.kv_cache is None


@pytest.mark.parametrize(
    ("free", "card", "asked", "share", "is_enough"),
    [("4.98", "6.0", "0.9, 5.4", "0.82", True), ("2.02", "63.59", "0.92, 58.51", "0.03", False)],
)
def test_the_share_that_is_free_is_none_that_the_digits_may_refuse(
    free: str, card: str, asked: str, share: str, is_enough: bool
) -> None:
    """4.98 of 6.0 is 0.83, and 4.975 of 6.05 is 0.822; 2 GiB of the 58 that were wanted hold no such model."""
    found = report(
        f"ValueError: Free memory on device cuda:0 ({free}/{card} GiB) on startup is less than desired GPU memory "
        f"utilization ({asked} GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    ).would_start
    assert {one.option: one.starts for one in found} == {f"--gpu-memory-utilization {share}": is_enough, "": True}
    assert found[0].starts


def test_graphs_that_vllm_expects_to_be_larger_than_what_is_short_are_not_counted_beforehand() -> None:
    """vllm-project/vllm#53013: 118.65 GiB expected of a card of 80."""
    line = "INFO 08-19 [gpu_model_runner.py:6936] Estimated CUDA graph memory: 118.65 GiB total\n"
    found = options(line + NO_BLOCKS)
    assert found[:2] == ["VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0", "--enforce-eager"]
    small = "INFO 08-19 [gpu_model_runner.py:6936] Estimated CUDA graph memory: 0.65 GiB total\n"
    short = "INFO [gpu_worker.py:298] Available KV cache memory: -2.77 GiB\n"
    assert "--enforce-eager" not in options(small + short + NO_BLOCKS)


def test_ollama_s_answer_to_a_request_is_ollama_s_and_read_to_its_end() -> None:
    """Its JSON has llama.cpp's lines in one string; of their options only its own are named."""
    found = report(
        '{"error":{"message":"llama-server process has terminated: exit status 1: cudaMalloc failed: out of memory\\n'
        "alloc_tensor_range: failed to allocate CUDA0 buffer of size 5064192000\\nerror loading model: unable to "
        'allocate CUDA0 buffer","type":"api_error","param":null,"code":null}}'
    )
    assert found.engine == "ollama"
    assert found.failure is not None
    assert found.failure.message.endswith("error loading model: unable to allocate CUDA0 buffer")
    assert [one.option for one in found.would_start] == ["PARAMETER num_gpu 0"]


def test_where_localai_has_llama_cpp_s_options_is_said() -> None:
    found = report(
        'ERROR Failed to load model modelID="qwen3-coder-30b-a3b-instruct"\n'
        "  Error: ggml_backend_cuda_buffer_type_alloc_buffer: allocating 17524.43 MiB on device 0: cudaMalloc failed: "
        "out of memory; alloc_tensor_range: failed to allocate CUDA0 buffer of size 18375698432\n"
    )
    assert found.engine == "llama_cpp"
    assert "gpu_layers for --n-gpu-layers, context_size for --ctx-size" in " ".join(found.notes)
    assert "localai" not in found.settings
