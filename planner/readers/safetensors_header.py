"""One safetensors header: JSON text to tensors, everything checked that a loader would rely on.

Layout: 8 bytes of little-endian header length, that many bytes of JSON, then the tensors without gaps.
Source: https://github.com/huggingface/safetensors/blob/24b0b2857fef49be734b9ab72ce97c09bb25f5b9/README.md#format
"""

import json
from collections.abc import Mapping
from math import prod

from planner.errors import BadFile
from planner.readers.stored_tensors import StoredTensor
from planner.units import format_count, shorten

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
"""The safetensors library refuses longer headers too."""

_MAX_ELEMENTS = 2**63
_MAX_DIMENSIONS = 64
_METADATA = "__metadata__"
_INT = frozenset({int})

DTYPE_BITS: Mapping[str, int] = {
    **dict.fromkeys(("F4",), 4),
    **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
}
"""Bits of one element of each type of the specification."""


def header_length(first: bytes, what: str) -> int:
    """Bytes of JSON announced by the *first* eight bytes of the file called *what*."""
    if len(first) < LENGTH_BYTES:
        raise BadFile(f"{what} is {len(first)} bytes long: too short for a safetensors header.")
    length = int.from_bytes(first[:LENGTH_BYTES], "little")
    if not 2 <= length <= MAX_HEADER_BYTES:
        raise BadFile(f"{what} announces a header of {format_count(length)} bytes: it is not a safetensors file.")
    return length


def parse_header(text: bytes, data_bytes: int | None, what: str) -> list[StoredTensor]:
    """The tensors in the header *text* of the file *what*, whose data take *data_bytes*, in the order of the data.

    ``None``: only the file's beginning is there. Raises BadFile for what does not describe exactly these bytes.
    """
    entries = _object(load_json(text, what, b'"data_offsets"'), what)
    known: _Known = {}
    placed = [_placed(name, entry, known, what) for name, entry in entries.items() if name != _METADATA]
    placed.sort(key=lambda one: one[:2])
    end = 0
    for start, stop, tensor in placed:
        if start != end:
            problem = "overlaps the tensor before it" if start < end else "leaves a gap before it"
            raise _wrong(what, tensor.name, f"{problem} (byte {start} after byte {end})")
        end = stop
    if data_bytes is not None and end != data_bytes:
        state = "is cut short" if end > data_bytes else "has bytes that no tensor describes"
        raise BadFile(
            f"{what} {state}: its header describes {format_count(end)} bytes of tensors and "
            f"{format_count(max(0, data_bytes))} are there."
        )
    return [tensor for _, _, tensor in placed]


def load_json(text: bytes, what: str, entry: bytes = b"") -> object:
    """JSON without duplicate keys; raises BadFile where it is not, is too deep, or is not text.

    *entry* stands once in each entry of the object inside: where it stands as often as there are entries, none was
    named twice, and a name that was is only looked for otherwise, which takes twice the time.
    """

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise BadFile(f"{what}: its JSON names {_repeated(pairs)!r} twice.")
        return found

    try:
        decoded = text.decode()
        if entry:
            found = json.loads(decoded)
            if isinstance(found, dict) and _is_counted(found, text, entry):
                return found
        return json.loads(decoded, object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise BadFile(f"{what}: byte {error.start} of its header is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise BadFile(f"{what}: its header is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise BadFile(f"{what}: its header is nested too deeply.") from None
    except ValueError:
        raise BadFile(f"{what}: its header has a number with too many digits.") from None


def _is_counted(found: dict[str, object], text: bytes, entry: bytes) -> bool:
    """Whether *entry* stands in *text* once for each tensor of a header, or each of an index's ``weight_map``."""
    weight_map = found.get("weight_map")
    entries = weight_map if isinstance(weight_map, dict) else found
    return text.count(entry) == len(entries) - (_METADATA in entries) and text.count(b'"__metadata__"') <= 1


def _repeated(pairs: list[tuple[str, object]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    return shorten(key)


def _object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BadFile(f"{what}: its header is a JSON {type(value).__name__}, not an object of tensors.")
    return value


_Known = dict[str, tuple[tuple[int, ...], int]]
"""By type and shape as written: the shape, kept once, and its bytes. Checkpoints have few of them and many tensors."""


def _placed(name: str, entry: object, known: _Known, what: str) -> tuple[int, int, StoredTensor]:
    """Where the tensor starts and ends in the data, and what it is."""
    try:
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]  # type: ignore[index]
        counts, size = known[f"{dtype}{shape}"]
    except (KeyError, TypeError, ValueError):
        return _checked(name, entry, known, what)
    if type(start) is not int or type(stop) is not int or start < 0 or stop - start != size or len(entry) != 3:  # type: ignore[arg-type]
        return _checked(name, entry, known, what)
    return start, stop, StoredTensor(name=name, dtype=dtype, shape=counts, bytes=size)


def _checked(name: str, entry: object, known: _Known, what: str) -> tuple[int, int, StoredTensor]:
    """The same for a type and shape that are met for the first time, or an entry in which something is wrong."""
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
    counts, size = known.setdefault(f"{dtype}{shape}", (tuple(shape), stop - start))
    return start, stop, StoredTensor(name=name, dtype=dtype, shape=counts, bytes=size)


def _wrong(what: str, name: str, problem: str) -> BadFile:
    return BadFile(f"{what}: tensor {shorten(name)!r} {problem}.")


def _counts(values: object) -> bool:
    """Whether *values* is a list of whole numbers from 0 to 2^63."""
    if type(values) is not list or not set(map(type, values)) <= _INT:
        return False
    return not values or (min(values) >= 0 and max(values) < _MAX_ELEMENTS)
