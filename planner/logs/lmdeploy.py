"""LMDeploy's memory lines, of TurboMind. Its ``MB`` are MiB.

Source: src/turbomind, and public reports.
"""

from planner.logs.patterns import Format, pattern

FORMAT = Format(
    engine="lmdeploy",
    patterns=(
        pattern("cached", r"max cached tokens: <pool_tokens__tokens>"),
        pattern(
            "truncated",
            r"session_len truncated to <longest_start__tokens> due to limited KV cache memory",
            fails="request",
        ),
        pattern("block_size", r"\[BlockManager\] block_size = <block__mib> MB"),
        pattern("max_block_count", r"\[BlockManager\] max_block_count = <blocks__blocks>"),
        pattern(
            "budget",
            r"Object cache budget: <pool__mib> MB from free <free_after_load__mib> MB and ratio "
            r"<set__cache_max_entry_count>",
        ),
    ),
)
