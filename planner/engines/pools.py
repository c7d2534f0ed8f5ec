"""Caches in several pools whose sizes are fixed shares of one sum: a request is bounded by the pool it fills most."""

from collections.abc import Iterable

from planner.deployment import Deployment
from planner.kv_cache import KVCacheSpec
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec(KVCacheSpec):
    """What one request keeps in a pool that has *part* of every *whole* bytes given to caches."""

    part: int = 1
    whole: int = 1

    def claim_bytes(self, tokens: int) -> int:
        """Bytes of all pools together that a request of *tokens* makes unusable for others.

        bytes(n) · whole / part: half a pool that has a fifth of the sum is a tenth of the sum. Rounded up.
        """
        return -(-self.bytes_for(tokens) * self.whole // self.part)


class SeparatePools:
    """For an engine that divides the memory for caches once, at the start."""

    def sequence_bytes(self, specs: tuple[KVCacheSpec, ...], tokens: int) -> int:
        return _claim(specs, tokens)

    def cache_bytes(self, specs: tuple[KVCacheSpec, ...], deployment: Deployment, tokens: int, requests: int) -> int:
        return requests * _claim(specs, tokens)


def _claim(specs: Iterable[KVCacheSpec], tokens: int) -> int:
    return max(
        (spec.claim_bytes(tokens) if isinstance(spec, PoolSpec) else spec.bytes_for(tokens) for spec in specs),
        default=0,
    )
