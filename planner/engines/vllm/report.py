"""What vLLM prints about its cache when it starts, or the sentence with which it does not."""

from collections.abc import Sequence
from dataclasses import replace
from math import floor, inf

from planner.deployment import MAX_TOKENS, Deployment
from planner.engines.base import EngineReport, Pool, Rank
from planner.engines.vllm.blocks import Grouping
from planner.engines.vllm.graphs import estimate_notes
from planner.engines.vllm.groups import grouping, request_specs
from planner.engines.vllm.options import chunks_unless_long, options
from planner.engines.vllm.pages import STATE
from planner.errors import PlannerError
from planner.kv_cache import bytes_for
from planner.records import dataclass
from planner.search import largest
from planner.units import GIB, format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """One rank at start-up. *request_bytes* is one request of max_model_len.

    *left_bytes* is what the card leaves, *pool_bytes* what the cache is given: the same unless its size was set.
    """

    grouping: Grouping
    left_bytes: int
    pool_bytes: int
    num_blocks: int
    request_bytes: int

    @property
    def blocks_per_request(self) -> int:
        return self.request_bytes // self.grouping.block_bytes


def null_block_bytes(rank: Rank, deployment: Deployment) -> int:
    """The block that is never given away, where the version leaves it out of the check of one request."""
    return grouping(rank, deployment).block_bytes if deployment.settings.rule("null_block") else 0


def stated_pool_bytes(rank: Rank, deployment: Deployment) -> int | None:
    """The pool whose size or number of blocks was set, whatever weights and runtime leave; ``None`` where neither was.

    Source: vllm/v1/core/kv_cache_utils.py, may_override_num_blocks; vllm/v1/worker/gpu_worker.py.
    """
    settings = deployment.settings
    if (blocks := settings.integer("num_gpu_blocks_override")) is not None:
        return blocks * grouping(rank, deployment).block_bytes
    return settings.integer("kv_cache_memory_bytes")


def check_stated_pool(rank: Rank, deployment: Deployment) -> None:
    """Refuses a pool that was set and has no block to give away.

    Raises PlannerError, naming the setting and the least that it can be.
    """
    settings, size = deployment.settings, stated_pool_bytes(rank, deployment)
    is_given = "kv_cache_memory_bytes" in settings.given or "num_gpu_blocks_override" in settings.given
    if size is None or not is_given or not request_specs(rank, deployment):
        return
    block_bytes, kept_bytes = grouping(rank, deployment).block_bytes, null_block_bytes(rank, deployment)
    if size >= kept_bytes + block_bytes:
        return
    blocks = settings.integer("num_gpu_blocks_override")
    given = f"kv_cache_memory_bytes = {size:,}" if blocks is None else f"num_gpu_blocks_override = {blocks}"
    least = f"{kept_bytes + block_bytes:,}" if blocks is None else f"{1 + kept_bytes // block_bytes}"
    kept = " and one is never given away" if kept_bytes else ""
    raise PlannerError(
        f"vLLM {settings.version} would refuse {given}: a block of the cache takes {format_bytes(block_bytes)}{kept}; "
        f"give {least} or more, or leave it out."
    )


