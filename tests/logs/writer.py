"""Log lines in the engines' formats, written for the tests with the figures of public readings."""

from collections.abc import Iterator
from typing import Any

from planner.settings.versions import parse_version
from tests.vllm_readings import Reading

CARD_GIB = "79.15"


def vllm_lines(reading: Reading) -> Iterator[str]:
    """A start of vLLM that prints what *reading* has, in the format of its version, else of 0.11."""
    printed = reading.printed
    version = parse_version(reading.engine_version or "0.11")
    yield f"INFO 06-10 api_server.py:1] vLLM API server version {reading.engine_version or '0.11.0'}"
    yield config_line(reading)
    if "weights_gib" in printed:
        words = "Loading model weights took {} GB" if version < (0, 8) else "Model loading took {} GiB and 3.1 seconds"
        yield words.format(printed["weights_gib"])
    if "activation_gib" in printed and "non_torch_gib" in printed:
        yield (
            f"model weights take {printed.get('weights_gib', 1.0)}GiB; non_torch_memory takes "
            f"{printed['non_torch_gib']}GiB; PyTorch activation peak memory takes {printed['activation_gib']}GiB; "
            f"the rest of the memory reserved for KV Cache is {printed.get('pool_gib', 1.0)}GiB."
        )
    elif "pool_gib" in printed:
        yield f"(EngineCore_DP0 pid=72) INFO [gpu_worker.py:298] Available KV cache memory: {printed['pool_gib']} GiB"
    if "blocks" in printed:
        yield f"# GPU blocks: {printed['blocks']}, # CPU blocks: 2048"
    yield from _capacity(reading.context or 4096, printed, is_one_line=version >= (0, 27))
    yield from _refusal(reading.context, printed)


def config_line(reading: Reading) -> str:
    return (
        "INFO 06-10 core.py:58] Initializing a V1 LLM engine (v0.11.0) with config: "
        f"model='{reading.reported_model}', speculative_config=None, dtype=torch.bfloat16, "
        f"max_seq_len={reading.context or 4096}, tensor_parallel_size={reading.tensor_parallel}, "
        "pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto"
    )


def _capacity(context: int, printed: dict[str, Any], is_one_line: bool) -> Iterator[str]:
    tokens = f"GPU KV cache size: {printed['tokens']:,} tokens" if "tokens" in printed else ""
    users = (
        f"Maximum concurrency for {context:,} tokens per request: {printed['concurrency']:.2f}x"
        if "concurrency" in printed
        else ""
    )
    lines = [text for text in (tokens, users) if text]
    if is_one_line and lines:
        lines = [", ".join(lines)]
    yield from (f"(EngineCore_DP0 pid=72) INFO 11-02 10:00:00 [kv_cache_utils.py:1087] {text}" for text in lines)


def _refusal(context: int | None, printed: dict[str, Any]) -> Iterator[str]:
    if "request_gib" in printed and "longest_start" in printed:
        yield (
            f"ValueError: To serve at least one request with the models's max seq len ({context}), "
            f"({printed['request_gib']:.2f} GiB KV cache is needed, which is larger than the available KV cache memory "
            f"({printed['pool_gib']} GiB). Based on the available memory, the estimated maximum model length is "
            f"{printed['longest_start']}. Try increasing `gpu_memory_utilization` or decreasing `max_model_len`."
        )
    if "state_blocks" in printed:
        yield f"max_num_seqs (256) exceeds available Mamba cache blocks ({printed['state_blocks']})."
