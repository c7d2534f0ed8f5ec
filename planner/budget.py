"""Adds up one device's memory and decides whether what was asked fits."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum, StrEnum
from itertools import cycle

from planner.architecture import Architecture
from planner.deployment import Deployment, Device, Workload
from planner.engines import find_engine
from planner.engines.base import Engine, Pool, Rank, taken_bytes
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, Kind, LineItem
from planner.records import dataclass
from planner.weights import model_bytes

OUTSIDE = "outside the pool"
"""The item for memory that an engine leaves to neither weights nor runtime nor cache."""
DRAFT_CACHE = "draft cache"
"""The item for what a draft keeps of every request."""
TIGHT_TOKENS = 2_048
"""With fewer tokens left than this a model that loads is of no use: *tight*, not *no*."""


class Case(Enum):
    """How assumed items turn out."""

    EXPECTED = "expected"
    WORST = "worst"
    BEST = "best"

    def of(self, items: Iterable[LineItem]) -> int:
        """The total of *items* in this case."""
        expected, low, high = taken_bytes(items)
        return {Case.EXPECTED: expected, Case.BEST: low, Case.WORST: high}[self]


class State(StrEnum):
    """The answer in a word. *tight*: loads, but what was asked does not fit and under 2,048 tokens are left."""

    FITS = "fits"
    TIGHT = "tight"
    NO = "no"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBudget:
    """One device before any request: weights and runtime, how the cache grows, and the pool that is left for it.

    *draft_specs* are what a draft keeps of a request beside the model's *specs*.
    *items* end with what the engine keeps out of the pool. *pool_high_bytes* is the pool when every assumed item is at
    its low end. Negative: weights and runtime do not fit.
    """

    engine: Engine
    architecture: Architecture
    deployment: Deployment
    rank: Rank
    items: tuple[LineItem, ...]
    specs: tuple[KVCacheSpec, ...]
    draft_specs: tuple[KVCacheSpec, ...] = ()
    pool_bytes: int = 0
    pool_low_bytes: int = 0
    pool_high_bytes: int = 0

    @property
    def memory_bytes(self) -> int:
        return self.deployment.device.memory_bytes

    def request_bytes(self, tokens: int) -> int:
        own = self.engine.sequence_bytes(self.specs, tokens)
        return own + (self.engine.sequence_bytes(self.draft_specs, tokens) if self.draft_specs else 0)

    def requests(self, users: int) -> int:
        """How many of *users* this device serves: data-parallel ranks and replicas share them."""
        return -(-users // (self.deployment.data_parallel * self.deployment.replicas))

    def cache_bytes(self, tokens: int, requests: int) -> int:
        own = self.engine.cache_bytes(self.specs, self.deployment, tokens, requests)
        if not self.draft_specs:
            return own
        return own + self.engine.cache_bytes(self.draft_specs, self.deployment, tokens, requests)

    def buffers(self, tokens: int, requests: int) -> tuple[LineItem, ...]:
        """Runtime that follows what is asked; none where the user stated everything as one figure."""
        if self.deployment.overhead_bytes is not None:
            return ()
        items = self.engine.buffer_items(self.architecture, self.rank, self.deployment, tokens, requests)
        if (profile := self.deployment.profile) is not None:
            items = profile.growing(items, tokens * requests, self.deployment.conditions(self.architecture.name))
        draft = self.deployment.draft
        if draft is None:
            return items
        from planner.draft_items import logits_item  # only for plans with a draft

        return (*items, logits_item(draft, self.architecture.vocab_size, requests))

    def need_bytes(self, tokens: int, requests: int, case: Case = Case.EXPECTED) -> int:
        """What *requests* of *tokens* each take from the pool: their cache, and the buffers that go with them."""
        return self.cache_bytes(tokens, requests) + case.of(self.buffers(tokens, requests))

    def pool(self, case: Case) -> int:
        """The pool in this case: large where runtime turns out small."""
        return {Case.EXPECTED: self.pool_bytes, Case.BEST: self.pool_high_bytes, Case.WORST: self.pool_low_bytes}[case]

    def host_items(self, tokens: int, requests: int) -> tuple[LineItem, ...]:
        return self.engine.host_items(self.architecture, self.deployment, tokens, requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget:
    """Every byte of the fullest device, and the answer.

    *items* add up to *total_bytes*; *free_bytes* is negative by what is short; *host_items* lie in the machine's own
    memory. *ranks* are all different devices, for
    searches. *loads*: weights and runtime alone fit; *fits*: what was asked fits as well.
    """

    workload: Workload
    ranks: tuple[RankBudget, ...]
    rank: RankBudget
    items: tuple[LineItem, ...]
    host_items: tuple[LineItem, ...]
    weights_bytes: int
    kv_request_bytes: int
    total_bytes: int
    free_bytes: int
    loads: bool
    fits: bool
    state: State


def prepare(architecture: Architecture, deployment: Deployment) -> tuple[RankBudget, ...]:
    """Each different device's weights, runtime and pool, whatever will be asked of it."""
    engine = find_engine(deployment.engine)
    if deployment.weights.mix is not None:
        from planner.gguf_mixes import as_stored  # only GGUF file types decide tensor by tensor

        architecture = as_stored(architecture, deployment.weights)
    parts = engine.ranks(architecture, deployment)
    each = [replace(deployment, device=stage) for stage in deployment.stages] if deployment.cards else [deployment]
    runtime = {mine.device: _runtime(engine, architecture, mine) for mine in each}
    ranks = tuple(
        _rank_budget(
            engine, rank, runtime[mine.device] + (_desktop(engine, mine) if index == 0 else ()), architecture, mine
        )
        for index, (rank, mine) in enumerate(zip(parts, cycle(each), strict=False))
    )
    return ranks if deployment.draft is None else tuple(_with_draft(rank, rank is ranks[-1]) for rank in ranks)


