"""The lines of SGLang, TensorRT-LLM, LMDeploy, llama.cpp and Ollama, with the figures of public start-ups."""

from planner.logs.read import read_log
from planner.logs.readings import Start
from planner.units import GIB, MIB

MIB_HUNDREDTH = round(0.01 * MIB)


def only(text: str) -> Start:
    (start,) = read_log(text).starts
    return start


def figures(start: Start) -> dict[str, int | float]:
    """The last reading of each name, sizes in GiB as printed."""
    return {r.name: round(r.value / GIB, 2) if r.unit == "bytes" else r.value for r in start.readings}


def test_sglang_with_a_draft_and_recurrent_states() -> None:
    # Figures: a Qwen3 27B hybrid with an EAGLE draft under 0.5.17.
    start = only(
        "[2026-08-01 10:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3.6-27B', tp_size=1)\n"
        "[2026-08-01 10:00:01 TP0] Load weight begin. avail mem=78.50 GB\n"
        "[2026-08-01 10:00:09 TP0] Load weight end. elapsed=8.1 s, type=Qwen3_5ForConditionalGeneration, "
        "dtype=torch.bfloat16, avail mem=50.20 GB, mem usage=28.30 GB.\n"
        "[2026-08-01 10:00:10 TP0] Mamba Cache is allocated. max_mamba_cache_size: 43, conv_state size: 0.12GB, "
        "ssm_state size: 3.09GB intermediate_ssm_state_cache size: 2.11GB\n"
        "[2026-08-01 10:00:10 TP0] KV Cache is allocated. #tokens: 171008, K size: 5.22 GB, V size: 5.22 GB\n"
        "[2026-08-01 10:00:11 TP0] Memory pool end. avail mem=34.38 GB\n"
        "[2026-08-01 10:00:12 TP0] Load weight end. type=Draft, dtype=torch.bfloat16, avail mem=33.1 GB, "
        "mem usage=1.2 GB.\n"
        "[2026-08-01 10:00:13 TP0] KV Cache is allocated. #tokens: 171008, K size: 0.33 GB, V size: 0.33 GB\n"
        "[2026-08-01 10:00:20 TP0] max_total_num_tokens=171008, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=8, context_len=169000, available_gpu_mem=30.10 GB\n"
    )
    found = figures(start)
    assert start.model == "Qwen/Qwen3.6-27B"
    assert {name: found[name] for name in ("keys", "values", "draft_keys", "ssm_states", "states", "pool_tokens")} == {
        "keys": 5.22,
        "values": 5.22,
        "draft_keys": 0.33,
        "ssm_states": 3.09,
        "states": 43,
        "pool_tokens": 171_008,
    }
    assert {reading.rank for reading in start.readings} == {"TP0"}
    assert start.settings["context_length"] == "169000"


def test_sglang_with_a_latent_cache() -> None:
    start = only("[TP3] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 2454421, KV size: 160.63 GB")
    assert (figures(start), start.readings[0].rank) == ({"pool_tokens": 2_454_421, "cache": 160.63}, "TP3")


def test_tensorrt_llm() -> None:
    # Figures: Llama-3.1-8B on a GeForce RTX 5090.
    start = only(
        "[TensorRT-LLM] TensorRT-LLM version: 1.2.1\n"
        "[TensorRT-LLM][INFO] Loaded engine size: 8192 MiB\n"
        "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, "
        "available: 17.83 GiB\n"
        "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 8219\n"
        "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008).\n"
    )
    assert (start.engine, start.version) == ("tensorrt_llm", "1.2.1")
    assert figures(start) == {
        "weights": 8.0,
        "card": 31.84,
        "free_after_load": 17.83,
        "blocks": 8_219,
        "block": 32,
        "pool": 16.05,
        "pool_tokens": 263_008,
    }
    assert 8_219 * 32 == 263_008


def test_lmdeploy_cuts_the_session_short() -> None:
    start = only("[WARNING] session_len truncated to 4928 due to limited KV cache memory\nmax cached tokens: 4928")
    assert (start.engine, start.failure) == ("lmdeploy", None)
    assert figures(start) == {"longest_start": 4_928, "pool_tokens": 4_928}


