"""A GGUF file, or the first part of a split one, to an Architecture with exactly its tensors."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from planner.architecture import Architecture
from planner.errors import BadFile
from planner.readers.gguf.header import GgufHeader, Value, read_header
from planner.readers.gguf.knowledge import GgufKnowledge
from planner.readers.gguf.model import read_model
from planner.units import format_count

PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)
_MAX_PARTS = 1000


def read_gguf(path: str | Path, knowledge: GgufKnowledge) -> Architecture:
    """The model in the GGUF file at *path*; of a split file any part may be named, and all must be there.

    Only headers are read. Raises BadFile for a file that is not what it says, UnsupportedModel for a model whose cache
    is not understood.
    """
    path = Path(path)
    header = join_parts(path.name, lambda name: _read_part(path.with_name(name), knowledge))
    return read_model(header, knowledge, name=path.stem, source=path.name)


def join_parts(name: str, read_part: Callable[[str], GgufHeader]) -> GgufHeader:
    """The header of the file *name*, with the tensors of all its parts if it is split.

    *read_part* reads the header of a file in the same folder by its name.
    """
    header = read_part(name)
    count = _split_number(header, "split.count", 1)
    if count <= 1:
        return header
    if count > _MAX_PARTS:
        raise BadFile(f"{name} says that it is split into {format_count(count)} parts.")
    named = PART.fullmatch(name)
    if named is None or int(named[3]) != count:
        raise BadFile(f"{name} is one of {count} parts and must be named as such, like model-00001-of-{count:05}.gguf.")
    parts = []
    for number in range(count):
        other = f"{named[1]}-{number + 1:05}-of-{count:05}.gguf"
        part = header if other == name else read_part(other)
        if _split_number(part, "split.count", 1) != count or _split_number(part, "split.no", -1) != number:
            raise BadFile(f"{other} does not say that it is part {number + 1} of {count}.")
        parts.append(part)
    tensors = tuple(tensor for part in parts for tensor in part.tensors)
    if len({tensor.name for tensor in tensors}) != len(tensors):
        raise BadFile(f"{name}: two of its parts have the same tensor.")
    total = _split_number(parts[0], "split.tensors.count", len(tensors))
    if total != len(tensors):
        raise BadFile(
            f"{name}: its parts have {format_count(len(tensors))} tensors and should have {format_count(total)}."
        )
    return replace(parts[0], tensors=tensors)


def _split_number(header: GgufHeader, key: str, default: int) -> int:
    value: Value = header.metadata.get(key, default)
    if type(value) is not int:
        raise BadFile(f"{header.what}: key {key!r} must be a whole number.")
    return value


def _read_part(path: Path, knowledge: GgufKnowledge) -> GgufHeader:
    try:
        with path.open("rb") as file:
            return read_header(file, path.stat().st_size, path.name, knowledge.types)
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror}.") from None