def on_device(ranks: tuple[RankBudget, ...], device: Device) -> tuple[RankBudget, ...]:
    """The same plan on another device: only the pool moves, unless the engine follows the card's size."""
    deployment = replace(ranks[0].deployment, device=device, cards=())
    if ranks[0].engine.follows_card or ranks[0].deployment.cards:
        return prepare(ranks[0].architecture, deployment)
    return tuple(_with_pool(replace(rank, deployment=deployment)) for rank in ranks)


def plan(architecture: Architecture, deployment: Deployment, workload: Workload) -> MemoryBudget:
    """The budget of the fullest device for *workload*.

    A plan that does not fit is an answer; PlannerError is only for what makes no sense.
    """
    return budget_for(prepare(architecture, deployment), workload)


def budget_for(ranks: tuple[RankBudget, ...], workload: Workload) -> MemoryBudget:
    """The same from prepared ranks: many workloads for one deployment cost one preparation."""
    tokens, users = workload.context_tokens, workload.users
    fullest = min(ranks, key=lambda rank: rank.pool_bytes - rank.need_bytes(tokens, rank.requests(users)))
    kv_request_bytes = fullest.request_bytes(tokens)
    requests = fullest.requests(users)
    items = (*fullest.items, *fullest.buffers(tokens, requests), *_cache_items(fullest, tokens, requests))
    total_bytes = sum(item.bytes for item in items)
    loads = all(rank.pool_bytes >= 0 for rank in ranks)
    return MemoryBudget(
        workload=workload,
        ranks=ranks,
        rank=fullest,
        items=items,
        host_items=fullest.host_items(tokens, requests),
        weights_bytes=sum(item.bytes for item in items if item.kind is Kind.WEIGHTS),
        kv_request_bytes=kv_request_bytes,
        total_bytes=total_bytes,
        free_bytes=fullest.memory_bytes - total_bytes,
        loads=loads,
        fits=holds(ranks, workload.context_tokens, workload.users),
        state=_state(ranks, workload, loads),
    )


def _cache_items(rank: RankBudget, tokens: int, requests: int) -> Iterator[LineItem]:
    """The model's cache, and beside it the draft's where it has one."""
    parts = [("cache", rank.specs)] + ([(DRAFT_CACHE, rank.draft_specs)] if rank.draft_specs else [])
    for name, specs in parts:
        request_bytes = rank.engine.sequence_bytes(specs, tokens)
        size = rank.engine.cache_bytes(specs, rank.deployment, tokens, requests)
        shared = "" if size == requests * request_bytes else ", at most as the engine holds them"
        yield LineItem(
            name=name,
            kind=Kind.CACHE,
            bytes=size,
            basis=Basis.ASSUMED if rank.architecture.assumed else rank.engine.cache_basis,
            source=f"{requests:,} × {request_bytes:,} B for {tokens:,} tokens each{shared}",
        )


def holds(ranks: tuple[RankBudget, ...], tokens: int, users: int, case: Case = Case.EXPECTED) -> bool:
    """Whether *users* requests of *tokens* fit in every device's pool, and beside it in the machine's own memory."""
    return all(rank.need_bytes(tokens, rank.requests(users), case) <= rank.pool(case) for rank in ranks) and host_holds(
        ranks[0], tokens, users, case
    )


def host_holds(rank: RankBudget, tokens: int, users: int, case: Case = Case.EXPECTED) -> bool:
    """Whether the machine's own memory holds what lies there; nothing is asked of it unless its size is stated."""
    memory_bytes = rank.deployment.host_memory_bytes
    if memory_bytes is None:
        return True
    return case.of(rank.host_items(tokens, rank.requests(users))) <= memory_bytes


