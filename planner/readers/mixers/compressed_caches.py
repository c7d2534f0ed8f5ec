"""What DeepSeek-V4 keeps: a window of keys, an entry for each block before it, and the block that is not full yet."""

from planner.architecture import CompressedAttention, LatentAttention, Mixer, Recurrence, StateTensor
from planner.formats import NumberFormat


def window(heads: int, head_dim: int, rotary: int, tokens: int) -> LatentAttention:
    """One vector a token for all heads, *rotary* of whose *head_dim* are rotated."""
    return LatentAttention(
        num_attention_heads=heads,
        kv_lora_rank=head_dim - rotary,
        qk_rope_head_dim=rotary,
        window_tokens=tokens,
        is_key_and_value=True,
    )


def long_blocks(head_dim: int, block: int) -> tuple[Mixer, ...]:
    """Entries of long blocks, all of which are read."""
    return (
        CompressedAttention(width=head_dim, tokens_per_entry=block),
        Recurrence(kind="compressor", states=_waiting("compressor", block, head_dim), is_whole=True),
    )


def overlapping_blocks(head_dim: int, index_head_dim: int, block: int, summed: NumberFormat) -> tuple[Mixer, ...]:
    """Entries of short blocks that overlap, and those of an indexer that picks among them; sums are in *summed*."""
    widths = {"compressor": head_dim, "indexer": index_head_dim}
    states = [
        state
        for name, width in widths.items()
        for state in (*_waiting(name, block, 2 * width), *_overlap(summed, name, block, width))
    ]
    return (
        *(CompressedAttention(width=width, tokens_per_entry=block) for width in widths.values()),
        Recurrence(kind="compressor", states=tuple(states), is_whole=True),
    )


def _waiting(name: str, block: int, width: int) -> tuple[StateTensor, ...]:
    """Tokens of a block that is not full yet, at most all but one, as they wait with their weights to be summed up."""
    return tuple(StateTensor(name=f"{name}_{part}", rows=block - 1, columns=width) for part in ("tokens", "weights"))


def _overlap(summed: NumberFormat, name: str, block: int, width: int) -> tuple[StateTensor, ...]:
    """The block before, which the next entry takes in as well."""
    return (
        StateTensor(name=f"{name}_overlap_tokens", rows=block, columns=width),
        StateTensor(name=f"{name}_overlap_weights", rows=block, columns=width, format=summed),
    )
