"""What a checkpoint's headers say about its tensors: names, types, shapes and bytes, never their values."""

from collections.abc import Iterator
from math import prod

from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensor:
    """One tensor as its file stores it. *dtype* is the file's own spelling, such as ``BF16``."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """Stored elements: an int32 that packs eight 4-bit weights is one."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensors:
    """Every tensor of one checkpoint, read from its headers.

    *names_only* are tensors that an index names in *missing_files*, shards that are not there: their shapes and bytes
    are not known. *index_bytes* is the total that the index itself gives, if it does.
    """

    source: str
    tensors: tuple[StoredTensor, ...]
    names_only: tuple[str, ...] = ()
    missing_files: tuple[str, ...] = ()
    index_bytes: int | None = None
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[StoredTensor]:
        return iter(self.tensors)

    @property
    def bytes(self) -> int:
        """Bytes of all tensors whose headers were read."""
        return sum(tensor.bytes for tensor in self.tensors)

    def bytes_by_dtype(self) -> dict[str, int]:
        """The same bytes by the file's own types, in order of first appearance."""
        by_dtype: dict[str, int] = {}
        for tensor in self.tensors:
            by_dtype[tensor.dtype] = by_dtype.get(tensor.dtype, 0) + tensor.bytes
        return by_dtype
