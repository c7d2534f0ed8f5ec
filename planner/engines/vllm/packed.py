"""Blocks that hold pages of several sizes: DeepSeek-V4's windows, compressed entries, indexers and waiting tokens."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from planner.architecture import CompressedAttention, LatentAttention, Layer, distinct_layers
from planner.deployment import Deployment
from planner.engines.vllm.blocks import Group, Grouping
from planner.engines.vllm.pages import FULL, SLIDING, LayerCache
from planner.errors import PlannerError
from planner.records import dataclass

_FP32_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bucket:
    """Caches with equal blocks and windows: how many have a page of so many bytes."""

    kind: str
    block_tokens: int
    window_tokens: int
    pages: Counter[int] = field(default_factory=Counter)

    @property
    def most(self) -> int:
        """Caches of the most frequent page."""
        return max(self.pages.values())

    @property
    def is_balanced(self) -> bool:
        """Whether there are as many of each page, so that layers repeat a pattern of one of each."""
        return len(set(self.pages.values())) == 1

    def bytes_of(self, groups: int) -> int:
        """Page bytes of the largest of so many groups."""
        return sum(-(-count // groups) * page for page, count in self.pages.items())


def is_packed(layers: Iterable[Layer]) -> bool:
    """Whether any of *layers* keeps compressed entries."""
    found = distinct_layers(layers)
    return any(isinstance(mixer, CompressedAttention) for layer, _ in found for mixer in layer.mixers)


def packed_grouping(layers: Iterable[Layer], deployment: Deployment) -> Grouping:
    """Groups of caches with equal blocks and windows, which lie over each other: the largest is what a block costs.

    Groups of windows are divided to be as long as those in which pages of two sizes repeat.

    Source: vllm/v1/core/kv_cache_utils.py, _get_packed_kv_cache_groups.
    """
    rules = deployment.settings.rule("compressed_pages")
    if rules is None:
        raise PlannerError(
            f"How vLLM {deployment.settings.version} packs compressed caches is not known here; ask for 0.27 or later."
        )
    if deployment.kv_cache_k.bytes_for(1) != 1:
        raise PlannerError("vLLM keeps DeepSeek-V4's cache in fp8 alone: give --kv-cache fp8.")
    buckets = _buckets(layers, rules, deployment.settings.rule("indexer_token_bytes"))
    counted = [bucket for bucket in buckets if bucket.is_balanced or rules["counts_all"]]
    least = max((bucket.most for bucket in counted if len(bucket.pages) > 1), default=0)
    if not least:
        raise PlannerError("How vLLM packs compressed caches without an indexer is not known here.")
    size = _least_padding([bucket.most for bucket in counted], least)
    numbers = [-(-bucket.most // size) if bucket.is_balanced else 1 for bucket in buckets]
    pairs = list(zip(buckets, numbers, strict=True))
    groups = tuple(
        Group(cache=_cache(bucket), count=number, layers=-(-bucket.pages.total() // number)) for bucket, number in pairs
    )
    return Grouping(groups=groups, block_bytes=max(bucket.bytes_of(number) for bucket, number in pairs))


def _buckets(layers: Iterable[Layer], rules: Mapping[str, Any], indexer_bytes: int) -> list[_Bucket]:
    """Compressed entries first, then windows, then what waits, by the tokens of an entry.

    What waits is kept in fp32, a key and its weight, twice where entries overlap.
    """
    found: dict[tuple[str, int, int], _Bucket] = {}

    def add(kind: str, block: int, window: int, page: int, count: int) -> None:
        bucket = found.setdefault((kind, block, window), _Bucket(kind=kind, block_tokens=block, window_tokens=window))
        bucket.pages[-(-page // rules["alignment"]) * rules["alignment"]] += count

    for layer, count in distinct_layers(layers):
        widest = max((m.width for m in layer.mixers if isinstance(m, CompressedAttention)), default=0)
        for mixer in layer.mixers:
            match mixer:
                case LatentAttention(window_tokens=window) if window is not None:
                    add(SLIDING, rules["window_tokens"], window, rules["window_tokens"] * rules["entry_bytes"], count)
                case CompressedAttention(width=width, tokens_per_entry=ratio):
                    entry_bytes = rules["entry_bytes"] if width == widest else indexer_bytes
                    add(FULL, rules["tokens"], 0, rules["tokens"] // ratio * entry_bytes, count)
                    doubled = 2 if ratio == rules["overlap"] else 1
                    block = rules["state_tokens"].get(str(ratio))
                    if block is None:
                        raise PlannerError(f"How vLLM compresses {ratio} tokens to one is not known here.")
                    add(SLIDING, block, doubled * ratio, block * 2 * doubled * width * _FP32_BYTES, count)
    return sorted(found.values(), key=lambda bucket: bucket.kind != FULL)


def _least_padding(counts: Sequence[int], least: int) -> int:
    """Layers of a group, at least *least*, for which rounding *counts* up to its multiples adds the fewest.

    >>> _least_padding([43, 21, 20], 21)
    22
    """
    return min(range(least, max(counts) + 1), key=lambda size: (sum(-count % size for count in counts), -size))


def _cache(bucket: _Bucket) -> LayerCache:
    return LayerCache(
        kind=bucket.kind,
        block_tokens=bucket.block_tokens,
        page_bytes=max(bucket.pages),
        window_tokens=bucket.window_tokens,
    )
