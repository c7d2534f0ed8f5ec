"""Formats by the names under which checkpoints are said to be stored, so that a plan can ask for them.

A name says bits and groups, not whether a quantiser stores scales of activations or zero points beside them: these are
counted as the quantiser's own files have them at most.
"""

import re
from collections.abc import Callable, Mapping

from planner.formats import NumberFormat, Scale
from planner.readers.quantization import layouts

_NAME = re.compile(
    r"(?P<kind>[a-z0-9]+?)-(?:(?P<bits>[1-8])bit|(?P<average>\d{1,2}(?:\.\d{1,3})?)bit|"
    r"(?P<codebooks>\d{1,2})x(?P<code_bits>\d{1,2}))(?:-g(?P<group>\d{1,5}))?"
)
_BYTES = re.compile(
    r"(?P<kind>fp8|int8|fp4|int[2-8])-(?:g(?P<group>\d{1,5})|block-(?P<rows>\d{1,5})x(?P<columns>\d{1,5}))"
)

_GROUPED: Mapping[str, Callable[[int, int], NumberFormat]] = {
    "gptq": layouts.gptq,
    "awq": layouts.awq,
    "hqq": lambda bits, group: layouts.grouped("hqq", bits, group, values=2),
    "torchao": lambda bits, group: layouts.grouped("torchao", bits, group, values=2),
    "mlx": lambda bits, group: layouts.grouped("mlx", bits, group, values=2, in_words=False),
}
"""By what a name begins with: a layout of so many bits in groups of so many, 0 for whole rows."""
_AVERAGED: Mapping[str, tuple[Scale, ...]] = {
    "bitnet": (layouts.scalar(layouts.HALF_BYTES),),
    "exl2": (),
    "exl3": layouts.row_and_column_vectors(),
}
_WORDS = (4, 8)
"""Bits that fill words and bytes, as AWQ packs them."""


def named_format(name: str) -> NumberFormat | None:
    """The format of a checkpoint that is said to be stored as *name*; None where no quantiser here calls one so.

    >>> named_format("awq-4bit-g128") == layouts.awq(4, 128), named_format("awq-5bit-g128")
    (True, None)
    """
    if name == "int4-awq":
        return layouts.nibbles(name, Scale(columns=128, bytes=layouts.FLOAT_BYTES))
    found = _of_bits(name) or _of_bytes(name)
    return found if found is not None and found.name == name else None


def _of_bits(name: str) -> NumberFormat | None:
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind, group = match["kind"], int(match["group"] or 0)
    if kind == "aqlm" and match["codebooks"] and group and int(match["code_bits"]) <= 16 and int(match["codebooks"]):
        return layouts.aqlm(group, 1, int(match["codebooks"]), int(match["code_bits"]))
    if kind in _GROUPED and match["bits"] and (kind != "awq" or int(match["bits"]) in _WORDS):
        return _GROUPED[kind](int(match["bits"]), group)
    if kind in _AVERAGED and not match["codebooks"] and 1 <= float(match["average"] or match["bits"]) <= 16:
        return layouts.average_bits(kind, float(match["average"] or match["bits"]), *_AVERAGED[kind])
    return None


def _of_bytes(name: str) -> NumberFormat | None:
    match = _BYTES.fullmatch(name)
    if match is None:
        return None
    kind, group = match["kind"], int(match["group"] or 0)
    if match["rows"] and kind == "fp8" and int(match["rows"]) and int(match["columns"]):
        tile = Scale(rows=int(match["rows"]), columns=int(match["columns"]), bytes=layouts.FLOAT_BYTES)
        return layouts.bytewise(name, tile)
    if not group:
        return None
    if kind == "fp4":
        return layouts.four_bit_floats(group)
    scale = Scale(columns=group, bytes=layouts.HALF_BYTES)
    if kind in ("fp8", "int8"):
        return layouts.bytewise(name, scale)
    return layouts.packed(int(kind.removeprefix("int")), scale)
