"""One GGUF file's header: metadata and tensors, everything checked that a loader would rely on.

Layout: magic, version, counts, keys with values, tensors' names, dimensions, types and offsets, then the data, aligned.
Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, ggml/src/gguf.cpp.
"""

import struct
from collections.abc import Mapping
from math import prod
from typing import BinaryIO

from planner.errors import BadFile
from planner.formats import NumberFormat
from planner.readers.gguf.cursor import Cursor
from planner.readers.pointers import refuse_pointer
from planner.records import dataclass
from planner.units import format_count, shorten

MAGIC = b"GGUF"
DEFAULT_ALIGNMENT = 32

_VERSIONS = (2, 3)
# Far above every real file, and low enough that a hostile one takes seconds and megabytes.
_MAX_KEYS = 2**12
_MAX_TENSORS = 2**17
_MAX_KEY_BYTES = 2**12
_MAX_NAME_BYTES = 255
_MAX_STRING_BYTES = 2**12
_MAX_ARRAY = 2**24
_MAX_KEPT_ARRAY = 2**11
_MAX_DIMENSIONS = 4
_MAX_ELEMENTS = 2**63

_STRING, _ARRAY, _BOOL = 8, 9, 7
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "B", 10: "Q", 11: "q", 12: "d"}
_FLOATS = "fd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A value that was passed over; *length* is how many elements or bytes it has."""

    length: int


Value = int | float | bool | str | tuple[int, ...] | Skipped
Metadata = Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufTensor:
    """One tensor. *shape* has ggml's order, the contiguous dimension first; *format* None: a type that is not known.

    *bytes* of an unknown type are those up to the next tensor, so up to ``alignment - 1`` too many.
    """

    name: str
    shape: tuple[int, ...]
    type: int
    format: NumberFormat | None
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """Metadata and tensors of one file."""

    what: str
    metadata: Metadata
    tensors: tuple[GgufTensor, ...]


