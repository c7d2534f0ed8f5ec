"""What every engine answers: what each device holds, how its cache grows, what it reserves, how big the pool is."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from planner.architecture import Architecture, Layer, Tensor, Tower
from planner.deployment import Deployment, Workload
from planner.kv_cache import KVCacheSpec, bytes_for
from planner.line_item import Basis, LineItem
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The part of a model that one device holds, before tensor parallelism divides it further."""

    layers: tuple[Layer, ...]
    tensors: tuple[Tensor, ...]
    towers: tuple[Tower, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """One device's part of the model, and the bytes that are left there for caches."""

    rank: Rank
    pool_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """What an engine prints about its pool when it starts, or why it refuses to.

    *version* is the version whose rules were used. *pool_tokens* and *max_concurrency* are the engine's own figures,
    which may count tokens in another way than a plan does; *num_blocks*, *block_size* and *blocks_per_request* are 0
    for one without blocks. *longest_start_tokens* is the longest context with which it
    starts, ``None`` without a limit, and *request_bytes* what it says one request takes, 0 where it says nothing.
    *refusals* are sentences; empty when it starts. *notes* are worth knowing.
    """

    version: str
    pool_bytes: int
    pool_tokens: int
    max_concurrency: float
    longest_start_tokens: int | None
    request_bytes: int = 0
    num_blocks: int
    block_size: int
    blocks_per_request: int
    groups: tuple[str, ...]
    refusals: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit of a running server: the *setting* by which the engine knows it, and its *value* as set, by default or
    by the card; ``None``: what memory holds, or no limit. *follows_users*: a plan raises it to its users."""

    setting: str
    value: int | None
    follows_users: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """What a server runs: *requests* at once, *step_tokens* in a step, in blocks of *block_tokens*; ``None``: not its.

    *prompts_alone*: the tokens of a step are those of prompts, beside a token of each request that decodes.
    """

    requests: Limit | None = None
    step_tokens: Limit | None = None
    block_tokens: Limit | None = None
    prompts_alone: bool = False


class Engine(Protocol):
    """One engine's own arithmetic. All bytes are one device's.

    *cache_basis* is what the bytes of a request rest on. *follows_card*: caches or runtime depend on the card's size.
    *counts_what_is_used*: what others hold of the card lessens the pool; not so for a share of the whole card.
    *splits_layers*: several devices, if nothing more is said, mean whole layers on each and not a share of every layer.
    *has_runtime_items*: it says itself what it takes beside weights and cache, so that no flat figure is needed.
    *cache_as_weights*: its cache is in the numbers that it computes in, those of weights that are not quantised.
    """

    name: str
    cache_basis: Basis
    follows_card: bool
    counts_what_is_used: bool
    splits_layers: bool
    has_runtime_items: bool
    cache_as_weights: bool

    def follow(self, architecture: Architecture, deployment: Deployment, context_tokens: int) -> Deployment:
        """*deployment* with the settings that this engine derives from the longest request."""
        ...

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        """The different device loads: one a pipeline stage."""
        ...

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        """How one request's cache grows on this device."""
        ...

    def sequence_bytes(self, specs: tuple[KVCacheSpec, ...], tokens: int) -> int:
        """What one request of *tokens* takes from the pool."""
        ...

    def cache_bytes(self, specs: tuple[KVCacheSpec, ...], deployment: Deployment, tokens: int, requests: int) -> int:
        """What *requests* of *tokens* each take from the pool together."""
        ...

    def buffer_items(
        self, architecture: Architecture, rank: Rank, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        """What *rank* takes beside weights and cache that follows from what is asked."""
        ...

    def host_items(
        self, architecture: Architecture, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        """What lies in the machine's own memory."""
        ...

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        """What the engine takes beside weights and cache, whatever is asked."""
        ...

    def reserved_items(self, rank: Rank, deployment: Deployment) -> tuple[LineItem, ...]:
        """Caches of *rank* whose size is fixed before anything is asked, beside the pool."""
        ...

    def pool_bytes(self, rank: Rank, deployment: Deployment, memory_bytes: int, taken_bytes: int) -> int:
        """What is left for caches, negative when weights and runtime alone are too big."""
        ...

    def set_pool_bytes(self, rank: Rank, deployment: Deployment) -> int | None:
        """The pool where settings give its size whatever the card leaves, so that it may be too large for it."""
        ...

    def pool_rule(self, deployment: Deployment) -> str:
        """Why the pool is not all that weights and runtime leave, in words."""
        ...

    def limits(self, deployment: Deployment) -> ServerLimits:
        """How many requests and tokens it takes at once."""
        ...

    def margin_bytes(self, deployment: Deployment) -> int:
        """What must stay free on a device for the engine not to move a part of the model to main memory by itself."""
        ...

    def report(
        self, pools: Sequence[Pool], deployment: Deployment, workload: Workload, longest_start_tokens: int | None
    ) -> EngineReport | None:
        """What it prints for these pools, ``None`` for an engine that prints nothing of its own."""
        ...


class PerRequest:
    """Defaults for an engine that keeps every request by itself, and counts nothing in the machine's own memory."""

    splits_layers = False
    counts_what_is_used = True
    has_runtime_items = True
    cache_as_weights = False

    def follow(self, architecture: Architecture, deployment: Deployment, context_tokens: int) -> Deployment:
        return deployment

    def sequence_bytes(self, specs: tuple[KVCacheSpec, ...], tokens: int) -> int:
        return bytes_for(specs, tokens)

    def cache_bytes(self, specs: tuple[KVCacheSpec, ...], deployment: Deployment, tokens: int, requests: int) -> int:
        return requests * self.sequence_bytes(specs, tokens)

    def reserved_items(self, rank: Rank, deployment: Deployment) -> tuple[LineItem, ...]:
        return ()

    def set_pool_bytes(self, rank: Rank, deployment: Deployment) -> int | None:
        return None

    def buffer_items(
        self, architecture: Architecture, rank: Rank, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        return ()

    def host_items(
        self, architecture: Architecture, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        return ()

    def limits(self, deployment: Deployment) -> ServerLimits:
        return ServerLimits()

    def margin_bytes(self, deployment: Deployment) -> int:
        return 0


class WholeCard:
    """For an engine that reserves nothing: its pool is all that weights and runtime leave."""

    def pool_bytes(self, rank: Rank, deployment: Deployment, memory_bytes: int, taken_bytes: int) -> int:
        return memory_bytes - taken_bytes

    def pool_rule(self, deployment: Deployment) -> str:
        return "all that weights and runtime leave"


def taken_bytes(items: Iterable[LineItem]) -> tuple[int, int, int]:
    """Expected, low and high total of *items*."""
    expected = low = high = 0
    for item in items:
        expected += item.bytes
        low += item.low_bytes
        high += item.high_bytes
    return expected, low, high
