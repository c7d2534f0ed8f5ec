"""One safetensors header: JSON text to tensors, everything checked that a loader would rely on.

Layout: 8 bytes of little-endian header length, that many bytes of JSON, then the tensors without gaps.
Source: https://github.com/huggingface/safetensors/blob/24b0b2857fef49be734b9ab72ce97c09bb25f5b9/README.md#format
"""

import re
from array import array
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from math import prod
from typing import BinaryIO

from planner.errors import BadFile
from planner.readers.pointers import refuse_pointer
from planner.readers.stored_tensors import DTYPE_BITS, TensorTable
from planner.readers.unique_json import SPACE, load_json
from planner.units import format_count, shorten

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
"""The safetensors library refuses longer headers too."""

_MAX_ELEMENTS = 2**63
_MAX_DIMENSIONS = 64
_METADATA = "__metadata__"
_INT = frozenset({int})
_PIECE_BYTES = 2**18

# An entry as every known writer has it; whatever looks otherwise goes the slower way through a JSON parser.
_ENTRY = re.compile(
    rb'S*"(?!__metadata__")([^"\\\x00-\x1f]+)"S*:S*\{S*"dtype"S*:S*"(\w+)"S*,S*"shape"S*:S*\[([\d, \t\n\r]*)\]S*,'
    rb'S*"data_offsets"S*:S*\[S*(0|[1-9]\d{0,17})S*,S*(0|[1-9]\d{0,17})S*\]S*\}S*([,}])'.replace(b"S*", SPACE)
)
_PLAIN_METADATA = re.compile(rb'S*"__metadata__"S*:S*(\{[^{}\[\]\\]*\})S*([,}])'.replace(b"S*", SPACE))


def header_length(first: bytes, what: str) -> int:
    """Bytes of JSON announced by the *first* eight bytes of the file called *what*."""
    if len(first) < LENGTH_BYTES:
        raise BadFile(f"{what} is {len(first)} bytes long: too short for a safetensors header.")
    refuse_pointer(first, what)
    length = int.from_bytes(first[:LENGTH_BYTES], "little")
    if not 2 <= length <= MAX_HEADER_BYTES:
        raise BadFile(f"{what} announces a header of {format_count(length)} bytes: it is not a safetensors file.")
    return length


def parse_header(text: bytes, data_bytes: int | None, what: str) -> TensorTable:
    """The tensors in the header *text* of the file *what*, whose data take *data_bytes*.

    ``None``: only the file's beginning is there. Raises BadFile for what does not describe exactly these bytes.
    """
    return read_header(BytesIO(text), len(text), data_bytes, what)


def read_header(file: BinaryIO, length: int, data_bytes: int | None, what: str) -> TensorTable:
    """The same from where *file* stands, *length* bytes on; of a usual header only a piece at a time is in memory."""
    start = file.tell()
    try:
        return _plain(file, length, data_bytes)
    except _NotPlain:
        file.seek(start)
        return _checked_header(file.read(length), data_bytes, what)


class _NotPlain(Exception):
    """A header that is written in an unusual way, or is wrong."""


def _plain(file: BinaryIO, length: int, data_bytes: int | None) -> TensorTable:
    table, known = TensorTable(), _Known()
    starts, ends = array("q"), array("q")
    add = table.add
    for name, dtype, shape, first, last in _entries(file, length):
        start, end = int(first), int(last)
        kind = known[dtype, shape]
        if end - start != kind[2]:
            raise _NotPlain
        starts.append(start)
        ends.append(end)
        try:
            add(name.decode(), kind[0], kind[1])
        except UnicodeDecodeError:
            raise _NotPlain from None
    if not _fills(starts, ends, data_bytes) or table.repeated() is not None:
        raise _NotPlain
    return table


def _entries(file: BinaryIO, length: int) -> Iterator[tuple[bytes, ...]]:
    """Name, type, shape and offsets of each entry, as they are written."""
    buffer, left, position, closed, metadata = b"", length, 0, False, 0
    match = _ENTRY.match
    while left:
        piece = file.read(min(left, _PIECE_BYTES))
        if not piece or (position == 0 and len(buffer) > 4 * _PIECE_BYTES):
            raise _NotPlain
        left -= len(piece)
        if not buffer and not closed:
            piece = _opened(piece)
        buffer, position = buffer[position:] + piece, 0
        while not closed:
            found = match(buffer, position)
            if found is None:
                found = _PLAIN_METADATA.match(buffer, position)
                if found is None:
                    break
                metadata += 1
                _check_metadata(found[1])
            else:
                yield found.groups()[:5]
            position, closed = found.end(), found[found.lastindex or 0] == b"}"
    if not closed or metadata > 1 or buffer[position:].strip(b" \t\n\r"):
        raise _NotPlain