def read_header(file: BinaryIO, size: int, what: str, types: Mapping[int, NumberFormat]) -> GgufHeader:
    """The header of *file*, which is *size* bytes long and called *what*; *types* are formats by ggml's number.

    Numbers, short strings and short arrays of whole numbers are kept; everything else is passed over. Raises BadFile.
    """
    cursor = Cursor(file, size, what)
    first = cursor.take(4) if size >= len(MAGIC) else b""
    if first != MAGIC:
        refuse_pointer(first, what)
        raise BadFile(f"{what} does not begin with GGUF: it is not a GGUF file.")
    _version(cursor)
    tensor_count, key_count = cursor.unsigned(8), cursor.unsigned(8)
    # The shortest key takes 13 bytes, the shortest tensor 24.
    for count, most, least, kind in ((key_count, _MAX_KEYS, 13, "keys"), (tensor_count, _MAX_TENSORS, 24, "tensors")):
        if count > most or count * least > size:
            raise BadFile(f"{what} says that it has {format_count(count)} {kind}, more than it can have.")
    metadata = _read_metadata(cursor, key_count)
    alignment = _alignment(metadata, what)
    described = [_read_tensor(cursor) for _ in range(tensor_count)]
    data_bytes = size - -(-cursor.position // alignment) * alignment
    return GgufHeader(what=what, metadata=metadata, tensors=_placed(described, alignment, data_bytes, what, types))


def _version(cursor: Cursor) -> None:
    """Read the version, and from it the byte order: a big-endian file's low half is empty."""
    version = cursor.unsigned(4)
    if version and not version & 0xFFFF:
        cursor.order = ">"
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if version not in _VERSIONS:
        raise BadFile(f"{cursor.what} is a GGUF file of version {version}; versions 2 and 3 can be read.")


def _read_metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for _ in range(count):
        key = _text(cursor, _MAX_KEY_BYTES, "a key")
        if not key or key in metadata:
            raise BadFile(f"{cursor.what} has {'an empty key' if not key else f'the key {shorten(key)!r} twice'}.")
        metadata[key] = _value(cursor, key)
    return metadata


def _text(cursor: Cursor, most: int, kind: str) -> str:
    length = cursor.unsigned(8)
    if length > most:
        raise BadFile(
            f"{cursor.what} has {kind} of {format_count(length)} bytes; at most {format_count(most)} can be read."
        )
    try:
        return cursor.take(length).decode()
    except UnicodeDecodeError:
        raise BadFile(f"{cursor.what} has {kind} that is not UTF-8 text.") from None


def _value(cursor: Cursor, key: str) -> Value:
    kind = cursor.unsigned(4)
    if kind == _STRING:
        length = cursor.unsigned(8)
        if length <= _MAX_STRING_BYTES:
            return cursor.take(length).decode(errors="replace")
        cursor.skip(length)
        return Skipped(length=length)
    if kind == _ARRAY:
        return _array(cursor, key)
    return _numbers(cursor, kind, 1, key)[0]


def _array(cursor: Cursor, key: str) -> Value:
    kind, length = cursor.unsigned(4), cursor.unsigned(8)
    if length > _MAX_ARRAY:
        raise BadFile(
            f"{cursor.what}: key {shorten(key)!r} has {format_count(length)} elements; "
            f"at most {format_count(_MAX_ARRAY)} can be read."
        )
    if kind == _STRING:
        if 8 * length > cursor.left:
            raise BadFile(f"{cursor.what}: key {shorten(key)!r} has more strings than the file has room for.")
        cursor.skip_strings(length)
        return Skipped(length=length)
    code = _number_code(cursor, kind, key)
    if length > _MAX_KEPT_ARRAY or code in _FLOATS:
        cursor.skip(length * struct.calcsize(f"<{code}"))
        return Skipped(length=length)
    return tuple(int(value) for value in _numbers(cursor, kind, length, key))


def _number_code(cursor: Cursor, kind: int, key: str) -> str:
    code = _NUMBERS.get(kind)
    if code is None:
        raise BadFile(
            f"{cursor.what}: key {shorten(key)!r} has a value of type {kind}, which GGUF does not have there."
        )
    return code


def _numbers(cursor: Cursor, kind: int, count: int, key: str) -> tuple[int | float | bool, ...]:
    layout = f"{cursor.order}{count}{_number_code(cursor, kind, key)}"
    values: tuple[int | float, ...] = struct.unpack(layout, cursor.take(struct.calcsize(layout)))
    return tuple(map(bool, values)) if kind == _BOOL else values


def _alignment(metadata: Metadata, what: str) -> int:
    alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(alignment) is not int or alignment <= 0 or alignment & (alignment - 1):
        raise BadFile(f"{what}: general.alignment is {shorten(str(alignment))}; it must be a power of two.")
    return alignment


def _read_tensor(cursor: Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """Name, shape, type and offset of the next tensor."""
    name = _text(cursor, _MAX_NAME_BYTES, "a tensor name")
    dimensions = cursor.unsigned(4)
    if dimensions > _MAX_DIMENSIONS:
        raise BadFile(
            f"{cursor.what}: tensor {shorten(name)!r} has {format_count(dimensions)} dimensions; GGUF has at most 4."
        )
    shape = tuple(cursor.unsigned(8) for _ in range(dimensions))
    if max(shape, default=1) >= _MAX_ELEMENTS or prod(shape) >= _MAX_ELEMENTS:
        raise BadFile(f"{cursor.what}: tensor {shorten(name)!r} has 2^63 elements or more.")
    return name, shape, cursor.unsigned(4), cursor.unsigned(8)


def _bytes_of(shape: tuple[int, ...], number_format: NumberFormat, where: str) -> int:
    columns = shape[0] if shape else 1
    if columns % number_format.elements:
        raise BadFile(
            f"{where} has rows of {format_count(columns)} elements, which blocks of {number_format.elements} "
            f"({number_format.name}) do not fill."
        )
    return number_format.bytes_for(columns, prod(shape[1:]))


def _placed(
    described: list[tuple[str, tuple[int, ...], int, int]],
    alignment: int,
    data_bytes: int,
    what: str,
    types: Mapping[int, NumberFormat],
) -> tuple[GgufTensor, ...]:
    """The tensors with their bytes; each must lie where the ones before it end, and all of them in the file."""
    tensors: list[GgufTensor] = []
    names: set[str] = set()
    end = 0
    for index, (name, shape, kind, offset) in enumerate(described):
        where = f"{what}: tensor {shorten(name)!r}"
        if name in names:
            raise BadFile(f"{where} is there twice.")
        names.add(name)
        start = -(-end // alignment) * alignment
        if offset != start:
            raise BadFile(f"{where} begins at byte {offset} of the data, and must begin at {start}.")
        number_format = types.get(kind)
        if number_format is None:
            after = described[index + 1][3] if index + 1 < len(described) else data_bytes
            size = max(0, after - start)
        else:
            size = _bytes_of(shape, number_format, where)
        end = start + size
        if end > data_bytes:
            raise BadFile(
                f"{what} is cut short: tensor {shorten(name)!r} ends at byte {format_count(end)} of the data and "
                f"{format_count(max(0, data_bytes))} are there."
            )
        tensors.append(GgufTensor(name=name, shape=shape, type=kind, format=number_format, bytes=size))
    return tuple(tensors)
