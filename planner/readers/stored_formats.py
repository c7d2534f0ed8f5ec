"""Number formats that take exactly the bytes a file stores, whatever packing and scales it uses."""

from functools import cache

from planner.formats import NumberFormat, Scale
from planner.readers.stored_tensors import DTYPE_BITS


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
