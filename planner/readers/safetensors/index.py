"""The index of a sharded checkpoint: which files there are, and how to tell that they hold what it says.

Source: https://huggingface.co/docs/safetensors: ``weight_map`` leads from each tensor's name to its file.
"""

import re
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import BinaryIO

from planner.errors import BadFile
from planner.readers.unique_json import SPACE, load_json
from planner.records import dataclass
from planner.units import format_count, shorten

_SUFFIX = ".safetensors"
_FILE_NAME = re.compile(r"[\w.,+@ -]+\.safetensors")
_MAX_FILES = 10_000
_MAX_BYTES = 2**63
_PIECE_BYTES = 2**18
_MOST_HEAD_BYTES = 2**20
_START = re.compile(rb'"weight_map"S*:S*\{'.replace(b"S*", SPACE))
# An entry as every known writer has it; whatever looks otherwise goes the slower way through a JSON parser.
_ENTRY = re.compile(rb'S*"([^"\\\x00-\x1f]+)"S*:S*"([^"\\\x00-\x1f]+)"S*([,}])'.replace(b"S*", SPACE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How many names there are, and the sum of their hashes: two sets with the same are taken to be one."""

    number: int
    hashes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """*files* with the names of the tensors in each; *total_bytes* is what the index states for all, if it does."""

    files: Mapping[str, Names]
    total_bytes: int | None


def parse_index(text: bytes, what: str) -> Index:
    """The index in *text*; raises BadFile, naming *what*."""
    return read_index(BytesIO(text), what)


def read_index(file: BinaryIO, what: str) -> Index:
    """The same from a file, of which only a piece at a time is in memory if it is written as usual."""
    try:
        return _plain(file, what)
    except _NotPlain:
        file.seek(0)
        weight_map, metadata = load_weight_map(file.read(), what)
    found: dict[str, list[str]] = {}
    for name, shard in weight_map.items():
        found.setdefault(shard, []).append(name)
    files = {shard: names_of(names) for shard, names in sorted(found.items())}
    return Index(files=files, total_bytes=_total_size(metadata, what))


def names_of(names: Iterable[str]) -> Names:
    hashes = [hash(name) for name in names]
    return Names(number=len(hashes), hashes=sum(hashes))


def load_weight_map(text: bytes, what: str) -> tuple[dict[str, str], object]:
    """An index's ``weight_map`` from tensor names to files, and its ``metadata``."""
    index = load_json(text, what)
    weight_map = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(index, dict) or not isinstance(weight_map, dict) or not weight_map:
        raise BadFile(f"{what} has no weight_map from tensor names to files.")
    for name, file in weight_map.items():
        if not isinstance(file, str) or not _FILE_NAME.fullmatch(file):
            raise BadFile(f"{what}: tensor {shorten(name)!r} must be in a {_SUFFIX} file beside the index.")
    files = len(set(weight_map.values()))
    if files > _MAX_FILES:
        raise BadFile(f"{what} names {format_count(files)} files.")
    return weight_map, index.get("metadata")


class _NotPlain(Exception):
    """An index that is written in an unusual way, or is wrong."""


def _plain(file: BinaryIO, what: str) -> Index:
    buffer, start = b"", None
    while start is None:
        piece = file.read(_PIECE_BYTES)
        if not piece or len(buffer) > _MOST_HEAD_BYTES:
            raise _NotPlain
        buffer += piece
        start = _START.search(buffer)
    head, position = buffer[: start.end()], start.end()
    if _mapping(head + b"}}", what).get("weight_map") != {}:
        raise _NotPlain  # another object's
    numbers: dict[bytes, int] = {}
    hashes: dict[bytes, int] = {}
    closed = False
    while not closed:
        while found := _ENTRY.match(buffer, position):
            name, shard, end = found.groups()
            numbers[shard] = numbers.get(shard, 0) + 1
            hashes[shard] = hashes.get(shard, 0) + hash(_text(name))
            position = found.end()
            if end == b"}":
                closed = True
                break
        if not closed:
            buffer, position = _more(file, buffer[position:]), 0
    rest = _mapping(head + b"}" + buffer[position:] + file.read(), what)
    if len(numbers) > _MAX_FILES:
        raise _NotPlain
    files = {_text(shard): Names(number=number, hashes=hashes[shard]) for shard, number in numbers.items()}
    if not all(map(_FILE_NAME.fullmatch, files)):
        raise _NotPlain
    return Index(files=dict(sorted(files.items())), total_bytes=_total_size(rest.get("metadata"), what))


def _mapping(text: bytes, what: str) -> dict[str, object]:
    try:
        found = load_json(text, what)
    except BadFile:
        raise _NotPlain from None
    if not isinstance(found, dict):
        raise _NotPlain
    return found


def _more(file: BinaryIO, rest: bytes) -> bytes:
    piece = file.read(_PIECE_BYTES)
    if not piece or len(rest) > _PIECE_BYTES:
        raise _NotPlain
    return rest + piece


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise _NotPlain from None


def _total_size(metadata: object, what: str) -> int | None:
    """The index's own total in bytes; some writers store it as a float."""
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, (int, float)) or not 0 <= size < _MAX_BYTES:
        raise BadFile(f"{what}: metadata.total_size must be a number of bytes.")
    return int(size)
