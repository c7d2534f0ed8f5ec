"""Number formats that take exactly the bytes a file stores, whatever packing and scales it uses."""

from collections.abc import Mapping
from functools import cache

from planner.formats import NumberFormat, Scale
from planner.readers.stored_tensors import DTYPE_BITS

_WHOLE = ("bf16", "fp16", "fp32")
_NAMES = {"f16": "fp16", "f32": "fp32", "f8_e4m3": "fp8", "f8_e5m2": "fp8", "8-bit f8_e4m3": "fp8", "i8": "int8"}
"""The project's own names for types of the specification."""


@cache
def dtype_format(dtype: str) -> NumberFormat:
    """The format of unpacked elements of a safetensors *dtype*.

    >>> dtype_format("BF16").bytes_for(3), dtype_format("F6_E2M3").bytes_for(4)
    (6, 3)
    """
    bits = DTYPE_BITS[dtype]
    elements = next(count for count in (1, 2, 4) if count * bits % 8 == 0)
    kind = "float" if "F" in dtype or dtype == "C64" else "integer"
    return NumberFormat(name=dtype.lower(), elements=elements, bytes=elements * bits // 8, kind=kind)


def exact_format(name: str, rows: int, columns: int, size: int) -> NumberFormat:
    """A format in which *rows* × *columns* elements take exactly *size* bytes, as evenly over the rows as bytes allow.

    >>> exact_format("int4", rows=3, columns=8, size=13).bytes_for(8, 3)
    13
    """
    row_bytes, rest = divmod(size, rows) if rows and columns else (0, size)
    return NumberFormat(
        name=name,
        elements=max(columns, 1),
        bytes=row_bytes,
        scales=(Scale(bytes=rest, rows=0, columns=0),) if rest else (),
        kind="checkpoint",
    )


def stored_name(sizes: Mapping[NumberFormat, int], said: str) -> str:
    """What a model with so many bytes in each format is stored as: its main format's name.

    Of packed weights headers tell only the bits: what the config *said* is kept, if that is a format of few bits too.

    >>> stored_name({dtype_format("F32"): 4_000, dtype_format("BF16"): 20}, "bf16")
    'fp32'
    """
    by_name: dict[str, int] = {}
    for number_format, size in sizes.items():
        name = _NAMES.get(number_format.name) or number_format.name.partition(" ")[0]
        by_name[name] = by_name.get(name, 0) + size
    main = max(by_name, key=by_name.__getitem__, default=said)
    return said if main not in _WHOLE and said not in _WHOLE else main