def _check_metadata(text: bytes) -> None:
    try:
        load_json(text, _METADATA)
    except BadFile:
        raise _NotPlain from None


def _opened(piece: bytes) -> bytes:
    """*piece* after the brace that opens the object."""
    text = piece.lstrip(b" \t\n\r")
    if not text.startswith(b"{"):
        raise _NotPlain
    return text[1:]


class _Known(dict[tuple[bytes, bytes], tuple[str, tuple[int, ...], int]]):
    """By type and shape as written: both, and the bytes they take. Checkpoints have few of them and many tensors."""

    def __missing__(self, key: tuple[bytes, bytes]) -> tuple[str, tuple[int, ...], int]:
        dtype = key[0].decode()
        bits = DTYPE_BITS.get(dtype)
        counts = [count.strip() for count in key[1].split(b",")] if key[1].strip() else []
        if bits is None or len(counts) > _MAX_DIMENSIONS or not all(map(_is_count, counts)):
            raise _NotPlain
        shape = tuple(map(int, counts))
        size, rest = divmod(prod(shape) * bits, 8)
        if rest or max((prod(shape), *shape)) >= _MAX_ELEMENTS:
            raise _NotPlain
        self[key] = found = (dtype, shape, size)
        return found


def _is_count(text: bytes) -> bool:
    return text.isdigit() and len(text) < 20 and (text == b"0" or not text.startswith(b"0"))


def _fills(starts: "array[int]", ends: "array[int]", data_bytes: int | None) -> bool:
    """Whether tensors from *starts* to *ends* lie one after another without a gap and take *data_bytes*."""
    if starts[1:] == ends[:-1]:
        first, last = (starts[0], ends[-1]) if starts else (0, 0)
    else:
        pairs = sorted(zip(starts, ends, strict=True))
        if any(before[1] != after[0] for before, after in pairwise(pairs)):
            return False
        first, last = pairs[0][0], pairs[-1][1]
    return first == 0 and data_bytes in (None, last)


def _checked_header(text: bytes, data_bytes: int | None, what: str) -> TensorTable:
    """The same through a JSON parser, with a sentence for what is wrong."""
    entries = _object(load_json(text, what), what)
    placed = [(*_checked(name, entry, what), name) for name, entry in entries.items() if name != _METADATA]
    placed.sort(key=lambda one: one[:2])
    table, end = TensorTable(), 0
    for start, stop, dtype, shape, name in placed:
        if start != end:
            problem = "overlaps the tensor before it" if start < end else "leaves a gap before it"
            raise _wrong(what, name, f"{problem} (byte {start} after byte {end})")
        end = stop
        table.add(name, dtype, shape)
    if data_bytes is not None and end != data_bytes:
        state = "is cut short" if end > data_bytes else "has bytes that no tensor describes"
        raise BadFile(
            f"{what} {state}: its header describes {format_count(end)} bytes of tensors and "
            f"{format_count(max(0, data_bytes))} are there."
        )
    return table


def _object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BadFile(f"{what}: its header is a JSON {type(value).__name__}, not an object of tensors.")
    return value


def _checked(name: str, entry: object, what: str) -> tuple[int, int, str, tuple[int, ...]]:
    """Where the tensor starts and ends in the data, its type and its shape."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise _wrong(what, name, "is not described by dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    bits = DTYPE_BITS.get(dtype) if isinstance(dtype, str) else None
    if bits is None:
        raise _wrong(what, name, f"has dtype {shorten(str(dtype))!r}; the format knows {', '.join(DTYPE_BITS)}")
    if not _counts(shape) or len(shape) > _MAX_DIMENSIONS or not _counts(offsets) or len(offsets) != 2:
        raise _wrong(what, name, "must have whole numbers from 0 as shape and two as data_offsets")
    elements = prod(shape)
    if elements >= _MAX_ELEMENTS:
        raise _wrong(what, name, "has 2^63 elements or more")
    start, stop = offsets
    if stop < start:
        raise _wrong(what, name, f"ends at byte {stop}, before it starts at byte {start}")
    if 8 * (stop - start) != elements * bits:
        taken = f"{format_count(stop - start)} bytes where {format_count(elements)} elements of {dtype}"
        raise _wrong(what, name, f"takes {taken} take {format_count(-(-elements * bits // 8))}")
    return start, stop, dtype, tuple(shape)


def _wrong(what: str, name: str, problem: str) -> BadFile:
    return BadFile(f"{what}: tensor {shorten(name)!r} {problem}.")


def _counts(values: object) -> bool:
    """Whether *values* is a list of whole numbers from 0 to 2^63."""
    if type(values) is not list or not set(map(type, values)) <= _INT:
        return False
    return not values or (min(values) >= 0 and max(values) < _MAX_ELEMENTS)
