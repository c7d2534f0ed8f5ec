"""LMDeploy's memory lines, of TurboMind. Its ``MB`` are MiB.

Source: src/turbomind, and public reports.
"""

from planner.logs.commands import options_of, same_names
from planner.logs.patterns import Format, pairs_of, pattern

SETTINGS = ("tp", "session_len", "max_batch_size", "cache_max_entry_count", "cache_block_seq_len", "quant_policy")

FORMAT = Format(
    engine="lmdeploy",
    words=("lmdeploy",),
    patterns=(
        pattern("backend_config", r"backend_config=TurbomindEngineConfig\((?P<pairs__>.*)", pairs=pairs_of(*SETTINGS)),
        pattern(
            "TurbomindEngineConfig", r"engine_config: TurbomindEngineConfig\((?P<pairs__>.*)", pairs=pairs_of(*SETTINGS)
        ),
        pattern(
            "lmdeploy",
            r"lmdeploy serve api_server +(?:(?P<model__>[^\s-]\S{0,300}))?(?P<pairs__>.*)",
            is_weak=True,
            pairs=options_of(same_names(*SETTINGS)),
        ),
        pattern(
            "max_context_token_num", r"`max_context_token_num` is not set, default to <set__session_len>", is_weak=True
        ),
        pattern("cached", r"max cached tokens: <pool_tokens__tokens>"),
        pattern(
            "truncated",
            r"session_len`? truncated to <longest_start__tokens>(?: due to limited KV cache memory|\.)",
        ),
        pattern("block_size", r"\[BlockManager\] block_size = <block__mib> MB"),
        pattern("max_block_count", r"\[BlockManager\] max_block_count = <blocks__blocks>"),
        pattern("TM", r"\[TM\]\[ERROR\] .{0,40}?CUDA runtime error: out of memory", fails="memory"),
        pattern(
            "budget",
            r"Object cache budget: <pool__mib> MB from (?:free|cacheable) <free_after_load__mib> MB and ratio "
            r"<set__cache_max_entry_count>",
        ),
    ),
)
