"""How layers share blocks: a block spans one page of every layer in a group, and all groups draw on the same blocks."""

from collections import Counter
from dataclasses import replace

from planner.architecture import LatentAttention
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.vllm.blocks import Group, Grouping
from planner.engines.vllm.options import Options, options
from planner.engines.vllm.packed import is_packed, packed_grouping
from planner.engines.vllm.pages import CHUNKED, FULL, SLIDING, STATE, LayerCache, layer_caches, without_windows
from planner.errors import PlannerError
from planner.kv_cache import KVCacheSpec


def grouping(rank: Rank, deployment: Deployment) -> Grouping:
    """The groups that vLLM makes of a rank's layers.

    One kind of cache: one group of all layers, whatever their sizes. Several kinds: pages are made equal, and groups
    equally long, as long as the rarest kind (the most frequent one, where that wastes little); a group that is not full
    is padded.

    Source: vllm/v1/core/kv_cache_utils.py, get_kv_cache_groups.
    """
    if is_packed(rank.layers):
        return packed_grouping(rank.layers, deployment)
    settings = deployment.settings
    caches = layer_caches(rank.layers, deployment, options(deployment))
    if not settings.rule("window_groups"):
        caches = without_windows(caches)
    elif settings.flag("disable_hybrid_kv_cache_manager"):
        caches = _single_kind(caches)
    if len({(cache.kind, cache.window_tokens) for cache in caches}) <= 1:
        groups = tuple(Group(cache=cache, count=1, layers=count) for cache, count in caches.items())
        # Layers of one kind and different sizes are one group; the first stands for all in what is printed.
        return Grouping(groups=groups[:1], block_bytes=sum(g.cache.page_bytes * g.layers for g in groups))
    is_latent = any(isinstance(mixer, LatentAttention) for layer in rank.layers for mixer in layer.mixers)
    uneven = "unknown" if is_latent else settings.rule("uneven_pages")
    return _even_groups(_equal_pages(caches, uneven, settings.version), settings.rule("single_group_ratio"))


def request_specs(rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
    """How one request takes blocks on a rank, one spec a group.

    Full attention takes ceil(n / block) blocks. A sliding window takes those of window − 1 and the tokens in flight,
    max_num_batched_tokens or, from 0.26 on, as many for each step that may be under way, and one more since it may
    begin inside a block; chunked attention those of the chunk and as many. States take a fixed number.

    Source: vllm/v1/kv_cache_interface.py, max_memory_usage_bytes.
    """
    found = grouping(rank, deployment)
    chosen = options(deployment, has_attention=any(group.cache.kind != STATE for group in found.groups))
    return tuple(_spec(group, found.block_bytes, chosen) for group in found.groups)


def _spec(group: Group, block_bytes: int, chosen: Options) -> KVCacheSpec:
    cache, size = group.cache, group.count * block_bytes
    growing = KVCacheSpec(bytes_per_entry=size, tokens_per_entry=cache.block_tokens)
    if cache.kind == STATE and not (chosen.keeps_all_states and cache.keeps_all):
        checkpoints = cache.checkpoints if chosen.is_aligned else 0
        return KVCacheSpec(fixed_bytes=(chosen.state_blocks + checkpoints) * size)
    if cache.kind == SLIDING:
        return replace(growing, fixed_bytes=size, max_tokens=cache.window_tokens - 1 + chosen.tokens_in_flight)
    if cache.kind == CHUNKED:
        return replace(growing, max_tokens=cache.window_tokens + chosen.tokens_in_flight)
    return growing


def _single_kind(caches: Counter[LayerCache]) -> Counter[LayerCache]:
    """Without the hybrid manager windows are kept whole beside full attention; states have no way to be."""
    kinds = {cache.kind for cache in caches}
    if STATE in kinds and len(kinds) > 1:
        raise PlannerError(
            "disable_hybrid_kv_cache_manager = true does not go with a model that mixes attention and recurrent states."
        )
    return without_windows(caches) if FULL in kinds and kinds & {SLIDING, CHUNKED} else caches


def _equal_pages(caches: Counter[LayerCache], uneven: str, version: str) -> Counter[LayerCache]:
    """Smaller pages take more tokens a block until all pages are as large as the largest.

    One that does not go into it whole is refused, padded, or *uneven* in a way that is not known.
    """
    largest = max(cache.page_bytes for cache in caches)
    found: Counter[LayerCache] = Counter()
    for cache, count in caches.items():
        ratio, rest = divmod(largest, cache.page_bytes)
        if rest and uneven == "refused":
            raise PlannerError(
                f"vLLM {version} cannot give {cache.title} layers ({cache.page_bytes:,} B a page) blocks as large as "
                f"the largest page ({largest:,} B), which is no multiple; try another tensor_parallel or block_size."
            )
        if rest and uneven == "unknown":
            raise PlannerError(
                f"How vLLM {version} lays {cache.title} layers ({cache.page_bytes:,} B a page) beside larger pages "
                f"({largest:,} B) that are no multiple is not known here: plan with engine minimum, which counts what "
                "they keep."
            )
        block_tokens = cache.block_tokens if rest else cache.block_tokens * ratio
        found[replace(cache, block_tokens=block_tokens, page_bytes=largest)] += count
    return found


def _even_groups(caches: Counter[LayerCache], single_group_ratio: float) -> Grouping:
    fewest, most = min(caches.values()), max(caches.values())
    size = most if most < single_group_ratio * fewest else fewest
    groups = []
    for cache, count in caches.items():
        number = -(-count // size)
        groups.append(Group(cache=cache, count=number, layers=-(-count // number)))
    page_bytes = groups[0].cache.page_bytes
    return Grouping(groups=tuple(groups), block_bytes=page_bytes * max(group.layers for group in groups))