def test_llama_cpp_on_two_devices() -> None:
    start = only(
        "build: 6123 (79c1160b0) with cc for x86_64-linux-gnu\n"
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 23871 MiB free\n"
        "llama_model_load_from_file_impl: using device CUDA1 (NVIDIA GeForce RTX 3090) - 23871 MiB free\n"
        "llama_model_loader: loaded meta data with 36 key-value pairs and 579 tensors from q4.gguf (version GGUF V3)\n"
        "print_info: file type   = Q4_K - Medium\n"
        "print_info: file size   = 18.48 GiB (4.85 BPW)\n"
        "load_tensors: offloaded 65/65 layers to GPU\n"
        "load_tensors:        CUDA0 model buffer size =  9128,16 MiB\n"
        "load_tensors:        CUDA1 model buffer size =  9380.25 MiB\n"
        "llama_context: n_seq_max     = 1\n"
        "llama_context: n_ctx         = 16384\n"
        "llama_context: flash_attn    = auto\n"
        "llama_kv_cache:      CUDA0 KV buffer size =  2176.00 MiB\n"
        "llama_kv_cache:      CUDA1 KV buffer size =  1920.00 MiB\n"
        "llama_kv_cache: size = 4096.00 MiB ( 16384 cells,  64 layers,  1/1 seqs), K (f16): 2048.00 MiB, V (f16): "
        "2048.00 MiB\n"
        "llama_context:      CUDA0 compute buffer size =   368.00 MiB\n"
    )
    assert (start.engine, start.version, start.model) == ("llama_cpp", "6123", "q4.gguf")
    assert [(r.rank, r.value) for r in start.named("weights")] == [
        ("CUDA0", round(9128.16 * MIB)),
        ("CUDA1", round(9380.25 * MIB)),
    ]
    assert sum(r.value for r in start.named("cache")) == 4096 * MIB == start.named("cache_total")[0].value
    assert start.settings["n_ctx"] == "16384"
    assert (start.settings["cache_type_k"], start.settings["file_type"]) == ("f16", "Q4_K - Medium")


def test_llama_cpp_of_2023() -> None:
    start = only(
        "llm_load_tensors:      CUDA0 buffer size =  3820.94 MiB\n"
        "llama_kv_cache_init:      CUDA0 KV buffer size =  2440.00 MiB\n"
        "llama_new_context_with_model: KV self size  = 2440.00 MiB, K (f16): 1464.00 MiB, V (f16):  976.00 MiB\n"
    )
    assert [r.value / MIB for r in start.named("cache_total")] == [2440]
    assert start.named("weights")[0].step == MIB_HUNDREDTH


def test_two_models_in_one_llama_cpp_log_are_two_starts() -> None:
    one = (
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 23871 MiB free\n"
        "llama_model_loader: loaded meta data with 36 key-value pairs and 579 tensors from {}\n"
        "load_tensors:        CUDA0 model buffer size =  {} MiB\n"
    )
    first, second = read_log(one.format("a.gguf", "100.00") + one.format("b.gguf", "200.00")).starts
    assert (first.model, second.model) == ("a.gguf", "b.gguf")
    assert (len(first.readings), len(second.readings)) == (2, 2)


def test_an_allocation_that_failed() -> None:
    start = only(
        "load_tensors:        CUDA0 model buffer size =  9128.16 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 14336.00 MiB on device 0: cudaMalloc failed: "
        "out of memory\n"
        "alloc_tensor_range: failed to allocate CUDA0 buffer of size 15032385536\n"
    )
    assert start.failure is not None
    assert (start.failure.kind, start.failure.line) == ("memory", 2)
    assert [r.value for r in start.named("allocation")] == [14_336 * MIB, 14_336 * MIB]


def test_ollama_with_its_own_engine() -> None:
    start = only(
        'time=2026-01-10 level=INFO source=routes.go:1 msg="Listening on 127.0.0.1:11434 (version 0.13.1)"\n'
        'time=2026-01-10 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="18.5 GiB"\n'
        'time=2026-01-10 level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="565.0 MiB"\n'
        'time=2026-01-10 level=INFO source=device.go:272 msg="total memory" size="19.9 GiB"\n'
    )
    assert (start.engine, start.version) == ("ollama", "0.13.1")
    assert figures(start) == {"weights": 18.5, "cache": 0.55, "total": 19.9}


def test_engines_in_one_file_are_told_apart() -> None:
    text = "Available KV cache memory: 4.99 GiB\n[TP0] KV Cache is allocated. #tokens: 5, KV size: 1.00 GB\n"
    assert [start.engine for start in read_log(text).starts] == ["vllm", "sglang"]


def test_text_of_no_engine_has_no_start() -> None:
    found = read_log("Dear all,\nthe server is down.\n")
    assert (found.starts, found.lines, found.cut) == ((), 2, False)
