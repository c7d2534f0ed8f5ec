"""Adds up one device's memory and decides whether what was asked fits."""

from dataclasses import dataclass, replace
from enum import StrEnum

from planner.architecture import Architecture
from planner.deployment import Deployment, Device, Workload
from planner.engines import find_engine
from planner.engines.base import Engine, Pool, Rank, taken_bytes
from planner.gguf_mixes import as_stored
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, Kind, LineItem
from planner.weights import model_bytes

OUTSIDE = "outside the pool"
"""The item for memory that an engine leaves to neither weights nor runtime nor cache."""
TIGHT_TOKENS = 2_048
"""With fewer tokens left than this a model that loads is of no use: *tight*, not *no*."""


class State(StrEnum):
    """The answer in a word. *tight*: loads, but what was asked does not fit and under 2,048 tokens are left."""

    FITS = "fits"
    TIGHT = "tight"
    NO = "no"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBudget:
    """One device before any request: weights and runtime, how the cache grows, and the pool that is left for it.

    *items* end with what the engine keeps out of the pool. *pool_high_bytes* is the pool when every assumed item is at
    its low end. Negative: weights and runtime do not fit.
    """

    engine: Engine
    architecture: Architecture
    deployment: Deployment
    rank: Rank
    items: tuple[LineItem, ...]
    specs: tuple[KVCacheSpec, ...]
    pool_bytes: int = 0
    pool_low_bytes: int = 0
    pool_high_bytes: int = 0

    @property
    def memory_bytes(self) -> int:
        return self.deployment.device.memory_bytes

    def request_bytes(self, tokens: int) -> int:
        return self.engine.sequence_bytes(self.specs, tokens)

    def requests(self, users: int) -> int:
        """How many of *users* this device serves: data-parallel replicas share them."""
        return -(-users // self.deployment.data_parallel)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBudget:
    """Every byte of the fullest device, and the answer.

    *items* add up to *total_bytes*; *free_bytes* is negative by what is short. *ranks* are all different devices, for
    searches. *loads*: weights and runtime alone fit; *fits*: what was asked fits as well.
    """

    workload: Workload
    ranks: tuple[RankBudget, ...]
    rank: RankBudget
    items: tuple[LineItem, ...]
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
    architecture = as_stored(architecture, deployment.weights)
    if deployment.overhead_bytes is None:
        runtime = engine.runtime_items(architecture, deployment)
    else:
        runtime = (
            LineItem(
                name="overhead",
                kind=Kind.RUNTIME,
                bytes=deployment.overhead_bytes,
                basis=Basis.ASSUMED,
                source="stated by the user: context, libraries, activations and all else that is not weights or cache",
            ),
        )
    return tuple(
        _rank_budget(engine, rank, runtime, architecture, deployment) for rank in engine.ranks(architecture, deployment)
    )


def on_device(ranks: tuple[RankBudget, ...], device: Device) -> tuple[RankBudget, ...]:
    """The same plan on another device: only the pool moves, unless the engine follows the card's size."""
    if ranks[0].engine.follows_card:
        return prepare(ranks[0].architecture, replace(ranks[0].deployment, device=device))
    return tuple(_with_pool(replace(rank, deployment=replace(rank.deployment, device=device))) for rank in ranks)


def plan(architecture: Architecture, deployment: Deployment, workload: Workload) -> MemoryBudget:
    """The budget of the fullest device for *workload*.

    A plan that does not fit is an answer; PlannerError is only for what makes no sense.
    """
    return budget_for(prepare(architecture, deployment), workload)


def budget_for(ranks: tuple[RankBudget, ...], workload: Workload) -> MemoryBudget:
    """The same from prepared ranks: many workloads for one deployment cost one preparation."""
    fullest = min(
        ranks,
        key=lambda rank: rank.pool_bytes - rank.requests(workload.users) * rank.request_bytes(workload.context_tokens),
    )
    kv_request_bytes = fullest.request_bytes(workload.context_tokens)
    requests = fullest.requests(workload.users)
    cache = LineItem(
        name="cache",
        kind=Kind.CACHE,
        bytes=requests * kv_request_bytes,
        basis=fullest.engine.cache_basis,
        source=f"{requests:,} × {kv_request_bytes:,} B for {workload.context_tokens:,} tokens each",
    )
    items = (*fullest.items, cache)
    total_bytes = sum(item.bytes for item in items)
    loads = all(rank.pool_bytes >= 0 for rank in ranks)
    return MemoryBudget(
        workload=workload,
        ranks=ranks,
        rank=fullest,
        items=items,
        weights_bytes=sum(item.bytes for item in items if item.kind is Kind.WEIGHTS),
        kv_request_bytes=kv_request_bytes,
        total_bytes=total_bytes,
        free_bytes=fullest.pool_bytes - cache.bytes,
        loads=loads,
        fits=holds(ranks, workload.context_tokens, workload.users),
        state=_state(ranks, workload, loads),
    )


def holds(ranks: tuple[RankBudget, ...], tokens: int, users: int, pool: str = "pool_bytes") -> bool:
    """Whether *users* requests of *tokens* fit in every device's pool (or in its *pool* ``pool_low_bytes``, …)."""
    return all(rank.requests(users) * rank.request_bytes(tokens) <= getattr(rank, pool) for rank in ranks)


def _state(ranks: tuple[RankBudget, ...], workload: Workload, loads: bool) -> State:
    tokens, users = workload.context_tokens, workload.users
    if holds(ranks, tokens, users, "pool_low_bytes"):
        return State.FITS
    if holds(ranks, tokens, users, "pool_high_bytes"):
        return State.UNCERTAIN
    if loads and not holds(ranks, TIGHT_TOKENS, 1):
        return State.TIGHT
    return State.NO


def pools(ranks: tuple[RankBudget, ...]) -> tuple[Pool, ...]:
    """What an engine's report is made from."""
    return tuple(Pool(rank=rank.rank, pool_bytes=rank.pool_bytes) for rank in ranks)


def _rank_budget(
    engine: Engine, rank: Rank, runtime: tuple[LineItem, ...], architecture: Architecture, deployment: Deployment
) -> RankBudget:
    bare = RankBudget(
        engine=engine,
        architecture=architecture,
        deployment=deployment,
        rank=rank,
        items=(*_weight_items(rank, architecture, deployment), *runtime),
        specs=engine.cache_specs(rank, deployment),
    )
    return _with_pool(bare)


def _with_pool(bare: RankBudget) -> RankBudget:
    """*bare* with the pool that its device leaves; what the engine keeps out of it becomes an item of its own."""
    items = tuple(item for item in bare.items if item.name != OUTSIDE)
    engine, rank, deployment, memory_bytes = bare.engine, bare.rank, bare.deployment, bare.memory_bytes
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
