"""Safetensors files, sharded folders and indexes to the tensors they hold, from their headers alone."""

import re
from collections.abc import Iterable
from pathlib import Path

from planner.errors import BadFile
from planner.readers.safetensors_header import (
    LENGTH_BYTES,
    MAX_HEADER_BYTES,
    header_length,
    load_json,
    parse_header,
)
from planner.readers.stored_tensors import StoredTensor, StoredTensors
from planner.units import format_count, shorten

INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_SUFFIX = ".safetensors"
_FILE_NAME = re.compile(r"[\w.,+@ -]+\.safetensors")
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
_MAX_SHARDS = 10_000
_MAX_BYTES = 2**63


def read_safetensors(path: str | Path) -> StoredTensors:
    """The tensors of one ``.safetensors`` file, of an index and the shards beside it, or of a folder with either.

    Only headers are read. Shards that an index names and that are not there are listed in the result, with a warning.
    """
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    if path.name.endswith(".index.json"):
        return _read_index(path)
    return StoredTensors(source=path.name, tensors=tuple(_read_file(path)))


def has_safetensors(folder: Path) -> bool:
    """Whether ``read_safetensors`` would find something in *folder*."""
    return (folder / INDEX).is_file() or any(folder.glob(f"*{_SUFFIX}"))


def _read_folder(folder: Path) -> StoredTensors:
    if (folder / INDEX).is_file():
        return _read_index(folder / INDEX)
    names = sorted(file.name for file in folder.glob(f"*{_SUFFIX}"))
    if _SINGLE in names or len(names) == 1:
        name = _SINGLE if _SINGLE in names else names[0]
        return StoredTensors(source=name, tensors=tuple(_read_file(folder / name)))
    if not names:
        raise BadFile(f"Folder {folder.name} has no {_SUFFIX} file and no {INDEX}.")
    shards = [match for name in names if (match := _SHARD.fullmatch(name))]
    sets = {(match[1], int(match[3])) for match in shards}
    if len(shards) != len(names) or len(sets) != 1:
        raise BadFile(
            f"Folder {folder.name} has {len(names)} {_SUFFIX} files and no {INDEX} to say which belong together: "
            "name one file."
        )
    prefix, count = sets.pop()
    if count > _MAX_SHARDS:
        raise BadFile(f"{names[0]} says that it is one of {format_count(count)} shards.")
    wanted = [f"{prefix}-{number:05}-of-{count:05}{_SUFFIX}" for number in range(1, count + 1)]
    return _read_shards(folder, folder.name, wanted)


def read_index_files(text: bytes, what: str) -> list[str]:
    """The files that an index names, in order."""
    return sorted(set(_parse_index(text, what)[0].values()))


def index_total_bytes(text: bytes, what: str) -> int | None:
    """The bytes of all tensors that an index states, if it does."""
    return _total_size(_parse_index(text, what)[1], what)


def _parse_index(text: bytes, what: str) -> tuple[dict[str, str], object]:
    """An index's ``weight_map`` from tensor names to files, and its ``metadata``."""
    index = load_json(text, what, b'.safetensors"')
    weight_map = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(index, dict) or not isinstance(weight_map, dict) or not weight_map:
        raise BadFile(f"{what} has no weight_map from tensor names to files.")
    for name, file in weight_map.items():
        if not isinstance(file, str) or not _FILE_NAME.fullmatch(file):
            raise BadFile(f"{what}: tensor {shorten(name)!r} must be in a {_SUFFIX} file beside the index.")
    files = len(set(weight_map.values()))
    if files > _MAX_SHARDS:
        raise BadFile(f"{what} names {format_count(files)} files.")
    return weight_map, index.get("metadata")


def _read_index(path: Path) -> StoredTensors:
    """The shards that *path* names; its ``weight_map`` says which tensor is in which."""
    weight_map, metadata = _parse_index(_read_text(path), path.name)
    stored = _read_shards(path.parent, path.name, sorted(set(weight_map.values())))
    missing = set(stored.missing_files)
    names_only = tuple(name for name, file in weight_map.items() if file in missing)
    for name in weight_map.keys() - {tensor.name for tensor in stored} - set(names_only):
        raise BadFile(f"{path.name} says that {shorten(name)!r} is in {weight_map[name]}, which does not have it.")
    return StoredTensors(
        source=stored.source,
        tensors=stored.tensors,
        names_only=names_only,
        missing_files=stored.missing_files,
        index_bytes=_total_size(metadata, path.name),
        warnings=stored.warnings,
    )


def _read_shards(folder: Path, source: str, files: Iterable[str]) -> StoredTensors:
    tensors: list[StoredTensor] = []
    missing = []
    for file in files:
        if (folder / file).is_file():
            tensors += _read_file(folder / file)
        else:
            missing.append(file)
    names: set[str] = set()
    for tensor in tensors:
        if tensor.name in names:
            raise BadFile(f"{source}: tensor {shorten(tensor.name)!r} is in two files.")
        names.add(tensor.name)
    warnings = (missing_sentence(source, missing),) if missing else ()
    return StoredTensors(source=source, tensors=tuple(tensors), missing_files=tuple(missing), warnings=warnings)


def missing_sentence(source: str, missing: Iterable[str]) -> str:
    """What it means that the *missing* files of *source* are not there."""
    names = list(missing)
    listed = ", ".join(names[:3]) + (f" and {format_count(len(names) - 3)} more" if len(names) > 3 else "")
    return f"{source} is incomplete: {listed} not found, so the shapes and bytes of their tensors are not known."


def _total_size(metadata: object, what: str) -> int | None:
    """The index's own total in bytes; some writers store it as a float."""
    size = metadata.get("total_size") if isinstance(metadata, dict) else None
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, (int, float)) or not 0 <= size < _MAX_BYTES:
        raise BadFile(f"{what}: metadata.total_size must be a number of bytes.")
    return int(size)


def _read_text(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if (size := path.stat().st_size) > MAX_HEADER_BYTES:
                raise BadFile(f"{path.name} is longer than {format_count(MAX_HEADER_BYTES)} bytes: it is not an index.")
            return file.read(size)
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror}.") from None


def _read_file(path: Path) -> list[StoredTensor]:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            length = header_length(file.read(LENGTH_BYTES), path.name)
            if LENGTH_BYTES + length > size:
                raise BadFile(f"{path.name} is cut short: its header of {format_count(length)} bytes is not all there.")
            text = file.read(length)
    except OSError as error:
        raise BadFile(f"{path.name} cannot be read: {error.strerror}.") from None
    return parse_header(text, size - LENGTH_BYTES - length, path.name)
