"""Formats of lines that public reports hold, each with its figures: banners, commands, old and new spellings."""

import pytest

from planner.logs.read import read_log
from planner.logs.readings import Start
from planner.units import GIB, MIB

POOL = "Available KV cache memory: 4.00 GiB\n"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 350.00 MiB. GPU 0 has a total capacity of "


def only(text: str) -> Start:
    (start,) = read_log(text).starts
    return start


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("INFO [utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.0\n", "0.19.0"),
        ("vLLM Version: 0.6.6.post1\n", "0.6.6.post1"),
        ("vllm-0.15.2rc1.dev93+g11a4c9d30.cu128-cp312-cp312-linux_x86_64.whl\n", "0.15.2rc1.dev93+g11a4c9d30.cu128"),
        ("- Others: H100, vLLM `0.25.1`\n", "0.25.1"),
        ("File '/home/me/vllm-v0.9.2/vllm/v1/worker/gpu_worker.py', line 145\n", "0.9.2"),
        ("Initializing an LLM engine (v0.5.4) with config\n", "0.5.4"),
    ],
)
def test_vllms_version_in_its_places(text: str, version: str) -> None:
    assert only(text + POOL).version == version


@pytest.mark.parametrize(
    "text",
    [
        "INFO [utils.py:302]   █▄█▀ █     █     █     █  model   Qwen/Qwen3-8B\n",
        "Initializing an LLM engine with config: model='Qwen/Qwen3-8B', tokenizer='x', max_seq_len=4096\n",
        "Initializing an LLM engine (v0.5.4) with config\n~~~\nmodel='Qwen/Qwen3-8B', speculative_config=None\n",
        "api_server.py:1035] args: Namespace(host=None, model='Qwen/Qwen3-8B', max_model_len=4096)\n",
        "$ vllm serve Qwen/Qwen3-8B --port 8000\n",
        "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B --port 8000\n",
        "docker run --gpus all vllm/vllm-openai:latest \\\n  --model Qwen/Qwen3-8B\n",
        "GPU: RTX 3090\nMODEL: Qwen/Qwen3-8B\n",
    ],
)
def test_vllms_model_in_its_places(text: str) -> None:
    assert only(text + POOL).model == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("text", "device"),
    [
        ("GPU models and configuration: GPU 0: NVIDIA RTX A2000 12GB\n" + POOL, "NVIDIA RTX A2000 12GB"),
        ("|   0  NVIDIA GeForce RTX 4090        On  | 00000000:01:00.0 |\n" + POOL, "NVIDIA GeForce RTX 4090"),
        ("GPU: 2 x NVIDIA L40S\n" + POOL, "NVIDIA L40S"),
        (
            "Device 0: Radeon 8060S Graphics, gfx1151 (0x1151), VMM: no, VRAM: 126976 MiB\n"
            "load_tensors:        ROCm0 model buffer size =  100.00 MiB\n",
            "Radeon 8060S Graphics",
        ),
        (
            "cmn  common_param:   - CUDA0   : NVIDIA GeForce RTX 4090 (24563 MiB, 23040 MiB free)\n",
            "NVIDIA GeForce RTX 4090",
        ),
    ],
)
def test_cards_in_their_places(text: str, device: str) -> None:
    assert only(text).settings["device"] == device


def figures(start: Start) -> dict[str, int | float]:
    return {reading.name: reading.value for reading in start.readings}


