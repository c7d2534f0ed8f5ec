"""What SGLang prints about its pools when it starts, or the sentence with which it does not."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil

from planner.deployment import Deployment, Workload
from planner.engines.base import EngineReport, Pool, Rank
from planner.engines.pools import PoolSpec
from planner.engines.sglang.cells import Pools, SglangRank, own_rank, pools, request_specs
from planner.engines.sglang.fraction import (
    deductions,
    least_outside_bytes,
    named_fraction,
    outside_bytes,
    static_fraction,
    taken_of_named,
)
from planner.engines.sglang.options import options, tp_size
from planner.records import dataclass
from planner.shares import attends_apart
from planner.units import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """One rank at start-up: tokens of the pool, of the windows' pool, and the number of states."""

    pools: Pools
    specs: tuple[PoolSpec, ...]
    rest_bytes: int
    tokens: int
    window_tokens: int
    states: int


def report(
    found: Sequence[Pool], deployment: Deployment, workload: Workload, longest_start_tokens: int | None
) -> EngineReport | None:
    """The line ``max_total_num_tokens=…, max_running_requests=…`` and the pools behind it.

        states = share · rest / (bytes of a state · (1 + drafted / kept)),  tokens = (rest − states) / bytes of a token

    in whole pages; the rank with the fewest tokens decides. ``None`` for a model that keeps nothing. Source:
    python/sglang/srt/model_executor/model_runner_kv_cache_mixin.py, init_memory_pool.
    """
    starts = [_start(pool.rank, pool.pool_bytes, deployment) for pool in found if isinstance(pool.rank, SglangRank)]
    starts = [start for start in starts if start.specs]
    if not starts:
        return None
    first = min(starts, key=lambda start: start.tokens)
    running = _running_requests(first, deployment, workload)
    claim = max(spec.claim_bytes(workload.context_tokens) for spec in first.specs)
    cap = deployment.settings.integer("max_total_tokens")
    longest = longest_start_tokens if cap is None else min(cap, longest_start_tokens or cap)
    rank = found[0].rank
    assert isinstance(rank, SglangRank)
    return EngineReport(
        version=deployment.settings.known,
        pool_bytes=first.rest_bytes,
        pool_tokens=first.tokens,
        max_concurrency=min(max(0, first.rest_bytes) / claim, running),
        longest_start_tokens=longest,
        num_blocks=0,
        block_size=first.pools.page_tokens,
        blocks_per_request=0,
        groups=tuple(_groups(first)),
        refusals=tuple(_refusals(first, rank, deployment, workload)),
        notes=tuple(_notes(rank, deployment, running)),
    )