def _state(ranks: tuple[RankBudget, ...], workload: Workload, loads: bool) -> State:
    tokens, users = workload.context_tokens, workload.users
    if holds(ranks, tokens, users, Case.WORST):
        return State.FITS
    if holds(ranks, tokens, users, Case.BEST):
        return State.UNCERTAIN
    if loads and not holds(ranks, TIGHT_TOKENS, 1) and host_holds(ranks[0], TIGHT_TOKENS, 1):
        return State.TIGHT
    return State.NO


def pools(ranks: tuple[RankBudget, ...], case: Case = Case.EXPECTED) -> tuple[Pool, ...]:
    """What an engine's report is made from."""
    return tuple(Pool(rank=rank.rank, pool_bytes=rank.pool(case)) for rank in ranks)


def _runtime(engine: Engine, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
    """What a device takes beside weights and cache: as stated, or the engine's items with the measured ones in them."""
    if deployment.overhead_bytes is not None:
        return (
            LineItem(
                name="overhead",
                kind=Kind.RUNTIME,
                bytes=deployment.overhead_bytes,
                basis=Basis.ASSUMED,
                source="stated: context, libraries, activations and all else that is not weights or cache",
            ),
        )
    items = engine.runtime_items(architecture, deployment)
    if (profile := deployment.profile) is None:
        return items
    profile.check(deployment.subject(architecture.name))
    return profile.measured(items, deployment.conditions(architecture.name))


def _desktop(engine: Engine, deployment: Deployment) -> tuple[LineItem, ...]:
    """What the screen takes of the first card; nothing of a pool that is a share of the whole card."""
    is_counted = deployment.desktop is not None and engine.counts_what_is_used and deployment.overhead_bytes is None
    return (deployment.desktop,) if is_counted and deployment.desktop is not None else ()


def _rank_budget(
    engine: Engine, rank: Rank, runtime: tuple[LineItem, ...], architecture: Architecture, deployment: Deployment
) -> RankBudget:
    bare = RankBudget(
        engine=engine,
        architecture=architecture,
        deployment=deployment,
        rank=rank,
        items=(
            *_weight_items(rank, architecture, deployment),
            *engine.reserved_items(rank, deployment),
            *runtime,
        ),
        specs=engine.cache_specs(rank, deployment),
    )
    return _with_pool(bare)


def _with_draft(bare: RankBudget, is_last: bool) -> RankBudget:
    """*bare* with its share of the draft, which lies on the last stage."""
    from planner.draft_items import draft_specs, draft_weights_item  # only for plans with a draft

    deployment, draft = bare.deployment, bare.deployment.draft
    assert draft is not None
    items = (*bare.items, draft_weights_item(draft, deployment)) if is_last and draft.layers else bare.items
    specs = draft_specs(bare.engine, draft, bare.rank.layers, deployment, is_last)
    return _with_pool(replace(bare, items=items, draft_specs=specs))


def _with_pool(bare: RankBudget) -> RankBudget:
    """*bare* with the pool that its device leaves; what the engine keeps out of it becomes an item of its own."""
    items = tuple(item for item in bare.items if item.name != OUTSIDE)
    engine, rank, deployment, memory_bytes = bare.engine, bare.rank, bare.deployment, bare.memory_bytes
    if (stated := deployment.pool_bytes) is not None:
        expected = low = high = stated
    else:
        expected, low, high = (engine.pool_bytes(rank, deployment, memory_bytes, taken) for taken in taken_bytes(items))
    outside_bytes = memory_bytes - sum(item.bytes for item in items) - expected
    if outside_bytes:
        items += (
            LineItem(
                name=OUTSIDE,
                kind=Kind.RUNTIME,
                bytes=outside_bytes,
                basis=Basis.RULE,
                source=engine.pool_rule(deployment),
            ),
        )
    return replace(bare, items=items, pool_bytes=expected, pool_low_bytes=high, pool_high_bytes=low)


def _weight_items(rank: Rank, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
    split = deployment.weights, deployment.tensor_parallel, deployment.expert_parallel
    assumed = architecture.assumed or (architecture.stored_assumed and deployment.weights.format is None)
    basis = Basis.ASSUMED if architecture.nominal or assumed else Basis.EXACT
    source = architecture.source or "the model's own tensor shapes"
    text = LineItem(
        name="weights",
        kind=Kind.WEIGHTS,
        bytes=model_bytes(rank.layers, rank.tensors, *split),
        basis=basis,
        source=source,
    )
    towers = tuple(
        LineItem(
            name=tower.kind if tower.kind == "projector" else f"{tower.kind} tower",
            kind=Kind.WEIGHTS,
            bytes=model_bytes((), tower.tensors, *split),
            basis=basis,
            source=source,
        )
        for tower in rank.towers
    )
    return (text, *towers)
