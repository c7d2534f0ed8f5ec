"""Plans of every engine that has a command, for the laws of what it says, and how their budgets are compared."""

from dataclasses import replace

from hypothesis import strategies as st

from planner.answers.answer import Answer, answer
from planner.inputs.choices import Choices, choose

CARD = "79.15GiB"


def optional(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | values


def chosen_settings(**values: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of *values* as ``KEY=VALUE``."""
    return st.fixed_dictionaries({}, optional=values).map(
        lambda found: tuple(f"{key}={str(value).lower()}" for key, value in found.items())
    )


def drafts(strategy: st.SearchStrategy[Choices], *names: str) -> st.SearchStrategy[Choices]:
    """*strategy* with one of *names* drafting, or nobody."""

    def add(choices: Choices, name: str | None, tokens: int) -> Choices:
        return choices if name is None else replace(choices, draft_model=name, draft_tokens=tokens)

    return st.builds(add, strategy, st.sampled_from([None, *names]), st.integers(min_value=1, max_value=9))


SMALL, OWN_DRAFTS = "qwen3-0.6b", ("eagle", "ngram", "mtp")
CONTEXTS = st.integers(min_value=1, max_value=60_000)
USERS = st.integers(min_value=1, max_value=9)
VLLM = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "qwen3.6-35b-a3b"]),
    memory=st.just(CARD),
    engine=st.just("vllm"),
    engine_version=st.sampled_from([None, "0.11", "0.26"]),
    weights=st.sampled_from([None, "fp8", "nf4", "int4-g128"]),
    kv_cache=st.sampled_from([None, "fp8", "bf16", "fp16"]),
    tensor_parallel=st.sampled_from([None, 1, 2]),
    pipeline_parallel=st.sampled_from([None, 2]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        gpu_memory_utilization=st.sampled_from(["0.5", "0.95"]),
        max_num_seqs=st.integers(min_value=1, max_value=512),
        max_num_batched_tokens=st.integers(min_value=512, max_value=16_384),
        kv_cache_memory_bytes=st.integers(min_value=2**30, max_value=2**34),
        enforce_eager=st.booleans(),
        enable_prefix_caching=st.booleans(),
        skip_mm_profiling=st.booleans(),
        language_model_only=st.booleans(),
        async_scheduling=st.booleans(),
        enable_chunked_prefill=st.booleans(),
        enable_lora=st.booleans(),
        max_loras=st.integers(min_value=1, max_value=9),
        cpu_offload_gb=st.sampled_from(["0.5", "4"]),
        mamba_ssm_cache_dtype=st.sampled_from(["float32", "bfloat16"]),
    ),
)
LLAMA_CPP = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "gemma-3-27b", "qwen3-30b-a3b"]),
    memory=st.just(CARD),
    engine=st.sampled_from(["llama_cpp", "ik_llama_cpp", "ollama"]),
    weights=st.sampled_from([None, "q4_k_m", "q8_0"]),
    kv_cache=st.sampled_from([None, "q8_0", "fp16"]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(n_gpu_layers=st.integers(min_value=0, max_value=30), n_parallel=st.integers(1, 9)),
)
SGLANG = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "qwen3.6-35b-a3b", "gpt-oss-20b", "gemma-3-27b"]),
    memory=st.just(CARD),
    engine=st.just("sglang"),
    engine_version=st.sampled_from([None, "0.4.9", "0.5.6", "0.5.12", "0.5.20"]),
    weights=st.sampled_from([None, "fp8", "int4-g128"]),
    kv_cache=st.sampled_from([None, "fp8", "bf16", "fp16"]),
    tensor_parallel=st.sampled_from([None, 1, 2]),
    pipeline_parallel=st.sampled_from([None, 2]),
    data_parallel=st.sampled_from([None, 2]),
    expert_parallel=st.sampled_from([None, 2, 4]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        mem_fraction_static=st.sampled_from(["0.5", "0.9"]),
        max_total_tokens=st.integers(min_value=1_000, max_value=1_000_000),
        max_running_requests=st.integers(min_value=1, max_value=512),
        chunked_prefill_size=st.integers(min_value=512, max_value=16_384),
        cuda_graph_max_bs=st.integers(min_value=1, max_value=512),
        page_size=st.sampled_from([1, 64]),
        max_mamba_cache_size=st.integers(min_value=1, max_value=100),
        swa_full_tokens_ratio=st.sampled_from(["0.1", "1.0"]),
        mamba_full_memory_ratio=st.sampled_from(["0.5", "2.0"]),
        mamba_ssm_dtype=st.sampled_from(["float32", "bfloat16"]),
        disable_radix_cache=st.booleans(),
        disable_hybrid_swa_memory=st.booleans(),
    ),
)
TENSORRT_LLM = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite"]),
    memory=st.just(CARD),
    engine=st.just("tensorrt_llm"),
    engine_version=st.sampled_from([None, "0.17"]),
    weights=st.sampled_from([None, "fp8"]),
    kv_cache=st.sampled_from([None, "fp8", "nvfp4-kv"]),
    tensor_parallel=st.sampled_from([None, 1, 2]),
    pipeline_parallel=st.sampled_from([None, 2]),
    data_parallel=st.sampled_from([None, 2]),
    expert_parallel=st.sampled_from([None, 2]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        free_gpu_memory_fraction=st.sampled_from(["0.5", "0.95"]),
        max_tokens=st.integers(min_value=100, max_value=1_000_000),
        tokens_per_block=st.sampled_from([32, 64]),
        max_batch_size=st.integers(min_value=1, max_value=512),
        max_num_tokens=st.integers(min_value=512, max_value=16_384),
    ),
)
LMDEPLOY = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v2-lite"]),
    memory=st.just(CARD),
    engine=st.just("lmdeploy"),
    engine_version=st.sampled_from([None, "0.9.2"]),
    kv_cache=st.sampled_from([None, "fp16", "bf16"]),
    tensor_parallel=st.sampled_from([None, 1, 2, 16]),
    context=optional(CONTEXTS),
    users=USERS,
    set=chosen_settings(
        cache_max_entry_count=st.sampled_from(["0.5", "0.95", "3000"]),
        cache_block_seq_len=st.sampled_from([64, 128]),
        quant_policy=st.sampled_from([0, 4, 8]),
        max_batch_size=st.integers(min_value=1, max_value=512),
    ),
)
TRANSFORMERS = st.builds(
    Choices,
    model=st.sampled_from(["llama-3.1-8b", "gemma-3-27b"]),
    memory=st.just(CARD),
    engine=st.just("transformers"),
    weights=st.sampled_from([None, "nf4", "nf4-dq", "llm-int8"]),
    context=optional(CONTEXTS),
    users=USERS,
)


def ask(choices: Choices) -> Answer:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def comparable(answer: Answer) -> Answer:
    """*answer* without its words, and what one request alone takes: llama.cpp's command sets its slots."""
    items = tuple(replace(item, source="") for item in answer.items)
    return replace(answer, items=items, kv_request_bytes=0, warnings=(), report=None)


def without_command(choices: Choices) -> Choices:
    """What no command has, and the weights, which are the checkpoint's."""
    return Choices(
        model="",
        memory=choices.memory,
        engine=choices.engine,
        engine_version=choices.engine_version,
        weights=choices.weights,
        users=choices.users,
    )
