"""One device before any request: its weights, its runtime, how its cache grows, and the pool that is left for it."""

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from itertools import cycle

from planner.architecture import Architecture
from planner.deployment import Deployment, Device
from planner.engines import find_engine
from planner.engines.base import Engine, Rank, WholeCard, taken_bytes
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, Kind, LineItem
from planner.records import dataclass
from planner.weights import identity, model_bytes

OUTSIDE, REST_OF_POOL = "outside the pool", "rest of the pool"
"""Items for memory that an engine leaves to neither weights nor runtime nor cache, and for what a pool whose size was
set, and for which there is no room, has beyond what is asked."""


class Case(Enum):
    """How assumed items turn out."""

    EXPECTED = "expected"
    WORST = "worst"
    BEST = "best"

    def of(self, items: Iterable[LineItem]) -> int:
        """The total of *items* in this case."""
        expected, low, high = taken_bytes(items)
        return {Case.EXPECTED: expected, Case.BEST: low, Case.WORST: high}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBudget:
    """One device before any request: weights and runtime, how the cache grows, and the pool that is left for it.

    *draft_specs* are what a draft keeps of a request beside the model's *specs*.
    *items* end with what the engine keeps out of the pool. *pool_high_bytes* is the pool when every assumed item is at
    its low end. Negative: weights and runtime do not fit; nor does, beside them, a pool of *set_pool_bytes*, whose size
    settings give.
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
    set_pool_bytes: int | None = None

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
            items = profile.growing(items, tokens * requests, self.deployment.conditions(identity(self.architecture)))
        draft = self.deployment.draft
        if draft is None:
            return items
        from planner.draft_items import logits_item  # only for plans with a draft

        return (*items, logits_item(draft, self.architecture.vocab_size, requests))

    def need_bytes(self, tokens: int, requests: int, case: Case = Case.EXPECTED) -> int:
        """What *requests* of *tokens* each take from the pool: their cache, and the buffers that go with them."""
        return self.cache_bytes(tokens, requests) + case.of(self.buffers(tokens, requests))

    def holds(self, tokens: int, requests: int, case: Case = Case.EXPECTED) -> bool:
        """Whether the pool has room for them; where the cache alone has none, no buffers are counted."""
        left_bytes = self.pool(case) - self.cache_bytes(tokens, requests)
        return left_bytes >= 0 and case.of(self.buffers(tokens, requests)) <= left_bytes

    def pool(self, case: Case) -> int:
        """The pool in this case: large where runtime turns out small."""
        return {Case.EXPECTED: self.pool_bytes, Case.BEST: self.pool_high_bytes, Case.WORST: self.pool_low_bytes}[case]

    def free_bytes(self, tokens: int, requests: int, case: Case = Case.EXPECTED) -> int:
        """What the pool has left beside *requests*; negative by what the card, or the pool, is short of."""
        pool_bytes, need_bytes = self.pool(case), self.need_bytes(tokens, requests, case)
        if self.set_pool_bytes is None or pool_bytes >= 0:
            return pool_bytes - need_bytes
        # The card has no room for the pool that was set; what is asked lies in that pool, not beside it.
        return pool_bytes - max(0, need_bytes - self.set_pool_bytes)

    def idle_items(self, need_bytes: int) -> tuple[LineItem, ...]:
        """*items*; a pool that was set and does not fit is there whole, so that what is asked is part of it."""
        if self.set_pool_bytes is None or self.pool_bytes >= 0:
            return self.items
        size = max(0, self.set_pool_bytes - need_bytes)
        source = "what the pool that settings give a size has beyond what is asked"
        rest = LineItem(name=REST_OF_POOL, kind=Kind.RUNTIME, bytes=size, basis=Basis.RULE, source=source)
        return (*self.items[:-1], rest) if size else self.items[:-1]

    def host_items(self, tokens: int, requests: int) -> tuple[LineItem, ...]:
        return self.engine.host_items(self.architecture, self.deployment, tokens, requests)


def shared_need_bytes(rank: RankBudget, tokens: int, requests: int, case: Case) -> int:
    """What *requests* of *tokens* take of a memory that card and processor share: the parts of both.

    An engine that reserves its pool takes all of it, whatever is asked.
    """
    need_bytes = rank.need_bytes(tokens, requests, case)
    if not isinstance(rank.engine, WholeCard):
        need_bytes = max(need_bytes, rank.pool(case))
    taken = case.of(item for item in rank.items if item.name != OUTSIDE)
    return taken + need_bytes + case.of(rank.host_items(tokens, requests))


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
    return profile.measured(items, deployment.conditions(identity(architecture)))


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
    set_bytes = engine.set_pool_bytes(rank, deployment) if deployment.pool_bytes is None else None
    if (stated := deployment.pool_bytes) is not None:
        expected = low = high = stated
    elif set_bytes is not None:
        spare = (memory_bytes - taken - set_bytes for taken in taken_bytes(items))
        expected, low, high = (min(left_bytes, 0) or set_bytes for left_bytes in spare)
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
    return replace(
        bare,
        items=items,
        pool_bytes=expected,
        pool_low_bytes=high,
        pool_high_bytes=low,
        set_pool_bytes=set_bytes,
    )


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
