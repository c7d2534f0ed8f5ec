"""What a checkpoint's headers say about its tensors: names, types, shapes and bytes, never their values.

Checkpoints have tens of thousands of tensors and few kinds of them: names that differ in numbers alone, as those of
layers and experts do, are kept as one template with the numbers beside it.
"""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import prod
from typing import NamedTuple

from planner.records import dataclass

DTYPE_BITS: Mapping[str, int] = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}
"""Bits of one element of each type of the specification."""

MARK = "#"
"""What stands for a number in a template."""
_NUMBER = re.compile(r"\.(0|[1-9][0-9]{0,5})(?=\.|$)")
_SPAN = 10**6
_MOST_NUMBERS = 3


class StoredTensor(NamedTuple):
    """One tensor as its file stores it. *dtype* is the file's own spelling, such as ``BF16``."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return prod(self.shape) * DTYPE_BITS[self.dtype] // 8


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGroup:
    """Tensors of one *dtype* and *shape* whose names are *template* with other numbers.

    *packed* holds the numbers of each, six digits a number: layer 3's expert 17 is 3000017.
    """

    template: str
    dtype: str
    shape: tuple[int, ...]
    packed: Sequence[int]

    @property
    def tensor(self) -> StoredTensor:
        """Any of them, by the template's name."""
        return StoredTensor(self.template, self.dtype, self.shape)

    def numbers(self, ordinal: int) -> Iterator[int]:
        """For each tensor, the number at the template's mark *ordinal*."""
        below = _SPAN ** (self.template.count(MARK) - 1 - ordinal)
        return (packed // below % _SPAN for packed in self.packed)

    def __iter__(self) -> Iterator[StoredTensor]:
        texts = self.template.split(MARK)
        for packed in self.packed:
            yield StoredTensor(_named(texts, packed), self.dtype, self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTensors:
    """Every tensor of one checkpoint, read from its headers; shards that are not there are *missing_files*."""

    source: str
    groups: tuple[StoredGroup, ...]
    missing_files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[StoredTensor]:
        return (tensor for group in self.groups for tensor in group)

    @property
    def bytes(self) -> int:
        """Bytes of all tensors whose headers were read."""
        return sum(group.tensor.bytes * len(group.packed) for group in self.groups)


class TensorTable:
    """Collects the tensors of one or several headers: their *number*, and the sum of their names' *hashes*."""

    __slots__ = ("_groups", "hashes", "number")

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, tuple[int, ...]], array[int]] = {}
        self.number = self.hashes = 0

    def add(self, name: str, dtype: str, shape: tuple[int, ...]) -> None:
        self.number += 1
        self.hashes += hash(name)
        if MARK in name:
            name = name.replace(MARK, "_")
        # Pieces of text with numbers between them; numbers beyond the first three stay text.
        pieces = _NUMBER.split(name, _MOST_NUMBERS)
        packed = 0
        for number in pieces[1::2]:
            packed = packed * _SPAN + int(number)
        key = f".{MARK}".join(pieces[::2]), dtype, shape
        found = self._groups.get(key)
        if found is None:
            self._groups[key] = found = array("q")
        found.append(packed)

    def merge(self, other: "TensorTable") -> None:
        self.number += other.number
        self.hashes += other.hashes
        for key, packed in other._groups.items():
            self._groups.setdefault(key, array("q")).extend(packed)

    def groups(self) -> tuple[StoredGroup, ...]:
        return tuple(
            StoredGroup(template=template, dtype=dtype, shape=shape, packed=packed)
            for (template, dtype, shape), packed in self._groups.items()
        )

    def repeated(self) -> str | None:
        """A name that was added twice, if there is one."""
        by_template: dict[str, list[array[int]]] = {}
        for (template, _, _), packed in self._groups.items():
            by_template.setdefault(template, []).append(packed)
        for template, parts in by_template.items():
            if len(set().union(*parts)) == sum(map(len, parts)):
                continue
            seen: set[int] = set()
            for number in chain.from_iterable(parts):
                if number in seen:
                    return _named(template.split(MARK), number)
                seen.add(number)
        return None


def _named(texts: list[str], packed: int) -> str:
    """The name that *texts* make with the numbers in *packed* between them."""
    numbers: list[int] = []
    for _ in texts[1:]:
        packed, number = divmod(packed, _SPAN)
        numbers.append(number)
    name = texts[0]
    for text, number in zip(texts[1:], reversed(numbers), strict=True):
        name += f"{number}{text}"
    return name
