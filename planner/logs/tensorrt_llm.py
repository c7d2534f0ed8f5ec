"""TensorRT-LLM's memory lines, of engines and of the PyTorch backend.

Source: cpp/tensorrt_llm/batch_manager, tensorrt_llm/_torch/pyexecutor, and public reports. ``GB`` of buffers is GiB.
"""

import re

from planner.logs.patterns import Format, pattern

_RANK = re.compile(r"\[(?:RANK|MpiWorker|TRT-LLM\] \[RANK) (\d{1,4})\]|\[1,(\d{1,4})\]<")


def rank(prefix: str) -> str:
    """The process in a line's prefix: ``[RANK 1]``, or as mpirun tags it.

    >>> rank("[TensorRT-LLM][INFO] [RANK 1] "), rank("[1,0]<stdout>: [TensorRT-LLM]"), rank("[TensorRT-LLM][INFO]")
    ('rank 1', 'rank 0', '')
    """
    found = _RANK.search(prefix)
    return "" if found is None else f"rank {found[1] or found[2]}"


FORMAT = Format(
    engine="tensorrt_llm",
    rank=rank,
    patterns=(
        pattern("version", r"TensorRT-LLM version:? <version__>", begins=True),
        pattern("Loaded", r"Loaded engine size: <weights__mib> MiB"),
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
        ),
        pattern("primary", r"Number of blocks in KV cache primary pool: <blocks__blocks>"),
        pattern("block", r"Number of tokens per block: <block__tokens>"),
        pattern(
            "Allocated",
            r"Allocated <pool__gib> GiB for max tokens in paged KV cache \(<pool_tokens__tokens>\)",
        ),
        pattern("paged", r"Using <pool_tokens__tokens> tokens in paged KV cache"),
        pattern(
            "sequence",
            r"Max KV cache blocks per sequence: <request__blocks> \[window size=<window__tokens>\]",
        ),
        pattern("max_seq_len", r"max_seq_len(?:[ =:]{1,3}|` is set to )<set__max_seq_len>"),
    ),
)
