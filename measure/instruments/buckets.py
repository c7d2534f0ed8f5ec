"""One reading by bucket: what is weights, what is cache, and what is neither."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from measure.instruments.base import DeviceMemory, Watched
from measure.tensors import storage_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Bytes of one run. ``None``: this kind of device does not tell.

    *weights_bytes* and *cache_bytes* are the storages held, before the allocator rounds. *peak_bytes* is the most that
    was allocated at once above the weights, the cache included.
    """

    weights_bytes: int
    cache_bytes: int
    peak_bytes: int
    reserved_unused_bytes: int | None
    outside_bytes: int | None
    host_bytes: int


def sort_into_buckets(
    weights: Iterable[torch.Tensor], cache: Iterable[torch.Tensor], watched: Watched, memory: DeviceMemory
) -> Buckets:
    """The buckets of a run that was *watched* from when only *weights* were there; *memory* is its last moment."""
    return Buckets(
        weights_bytes=storage_bytes(weights),
        cache_bytes=storage_bytes(cache),
        peak_bytes=watched.peak_bytes,
        reserved_unused_bytes=memory.reserved_unused_bytes,
        outside_bytes=memory.outside_bytes,
        host_bytes=memory.host_bytes,
    )
