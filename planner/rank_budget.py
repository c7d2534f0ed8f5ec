"""One device before any request: its weights, its runtime, how its cache grows, and the pool that is left for it."""

from collections.abc import Iterable
from enum import Enum

from planner.architecture import Architecture
from planner.deployment import Deployment
from planner.engines.base import Engine, Rank, WholeCard, taken_bytes
from planner.kv_cache import KVCacheSpec
from planner.line_item import Basis, Kind, LineItem
from planner.records import dataclass
from planner.weights import identity

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
