"""The format that a checkpoint wants its cache in."""

from collections.abc import Mapping

from planner.formats import NumberFormat
from planner.units import shorten

Formats = Mapping[str, NumberFormat]

_BY_NAME = {"FP8": "fp8", "NVFP4": "nvfp4-kv", "INT8": "int8"}
_BY_BITS = {(8, "float"): "fp8", (4, "float"): "nvfp4-kv", (8, "int"): "int8"}


def cache_format(wanted: object, formats: Formats) -> tuple[NumberFormat | None, tuple[str, ...]]:
    """The format for *wanted*, and what to say where none is known.

    *wanted* is a name such as ``FP8``, or an object with num_bits and type.
    """
    if not wanted or wanted == "auto":
        return None, ()
    name = None
    if isinstance(wanted, str):
        name = _BY_NAME.get(wanted.upper())
    elif isinstance(wanted, Mapping):
        bits, kind = wanted.get("num_bits"), wanted.get("type")
        name = _BY_BITS.get((bits, kind)) if isinstance(bits, int) and isinstance(kind, str) else None
    if name is None:
        shown = shorten(str(wanted)[:200])
        return None, (f"The checkpoint asks for a cache in {shown!r}, which is not known: it is counted in 16 bit.",)
    return formats[name], ()
