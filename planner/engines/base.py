"""What every engine answers: what each device holds, how its cache grows, what it reserves, how big the pool is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from planner.architecture import Architecture, Layer, Tensor, Tower
from planner.deployment import Deployment
from planner.kv_cache import KVCacheSpec
from planner.line_item import LineItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The part of a model that one device holds, before tensor parallelism divides it further."""

    layers: tuple[Layer, ...]
    tensors: tuple[Tensor, ...]
    towers: tuple[Tower, ...]


class Engine(Protocol):
    """One engine's own arithmetic. All bytes are one device's."""

    name: str

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[Rank, ...]:
        """The different device loads: one a pipeline stage."""
        ...

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        """How one request's cache grows on this device."""
        ...

    def sequence_bytes(self, specs: tuple[KVCacheSpec, ...], tokens: int) -> int:
        """What one request of *tokens* takes from the pool."""
        ...

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        """What the engine takes beside weights and cache."""
        ...

    def pool_bytes(self, memory_bytes: int, taken_bytes: int) -> int:
        """What is left for caches, negative when weights and runtime alone are too big."""
        ...


def taken_bytes(items: Iterable[LineItem]) -> tuple[int, int, int]:
    """Expected, low and high total of *items*."""
    expected = low = high = 0
    for item in items:
        expected += item.bytes
        low += item.low_bytes
        high += item.high_bytes
    return expected, low, high
