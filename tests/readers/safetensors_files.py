"""Safetensors files for the tests, written by hand: a true header over a sparse body."""

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path

from planner.readers.stored_tensors import DTYPE_BITS

Shapes = Mapping[str, tuple[str, tuple[int, ...]]]
"""Name to dtype and shape."""


def header(tensors: Shapes) -> tuple[bytes, int]:
    """The JSON that describes *tensors* one after another, and the bytes they take."""
    entries, end = {}, 0
    for name, (dtype, shape) in tensors.items():
        start, end = end, end + prod(shape) * DTYPE_BITS[dtype] // 8
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    return json.dumps(entries).encode(), end


def write(path: Path, tensors: Shapes) -> int:
    """Write *tensors* to *path* without their values; returns their bytes."""
    text, size = header(tensors)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + size)
    return size


def write_index(path: Path, weight_map: Mapping[str, str], total_size: int | None = None) -> None:
    index: dict[str, object] = {"weight_map": dict(weight_map)}
    if total_size is not None:
        index["metadata"] = {"total_size": total_size}
    path.write_text(json.dumps(index))
