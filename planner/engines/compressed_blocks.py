"""Compressed caches as transformers keeps them: entries of full blocks, and the tokens of the one that is being filled.

Source: transformers 5.24, models/deepseek_v4/modeling_deepseek_v4.py, DeepseekV4HCACache and DeepseekV4CSACache.
"""

from collections.abc import Iterable
from dataclasses import replace

from planner.architecture import CompressedAttention, Layer, Recurrence
from planner.formats import NumberFormat
from planner.kv_cache import KVCacheSpec
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSpec(KVCacheSpec):
    """One entry for every full block; the tokens of the block that is not full yet wait beside them.

        bytes(n) = bytes_per_entry · ⌊n / tokens_per_entry⌋ + waiting_bytes · (n mod tokens_per_entry)
                 + fixed_bytes, from the first full block on

    *fixed_bytes* are the full block before, where the next entry takes it in as well.
    """

    waiting_bytes: int = 0

    def bytes_for(self, tokens: int) -> int:
        entries, waiting = divmod(tokens, self.tokens_per_entry)
        return self.bytes_per_entry * entries + self.waiting_bytes * waiting + (self.fixed_bytes if entries else 0)

    def most_bytes_for(self, tokens: int) -> int:
        """The most that is held on the way to *tokens*: with this block, or when the one before lacked one token."""
        last_full = tokens // self.tokens_per_entry * self.tokens_per_entry
        return max(self.bytes_for(tokens), self.bytes_for(last_full - 1) if last_full else 0)


def most_bytes_for(specs: Iterable[KVCacheSpec], tokens: int) -> int:
    """The most that one request holds on its way to *tokens*, as if all its blocks were fullest at once."""
    return sum(spec.most_bytes_for(tokens) if isinstance(spec, BlockSpec) else spec.bytes_for(tokens) for spec in specs)


def is_compressed(layer: Layer) -> bool:
    """Whether *layer* keeps entries of blocks."""
    return any(isinstance(mixer, CompressedAttention) for mixer in layer.mixers)


def block_spec(layer: Layer, key_format: NumberFormat) -> BlockSpec:
    """What *layer* keeps beside its window; states of fewer rows than a block has tokens wait to fill it."""
    entries = [mixer for mixer in layer.mixers if isinstance(mixer, CompressedAttention)]
    block = entries[0].tokens_per_entry
    states = [state for mixer in layer.mixers if isinstance(mixer, Recurrence) for state in mixer.states]
    waiting = [state for state in states if state.rows < block]
    overlap = [state for state in states if state.rows >= block]
    return BlockSpec(
        tokens_per_entry=block,
        bytes_per_entry=sum(key_format.bytes_for(entry.width) for entry in entries),
        waiting_bytes=sum((state.format or key_format).bytes_for(state.columns) for state in waiting),
        fixed_bytes=sum((state.format or key_format).bytes_for(state.elements) for state in overlap),
    )


def merge_blocks(specs: Iterable[tuple[BlockSpec, int]]) -> tuple[BlockSpec, ...]:
    """The same bytes for every length from one spec for each length of a block; *specs* come with their number."""
    merged: dict[int, BlockSpec] = {}
    for spec, count in specs:
        known = merged.get(spec.tokens_per_entry, BlockSpec(tokens_per_entry=spec.tokens_per_entry))
        merged[spec.tokens_per_entry] = replace(
            known,
            bytes_per_entry=known.bytes_per_entry + count * spec.bytes_per_entry,
            waiting_bytes=known.waiting_bytes + count * spec.waiting_bytes,
            fixed_bytes=known.fixed_bytes + count * spec.fixed_bytes,
        )
    return tuple(merged.values())
