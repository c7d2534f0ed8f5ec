"""DeepSeek-V4's blocks by vLLM's own planning function, which runs where the model's kernels do not.

The specs are those that vllm/models/deepseek_v4 makes on NVIDIA's cards, with fp8 entries of 584 bytes.
"""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from planner.answers.answer import Answer, answer
from planner.inputs.choices import Choices, choose
from planner.presets import find_model

MODELS = ("deepseek-v4-flash", "deepseek-v4-pro")
STARTS = ((131_072, 2_048), (131_072, 8_192), (600_000, 4_096), (5_000, 8_192))
"""max_model_len and max_num_batched_tokens."""
POOL_BYTES = 50 << 30
ALIGNMENT, WIDTH, INDEX_WIDTH = 576, 512, 128


def rows(version: str) -> Iterator[tuple[str, str, str]]:
    """Each start in words, and blocks and tokens as vLLM plans and as we do."""
    for model in MODELS:
        for context, step in STARTS:
            planned = _planned(model, context, step, version).report
            assert planned is not None
            ours = f"{planned.num_blocks:,} blocks, {planned.pool_tokens:,} tokens"
            yield f"{model}, {context:,} tokens, batched {step:,}", _vllm(model, context, 2 * step), ours


def _planned(model: str, context: int, step: int, version: str) -> Answer:
    settings = (f"max_num_batched_tokens={step}", f"kv_cache_memory_bytes={POOL_BYTES}")
    choices = Choices(
        model=model,
        memory="2000GiB",
        engine="vllm",
        engine_version=version,
        kv_cache="fp8",
        context=context,
        set=settings,
    )
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload)


def _vllm(model: str, context: int, in_flight: int) -> str:
    from vllm.v1.core import kv_cache_utils
    from vllm.v1.kv_cache_interface import KVCacheLayout

    none = SimpleNamespace(hisparse_config=None, disable_hybrid_kv_cache_manager=False)
    cache = SimpleNamespace(
        get_resolved_kv_cache_layout=lambda: KVCacheLayout.BLHNC,
        num_gpu_blocks_override=None,
        prefix_cache_retention_interval=None,
    )
    config = SimpleNamespace(
        cache_config=cache,
        scheduler_config=none,
        attention_config=none,
        speculative_config=None,
        model_config=SimpleNamespace(max_model_len=context),
        max_in_flight_tokens=in_flight,
        parallel_config=SimpleNamespace(decode_context_parallel_size=1, prefill_context_parallel_size=1),
    )
    groups = kv_cache_utils.get_kv_cache_groups(config, dict(_specs(model)))
    found = kv_cache_utils.get_kv_cache_config_from_groups(config, groups, POOL_BYTES)
    concurrency = kv_cache_utils.get_max_concurrency_for_kv_cache_config(config, found)
    return f"{found.num_blocks:,} blocks, {int(concurrency * context):,} tokens"


def _specs(model: str) -> Iterator[tuple[str, Any]]:
    import torch
    from vllm.v1.kv_cache_interface import MLAAttentionSpec, SlidingWindowMLASpec

    def entries(ratio: int, width: int, **more: Any) -> MLAAttentionSpec:
        return MLAAttentionSpec(
            block_size=256, num_kv_heads=1, head_size=width, dtype=torch.uint8, tokens_per_state=ratio,
            alignment=ALIGNMENT, **more
        )  # fmt: skip

    def window(block: int, tokens: int, width: int, dtype: Any, **more: Any) -> SlidingWindowMLASpec:
        return SlidingWindowMLASpec(
            block_size=block, num_kv_heads=1, head_size=width, dtype=dtype, sliding_window=tokens,
            alignment=ALIGNMENT, **more
        )  # fmt: skip

    packed = {"cache_dtype_str": "fp8_ds_mla", "state_content_bytes": 584, "model_version": "deepseek_v4"}
    config = find_model(model).config
    for index, ratio in enumerate(config["compress_ratios"][: config["num_hidden_layers"]]):
        overlap = 2 if ratio == 4 else 1
        block = 4 if ratio == 4 else 8
        if ratio:
            yield f"{index}.entries", entries(ratio, WIDTH, **packed)
            yield f"{index}.waiting", window(block, overlap * ratio, 2 * overlap * WIDTH, torch.float32)
        if ratio == 4:
            yield f"{index}.index", entries(ratio, INDEX_WIDTH + 4)
            yield f"{index}.index.waiting", window(block, overlap * ratio, 2 * overlap * INDEX_WIDTH, torch.float32)
        yield f"{index}.window", window(64, config["sliding_window"], WIDTH, torch.uint8, **packed)
