"""Everything in which one layer differs from another."""

from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlan:
    """Everything in which one layer differs from another; equal plans become the same Layer object.

    *kind* is a key of ``mixers.MIXERS``; the dimensions are those of its attention, 0 where it has none.
    *feed_forward* is ``dense``, ``experts``, ``hash_experts``, ``linear`` or ``none``; *intermediate_size* its width, 0
    without one. *repeats_weights*: an earlier layer has brought the block that is shared. *runs_again*: earlier weights
    once more, with a cache of its own.
    """

    kind: str
    feed_forward: str = ""
    intermediate_size: int = 0
    window_tokens: int | None = None
    num_attention_heads: int = 0
    num_key_value_heads: int = 0
    head_dim: int = 0
    v_head_dim: int = 0
    shares_cache: bool = False
    kv_lora_rank: int = 0
    qk_nope_head_dim: int = 0
    repeats_weights: bool = False
    runs_again: bool = False
    has_indexer: bool = False