def report(
    pools: Sequence[Pool], deployment: Deployment, context_tokens: int, longest_start_tokens: int | None
) -> EngineReport | None:
    """The lines "GPU KV cache size" and "Maximum concurrency" as this version means them.

    The rank with the fewest blocks decides.

        num_blocks = pool / bytes of a block,  max_concurrency = num_blocks / blocks of one request
        printed tokens = num_blocks // groups · shortest block   (up to 0.20)
                       = int(max_concurrency · max_model_len)    (from 0.21)

    ``None`` for a model that keeps nothing. Source: vllm/v1/core/kv_cache_utils.py, _report_kv_cache_config.
    """
    starts = [_start(pool, deployment, context_tokens) for pool in pools if request_specs(pool.rank, deployment)]
    if not starts:
        return None
    first = min(starts, key=lambda start: start.num_blocks)
    concurrency = first.num_blocks / max(start.blocks_per_request for start in starts)
    settings = deployment.settings
    checked, longest = first, longest_start_tokens
    if settings.rule("stages_checked_as_one") and len(starts) > 1:
        checked, longest = _as_one(first, starts, [pool.rank for pool in pools], deployment, longest_start_tokens)
    if settings.rule("printed_tokens") == "concurrency":
        tokens = int(concurrency * context_tokens)
    else:
        tokens = first.num_blocks // first.grouping.number * _shortest_block(first.grouping, deployment, context_tokens)
    return EngineReport(
        version=settings.known,
        pool_bytes=first.pool_bytes,
        pool_tokens=tokens,
        max_concurrency=concurrency,
        longest_start_tokens=longest,
        request_bytes=checked.request_bytes,
        num_blocks=first.num_blocks,
        block_size=min(group.cache.block_tokens for group in first.grouping.groups),
        blocks_per_request=first.blocks_per_request,
        groups=tuple(
            f"{group.count} × {group.layers} layers, {group.cache.title}, blocks of {group.cache.block_tokens:,} tokens"
            for group in first.grouping.groups
        ),
        refusals=tuple(_refusals(checked, deployment, context_tokens, longest)),
        notes=tuple(_notes(first.grouping, pools[0].rank, deployment)),
    )


def _start(pool: Pool, deployment: Deployment, context_tokens: int) -> _Start:
    found, stated = grouping(pool.rank, deployment), stated_pool_bytes(pool.rank, deployment)
    pool_bytes = pool.pool_bytes + null_block_bytes(pool.rank, deployment) if stated is None else stated
    return _Start(
        grouping=found,
        left_bytes=pool.pool_bytes,
        pool_bytes=pool_bytes,
        num_blocks=max(0, pool_bytes) // found.block_bytes,
        request_bytes=bytes_for(request_specs(pool.rank, deployment), context_tokens),
    )


def _as_one(
    first: _Start, starts: Sequence[_Start], ranks: Sequence[Rank], deployment: Deployment, longest: int | None
) -> tuple[_Start, int | None]:
    """*first* as it is checked where a request of all stages must fit into the smallest pool, and what starts then."""
    specs = [spec for rank in ranks for spec in request_specs(rank, deployment)]
    pool_bytes = min(start.pool_bytes for start in starts)
    most = largest(lambda tokens: bytes_for(specs, tokens) <= pool_bytes, MAX_TOKENS if longest is None else longest)
    request_bytes = sum(start.request_bytes for start in starts)
    is_limited = bytes_for(specs, most + 1) > pool_bytes
    return replace(first, request_bytes=request_bytes, pool_bytes=pool_bytes), most if is_limited else longest


def _shortest_block(found: Grouping, deployment: Deployment, context_tokens: int) -> int:
    """Where states are not cached between requests, the "block" of a state is max_model_len."""
    is_aligned = options(deployment).is_aligned
    return min(
        context_tokens if group.cache.kind == STATE and not is_aligned else group.cache.block_tokens
        for group in found.groups
    )


def _refusals(first: _Start, deployment: Deployment, context_tokens: int, longest: int | None) -> list[str]:
    found = []
    if first.left_bytes < 0 < first.pool_bytes:
        found.append(
            f"vLLM would run out of memory: a cache of {format_bytes(first.pool_bytes)} is "
            f"{format_bytes(-first.left_bytes)} more than weights and runtime leave."
        )
    elif first.pool_bytes <= 0:
        found.append(
            f"vLLM would refuse to start: weights and runtime leave {format_bytes(first.pool_bytes)} for the cache; "
            f"raise gpu_memory_utilization, or take a smaller format, {_smaller(deployment)} or more cards."
        )
    elif longest is not None and longest < context_tokens:
        found.append(
            f"vLLM would refuse to start with max_model_len = {context_tokens:,}: one request needs "
            f"{format_bytes(first.request_bytes)} of cache and {format_bytes(first.pool_bytes)} are there"
            f"{_kept_back(first, deployment)}; the longest that starts is {longest:,}."
        )
    found += _unfree(deployment) + _unchunked(deployment, context_tokens)
    sequences = options(deployment).max_num_seqs
    is_checked = deployment.settings.rule("state_blocks_checked") and not deployment.settings.flag("enforce_eager")
    if is_checked and first.grouping.has_states and 0 < first.num_blocks < sequences:
        found.append(
            f"vLLM would refuse to start: max_num_seqs = {sequences:,} is more than the {first.num_blocks:,} blocks "
            f"there are for recurrent states; --set max_num_seqs={first.num_blocks} starts."
        )
    return found


