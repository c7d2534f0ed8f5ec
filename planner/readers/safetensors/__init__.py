"""Safetensors files, sharded folders and indexes to the tensors they hold, from their headers alone."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from planner.errors import BadFile
from planner.readers.safetensors.header import LENGTH_BYTES, MAX_HEADER_BYTES, header_length, read_header
from planner.readers.safetensors.index import Names, load_weight_map, read_index
from planner.readers.stored_tensors import StoredTensors, TensorTable
from planner.units import format_count, shorten

INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_SUFFIX = ".safetensors"
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
_MAX_SHARDS = 10_000


def read_safetensors(path: str | Path) -> StoredTensors:
    """The tensors of one ``.safetensors`` file, of an index and the shards beside it, or of a folder with either.

    A file that is one of several parts by its name stands for all of them.

    Only headers are read. Shards that an index names and that are not there are listed in the result, with a warning.
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    if path.name.endswith(".index.json"):
        return _read_index(path)
    parts = part_names(path.name)
    if len(parts) > 1:
        return _read_shards(path.parent, path.name, parts)[0]
    return StoredTensors(source=path.name, groups=_read_file(path).groups())


def part_names(name: str) -> list[str]:
    """All parts of the checkpoint that the file *name* is one of, by its name; itself where it is whole."""
    match = _SHARD.fullmatch(name)
    if match is None:
        return [name]
    count = int(match[3])
    if count > _MAX_SHARDS:
        raise BadFile(f"{name} says that it is one of {format_count(count)} shards.")
    return [f"{match[1]}-{number:05}-of-{match[3]}{_SUFFIX}" for number in range(1, count + 1)] or [name]


def has_safetensors(folder: Path) -> bool:
    """Whether ``read_safetensors`` would find something in *folder*."""
    return (folder / INDEX).is_file() or any(folder.glob(f"*{_SUFFIX}"))


def _read_folder(folder: Path) -> StoredTensors:
    if (folder / INDEX).is_file():
        return _read_index(folder / INDEX)
    names = sorted(file.name for file in folder.glob(f"*{_SUFFIX}"))
    if _SINGLE in names or len(names) == 1:
        return read_safetensors(folder / (_SINGLE if _SINGLE in names else names[0]))
    if not names:
        raise BadFile(f"Folder {folder.name} has no {_SUFFIX} file and no {INDEX}.")
    shards = [match for name in names if (match := _SHARD.fullmatch(name))]
    sets = {(match[1], int(match[3])) for match in shards}
    if len(shards) != len(names) or len(sets) != 1:
        raise BadFile(
            f"Folder {folder.name} has {len(names)} {_SUFFIX} files and no {INDEX} to say which belong together: "
            "name one file."
        )
    return _read_shards(folder, folder.name, part_names(names[0]))[0]


def _read_index(path: Path) -> StoredTensors:
    """The shards that *path* names, each of which must have the tensors that it says."""
    with _opened(path) as file:
        _check_index_length(path)
        index = read_index(file, path.name)
    stored, names = _read_shards(path.parent, path.name, index.files)
    present = [held for shard, held in index.files.items() if shard not in stored.missing_files]
    if names != Names(number=sum(held.number for held in present), hashes=sum(held.hashes for held in present)):
        _check_names(path, stored)
    return stored


def _check_index_length(path: Path) -> None:
    if path.stat().st_size > MAX_HEADER_BYTES:
        raise BadFile(f"{path.name} is longer than {format_count(MAX_HEADER_BYTES)} bytes: it is not an index.")


def _check_names(path: Path, stored: StoredTensors) -> None:
    """Raise for a tensor that *stored* lacks; files may hold more than their index says."""
    with _opened(path) as file:
        weight_map, _ = load_weight_map(file.read(), path.name)
    found = {tensor.name for tensor in stored}
    for name, shard in weight_map.items():
        if name not in found and shard not in stored.missing_files:
            raise BadFile(f"{path.name} says that {shorten(name)!r} is in {shard}, which does not have it.")


def _read_shards(folder: Path, source: str, files: Iterable[str]) -> tuple[StoredTensors, Names]:
    table = TensorTable()
    missing = []
    for file in files:
        if (folder / file).is_file():
            table.merge(_read_file(folder / file))
        else:
            missing.append(file)
    repeated = table.repeated()
    if repeated is not None:
        raise BadFile(f"{source}: tensor {shorten(repeated)!r} is in two files.")
    warnings = (missing_sentence(source, missing),) if missing else ()
    stored = StoredTensors(source=source, groups=table.groups(), missing_files=tuple(missing), warnings=warnings)
    return stored, Names(number=table.number, hashes=table.hashes)


def missing_sentence(source: str, missing: Iterable[str]) -> str:
    """What it means that the *missing* files of *source* are not there."""
    names = list(missing)
    listed = ", ".join(names[:3]) + (f" and {format_count(len(names) - 3)} more" if len(names) > 3 else "")
    return f"{source} is incomplete: {listed} not found, so the shapes and bytes of their tensors are not known."


def _read_file(path: Path) -> TensorTable:
    with _opened(path) as file:
        size = path.stat().st_size
        length = header_length(file.read(LENGTH_BYTES), path.name)
        if LENGTH_BYTES + length > size:
            raise BadFile(f"{path.name} is cut short: its header of {format_count(length)} bytes is not all there.")
        return read_header(file, length, size - LENGTH_BYTES - length, path.name)


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror}.") from None