@pytest.mark.parametrize(
    ("text", "engine", "expected"),
    [
        (
            "[TensorRT-LLM][INFO] Allocate 69524783104 bytes for k/v cache.\n"
            "[TensorRT-LLM][INFO] Using 132608 tokens in paged KV cache.\n",
            "tensorrt_llm",
            {"pool": 69_524_783_104, "pool_tokens": 132_608},
        ),
        (
            "[TensorRT-LLM][INFO] Max tokens in paged KV cache: 117760. Allocating 54022635520 bytes.\n",
            "tensorrt_llm",
            {"pool_tokens": 117_760, "pool": 54_022_635_520},
        ),
        (
            "Max KV cache blocks per sequence: 65 [window size=2051], tokens per block=32, primary blocks=116617\n",
            "tensorrt_llm",
            {"request": 65, "window": 2_051, "blocks": 116_617},
        ),
        (
            "[TM][WARNING] No enough blocks for `session_len` (131072), `session_len` truncated to 111360.\n",
            "lmdeploy",
            {"longest_start": 111_360},
        ),
        (
            'time=2025-02-04 level=INFO source=memory.go:356 msg="offload to cuda" layers.requested=-1 layers.model=65 '
            'layers.offload=60 layers.split="" memory.available="[14.9 GiB]" memory.required.full="23.4 GiB" '
            'memory.required.kv="2.0 GiB" memory.weights.total="19.5 GiB" memory.graph.full="916.1 MiB"\n',
            "ollama",
            {
                "offloadable": 65,
                "offloaded": 60,
                "required": round(23.4 * GIB),
                "estimated_cache": 2 * GIB,
                "estimated_weights": round(19.5 * GIB),
                "estimated_compute": round(916.1 * MIB),
                "free": round(14.9 * GIB),
            },
        ),
        (
            'time=2025-07-18 level=INFO source=ggml.go:365 msg="model weights" buffer=CUDA0 size="11.0 GiB"\n'
            'time=2025-07-18 level=INFO source=ggml.go:672 msg="compute graph" backend=CUDA0 '
            'buffer_type=CUDA0 size="1.5 GiB"\n',
            "ollama",
            {"weights": 11 * GIB, "compute": 1.5 * GIB},
        ),
        (
            "llama_params_fit_impl:   - CUDA0 (NVIDIA RTX 6000 Ada Generation):  48508 total, 201672 used, 153599 "
            "deficit\n",
            "llama_cpp",
            {"card": 48_508 * MIB, "projected": 201_672 * MIB},
        ),
        (
            "llama_new_context_with_model: mla_attn   = 2\n"
            "llama_new_context_with_model: KV self size  = 2196.00 MiB, c^KV (f16): 2196.00 MiB, kv^T: not used\n",
            "ik_llama_cpp",
            {"cache_total": 2_196 * MIB},
        ),
    ],
)
def test_lines_of_other_engines(text: str, engine: str, expected: dict[str, int | float]) -> None:
    start = only(text)
    assert start.engine == engine
    assert figures(start) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (OOM + "23.68 GiB of which 212.81 MiB is free.\n", "memory"),
        (
            "CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.65 GiB total capacity; 22 GiB already)\n",
            "memory",
        ),
        ("RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.\n", "memory"),
        (
            "CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): out of memory (tllmBuffers.h:112)\n",
            "memory",
        ),
        ("llama_model_load: error loading model: unable to allocate ROCm0 buffer\n", "memory"),
        ("ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 437944320\n", "memory"),
        ("[TP0] max_total_tokens=131072 is larger than the profiled value -561981. Use the profiled value.\n", "pool"),
        ("maxTokensInPagedKvCache must be large enough to process at least 1 sequence to completion\n", "request"),
    ],
)
def test_failures_are_known(text: str, kind: str) -> None:
    start = only(text)
    assert start.failure is not None
    assert start.failure.kind == kind


def test_what_is_left_when_memory_runs_out_is_not_what_was_free() -> None:
    start = only("vllm\n" + OOM + "23.68 GiB of which 212.81 MiB is free.\n")
    assert start.engine == "vllm"
    assert figures(start) == {
        "allocation": 350 * MIB,
        "card": round(23.68 * GIB),
        "left": round(212.81 * MIB),
    }


def test_memory_that_runs_out_is_the_engines_that_spoke_before() -> None:
    text = "[TP0] Load weight end. type=Own, avail mem=7.80 GB, mem usage=15.30 GB.\n" + OOM + "23.68 GiB\n"
    start = only(text)
    assert (start.engine, start.failure is not None) == ("sglang", True)


@pytest.mark.parametrize(
    ("command", "settings"),
    [
        (
            "vllm serve a/b --max-model-len=8192 -tp 2 --enforce-eager --kv-cache-dtype fp8",
            {"max_model_len": "8192", "tensor_parallel_size": "2", "enforce_eager": "True", "kv_cache_dtype": "fp8"},
        ),
        (
            "llama-server -m a.gguf -c 50000 -ngl 99 -ub 2048 --cache-type-k q8_0 -fa on",
            {
                "model": "a.gguf",
                "n_ctx": "50000",
                "n_gpu_layers": "99",
                "n_ubatch": "2048",
                "cache_type_k": "q8_0",
                "flash_attn": "on",
            },
        ),
        (
            "python3 -m sglang.launch_server --model-path a/b --tp 4 --mem-fraction-static 0.93",
            {"model_path": "a/b", "tp_size": "4", "mem_fraction_static": "0.93"},
        ),
    ],
)
def test_what_a_command_sets(command: str, settings: dict[str, str]) -> None:
    figure = {
        "vllm": POOL,
        "llama-server": "load_tensors:        CUDA0 model buffer size =  100.00 MiB\n",
        "python3": "[TP0] Memory pool end. avail mem=2.31 GB\n",
    }[command.split()[0]]
    start = only(f"{command}\n{figure}")
    assert start.settings == settings
    assert start.model in ("a/b", "a.gguf")