def _start(rank: SglangRank, rest_bytes: int, deployment: Deployment) -> _Start:
    found = pools(rank, deployment)
    left_bytes = max(0, rest_bytes)
    states = options(deployment).fixed_states or 0 if found.state_bytes else 0
    if found.state_share:
        drafted = found.draft_slots
        per_state = found.state_bytes * (found.kept_slots + drafted)
        states = int(left_bytes * found.state_share * found.kept_slots // per_state)
        left_bytes -= found.state_bytes * (states + drafted * _drafting(states, found, deployment))
    token_bytes = found.token_bytes + _draft_token_bytes(deployment)
    tokens = _pages(int(max(0, left_bytes) // token_bytes), found) if token_bytes else 0
    cap = deployment.settings.integer("max_total_tokens")
    tokens = tokens if cap is None else min(tokens, _pages(cap, found))
    window_tokens = _pages(int(tokens * found.window_ratio), found) if found.full_bytes else tokens
    return _Start(
        pools=found,
        specs=request_specs(found, deployment),
        rest_bytes=rest_bytes,
        tokens=tokens,
        window_tokens=window_tokens if found.window_bytes else 0,
        states=states,
    )


def _draft_token_bytes(deployment: Deployment) -> Fraction:
    """What a token takes in the cache of a draft model, which has a pool of as many tokens."""
    draft = deployment.draft
    if draft is None or not draft.layers or not deployment.settings.rule("draft_counted"):
        return Fraction(0)
    rank = own_rank(Rank(layers=draft.layers, tensors=draft.tensors, towers=()))
    return pools(rank, replace(deployment, draft=None)).token_bytes


def _pages(tokens: int, found: Pools) -> int:
    return tokens // found.page_tokens * found.page_tokens


def _drafting(states: int, found: Pools, deployment: Deployment) -> int:
    """Requests whose drafted tokens have states."""
    requests = states // found.kept_slots
    running = options(deployment).max_running_requests
    return requests if running is None else min(requests, running)


def _running_requests(first: _Start, deployment: Deployment, workload: Workload) -> int:
    """``max_running_requests`` as set, else by the tokens of the pool; never more than there are states for."""
    rule, asked = deployment.settings.rule("running_requests"), options(deployment).max_running_requests
    by_pool = int(first.tokens / workload.context_tokens * rule["share"])
    by_pool = min(max(by_pool, rule["least"]), rule["most"])
    running: int = min(by_pool if asked is None else asked, max(1, first.tokens // rule["tokens"]))
    if first.pools.state_bytes:
        running = min(running, first.states // first.pools.kept_slots)
    return running


def _groups(first: _Start) -> Iterator[str]:
    found = first.pools
    if found.full_bytes:
        yield f"{first.tokens:,} tokens of {found.full_bytes:,} B, layers that keep all"
    if found.window_bytes:
        yield f"{first.window_tokens:,} tokens of {found.window_bytes:,} B, windows of {found.window_tokens:,}"
    if found.state_bytes:
        size, kept = format_bytes(found.state_bytes), found.kept_slots
        yield f"{first.states:,} states of {size}, {kept} a request"


def _refusals(first: _Start, rank: SglangRank, deployment: Deployment, workload: Workload) -> Iterator[str]:
    requests = -(-workload.users // (deployment.data_parallel * deployment.replicas))
    cap = deployment.settings.integer("max_total_tokens")
    if first.rest_bytes <= 0:
        fraction = static_fraction(rank.model, deployment)
        more = -first.rest_bytes / deployment.device.memory_bytes
        raise_to = ceil(1000 * (fraction + more) / taken_of_named(rank.model, deployment) + 1) / 1000
        knob = f"raise mem_fraction_static above {raise_to:g}" if raise_to < 1 else "take a smaller format"
        yield (
            f"SGLang would refuse to start: weights leave {format_bytes(first.rest_bytes)} of the static share for "
            f"caches; {knob}, or take more cards."
        )
    elif first.tokens <= 0:
        yield (
            f"SGLang would refuse to start: {format_bytes(first.rest_bytes)} hold no request; raise "
            "mem_fraction_static."
        )
    elif (needed := least_outside_bytes(deployment)) > (outside := outside_bytes(rank.model, deployment)):
        yield (
            f"SGLang would run out of memory: mem_fraction_static {static_fraction(rank.model, deployment):g} leaves "
            f"{format_bytes(outside)} for activations and graphs; {format_bytes(needed)} are set aside for any model. "
            "Lower it."
        )
    elif cap is not None and cap < workload.context_tokens:
        yield (
            f"SGLang would take no request of {workload.context_tokens:,} tokens: max_total_tokens = {cap:,} is the "
            "whole pool."
        )
    elif first.pools.state_bytes and (holds := first.states // first.pools.kept_slots) < requests:
        yield (
            f"SGLang would run {holds:,} of {requests:,} requests at once: there are {first.states:,} states and a "
            f"request keeps {first.pools.kept_slots}; raise max_mamba_cache_size or mamba_full_memory_ratio."
        )


def _notes(rank: SglangRank, deployment: Deployment, running: int) -> Iterator[str]:
    settings = deployment.settings
    if settings.values["mem_fraction_static"] is None:
        share = named_fraction(rank.model, deployment)
        chosen = f"{share:.3f}" if share > 0 else f"{share:.3f}, less than nothing: a step and its graphs need the card"
        yield f"SGLang would choose mem_fraction_static = {chosen}."
    for factor, reason in deductions(rank.model, deployment):
        yield f"SGLang {settings.version} takes {factor:g} of mem_fraction_static for {reason}."
    if attends_apart(deployment):
        yield (
            f"SGLang's tp_size is {tp_size(deployment)}: {deployment.data_parallel} ranks attend apart, each with the "
            "caches of its own requests, and share all else; what is printed is one rank's."
        )
    requests = "1 request" if running == 1 else f"{running:,} requests"
    yield f"It would run at most {requests} at once."
