"""Groups of layers that draw on the same blocks."""

from planner.engines.vllm.pages import STATE, LayerCache
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """*count* groups of up to *layers* layers with the same cache."""

    cache: LayerCache
    count: int
    layers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """All groups of one rank. *block_bytes* is what a block costs there: what its largest group keeps in it."""

    groups: tuple[Group, ...]
    block_bytes: int

    @property
    def number(self) -> int:
        return sum(group.count for group in self.groups)

    @property
    def has_states(self) -> bool:
        return any(group.cache.kind == STATE for group in self.groups)
