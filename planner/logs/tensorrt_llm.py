"""TensorRT-LLM's memory lines, of engines and of the PyTorch backend.

Source: cpp/tensorrt_llm/batch_manager, tensorrt_llm/_torch/pyexecutor, and public reports. ``GB`` of buffers is GiB.
"""

from collections.abc import Iterable
from dataclasses import replace

from planner.logs.patterns import Format, pattern
from planner.logs.ranks import rank
from planner.logs.readings import Reading

_LAST_BUILT = "0.21.0"
"""Until 1.0 what is served is an engine that was built before, as these lines show; then PyTorch's by default."""

FORMAT = Format(
    engine="tensorrt_llm",
    rank=rank,
    words=("tensorrt_llm", "trtllm"),
    patterns=(
        pattern("version", r"TensorRT-LLM version:? <version__>", begins=True),
        pattern("version", r"Engine version <version__>"),
        pattern("Loaded", r"Loaded engine size: <weights__mib> MiB", last=_LAST_BUILT),
        pattern(
            "Allocated",
            r"Allocated <context__printed> (?P<unit__>[KMG]i?B) for execution context memory",
        ),
        pattern("Allocated", r"Allocated <buffers__printed> (?P<unit__>[KMG]B) GPU memory for runtime"),
        pattern("Allocated", r"Allocated <decoder__printed> (?P<unit__>[KMG]B) GPU memory for decoder"),
        pattern(
            "calculating",
            r"Memory usage when calculating max tokens in paged kv cache: total: <card__gib> GiB, "
            r"available: <free_after_load__gib> GiB",
            last=_LAST_BUILT,
        ),
        pattern("primary", r"Number of blocks in KV cache primary pool: <blocks__blocks>"),
        pattern("block", r"Number of tokens per block: (?P<set__tokens_per_block><block__tokens>)"),
        pattern(
            "Allocated",
            r"Allocated <pool__gib> GiB for max tokens in paged KV cache \(<pool_tokens__tokens>\)",
        ),
        pattern("paged", r"Using <pool_tokens__tokens> (?:total )?tokens in paged KV cache"),
        pattern("sequence", r"in paged KV cache, and <request__blocks> blocks per sequence"),
        pattern("tokensPerBlock", r"tokensPerBlock \((?P<set__tokens_per_block><block__tokens>)\)"),
        pattern("Allocating", r"Max tokens in paged KV cache: <pool_tokens__tokens>\. Allocating <pool__bytes> bytes"),
        pattern("Allocate", r"Allocate <pool__bytes> bytes for k/v cache"),
        pattern(
            "sequence",
            r"Max KV cache blocks per sequence: <request__blocks> \[window size=<window__tokens>\]",
        ),
        pattern("sequence", r"Max KV cache pages per sequence: <request__blocks>"),
        pattern("primary", r"tokens per block=<set__tokens_per_block>, primary blocks=<blocks__blocks>"),
        pattern(
            "maxTokensInPagedKvCache",
            r"maxTokensInPagedKvCache(?: \(<pool_tokens__tokens>\))? must be large enough to process at least 1",
            fails="request",
        ),
        pattern("maxSequenceLen", r"TRTGptModel maxSequenceLen: <set__max_seq_len>"),
        pattern("component", r"The following component could not be created: ", fails="memory"),
        pattern("insufficient", r"Executor creation failed due to insufficient GPU memory", fails="memory"),
        pattern("Total", r"^\s{0,4}Total GPU memory \(GiB\): <card__gib>"),
        pattern("creation", r"Free GPU memory before component creation attempt \(GiB\): <left__gib>"),
        pattern("Model", r"^\s{0,4}Model: <free__gib> / <free_with_model__gib>\s*$"),
        pattern("cudaMallocAsync", r"cudaMallocAsync\(.{0,80}\): out of memory", fails="memory"),
        pattern("max_seq_len", r"max_seq_len(?:[ =:]{1,3}|` is set to )<set__max_seq_len>"),
    ),
)


def with_weights(readings: Iterable[Reading]) -> tuple[Reading, ...]:
    """What was free before the model and with it differ by its weights."""
    found: list[Reading] = []
    for reading in readings:
        if reading.name == "free_with_model" and found and found[-1].name == "free":
            size, step = found[-1].value - reading.value, found[-1].step + reading.step
            reading = replace(reading, name="weights", value=size, step=step)
        found.append(reading)
    return tuple(found)