def _smaller(deployment: Deployment) -> str:
    """What makes the peak of a step smaller: it is a prompt's where that is computed in one."""
    return "fewer max_num_seqs" if chunks_unless_long(deployment.settings) else "a shorter max_model_len"


def _kept_back(first: _Start, deployment: Deployment) -> str:
    """That one block is never given away, where that alone is what is missing."""
    is_enough = first.request_bytes <= first.pool_bytes
    return ", one block of which is never given away" if deployment.settings.rule("null_block") and is_enough else ""


def _unchunked(deployment: Deployment, context_tokens: int) -> list[str]:
    """Where a prompt is computed in one step, the step must have room for it, unless it is so long that it is chunked.

    Source: vllm/config.py, SchedulerConfig; vllm/engine/arg_utils.py, enable_chunked_prefill.
    """
    settings, step = deployment.settings, options(deployment).max_num_batched_tokens
    is_chunked = chunks_unless_long(settings) or "max_num_batched_tokens" not in settings.given
    is_long = context_tokens > settings.rule("chunked_prompts").get("above", inf)
    if is_chunked or step >= context_tokens or (is_long and settings.flag("enable_chunked_prefill") is None):
        return []
    return [
        f"vLLM would refuse to start: max_num_batched_tokens = {step:,} is less than max_model_len = "
        f"{context_tokens:,}, and {settings.version} computes a prompt in one step; leave it out, or "
        "--set enable_chunked_prefill=true."
    ]


def _unfree(deployment: Deployment) -> list[str]:
    """vLLM asks for its whole share to be free when it starts, whoever holds the rest, and however its pool is set.

    Source: vllm/v1/worker/utils.py, request_memory; vllm/v1/worker/gpu_worker.py of 0.10.2 to 0.33.0, init_device.
    """
    settings, desktop, memory_bytes = deployment.settings, deployment.desktop, deployment.device.memory_bytes
    share, context = settings.number("gpu_memory_utilization"), settings.rule("context_at_start_gib")
    low, high = context["low"] * GIB, context["high"] * GIB
    if desktop is None and (deployment.overhead_bytes is not None or deployment.device.unified):
        return []
    if memory_bytes * (1 - share) >= low + (0 if desktop is None else desktop.bytes):
        return []
    asks = f"vLLM would refuse to start: gpu_memory_utilization = {share:g} asks for more than is free of"
    if desktop is None:
        most = _share_beside(high, memory_bytes)
        by_then = f"whose context has taken {context['low']:g} GiB or more by then"
        return [f"{asks} an empty card, {by_then}; {most:g} starts."]
    most = _share_beside(low + desktop.high_bytes, memory_bytes)
    return [
        f"{asks} a card that shows a desktop, which takes about {format_bytes(desktop.bytes)}, beside a context of "
        f"{context['low']:g} GiB or more; {most:g} starts beside any."
    ]


def _share_beside(taken_bytes: float, memory_bytes: int) -> float:
    """The largest share, in hundredths, that *taken_bytes* leave."""
    return max(0, floor(100 * (1 - taken_bytes / memory_bytes))) / 100


def _notes(found: Grouping, rank: Rank, deployment: Deployment) -> list[str]:
    settings = deployment.settings
    notes = estimate_notes(rank.layers, deployment)
    if options(deployment).keeps_all_states and any(group.cache.keeps_all for group in found.groups):
        notes.append(
            f"vLLM {settings.version} keeps a state for every block here, in blocks of whole chunks of the model, "
            "which may be longer than counted; --set mamba_cache_mode=align keeps two."
        )
    return notes
