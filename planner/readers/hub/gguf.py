"""A GGUF file on the hub, by the beginning of it: which of a repository's files is meant, and its header by ranges."""

import re
from pathlib import PurePosixPath

from planner.architecture import Architecture
from planner.errors import BadFile
from planner.readers.gguf import PART, join_parts
from planner.readers.gguf.header import GgufHeader, read_header
from planner.readers.gguf.knowledge import GgufKnowledge
from planner.readers.gguf.model import read_model
from planner.readers.hub import Listing, asked
from planner.readers.hub.ranges import read_range
from planner.units import MIB, shorten

GGUF = ".gguf"
_NOT_MODELS = re.compile(r"(^|[-_.])(mmproj|imatrix|ggml-vocab|mtp|draft)([-_.]|$)", re.IGNORECASE)
_SHOWN = 12


def has_gguf(listing: Listing) -> bool:
    """Whether the repository has models as GGUF files."""
    return bool(_models(listing))


def fetch_gguf(
    listing: Listing, quantization: str, knowledge: GgufKnowledge, endpoint: str | None = None
) -> Architecture:
    """The one GGUF model of *listing*, or the one whose name holds *quantization*, as in ``Q4_K_M``.

    Only its header is asked for, a window at a time. Raises BadFile where none or several are meant, with their names.
    """
    name = _chosen(listing, quantization)
    path = PurePosixPath(name)

    def read_part(part: str) -> GgufHeader:
        return _header(listing, str(path.with_name(part)), knowledge, endpoint)

    header = join_parts(path.name, read_part)
    return read_model(header, knowledge, name=path.stem, source=f"{listing.repo_id} at {listing.commit[:12]}: {name}")


def _models(listing: Listing) -> dict[str, str]:
    """Each model's first file by its name without the numbers of parts."""
    models: dict[str, str] = {}
    for name in sorted(listing.names):
        path = PurePosixPath(name)
        if path.suffix.lower() != GGUF or _NOT_MODELS.search(path.stem):
            continue
        part = PART.fullmatch(path.name)
        models.setdefault(str(path.with_name(part[1])) if part else str(path.with_suffix("")), name)
    return models


def _chosen(listing: Listing, quantization: str) -> str:
    models = _models(listing)
    wanted = re.compile(rf"(^|[-_./]){re.escape(quantization)}([-_./]|$)", re.IGNORECASE)
    found = [file for name, file in models.items() if not quantization or wanted.search(name)]
    if len(found) == 1:
        return found[0]
    named = ", ".join(shorten(PurePosixPath(name).name) for name in [*models][:_SHOWN])
    more = f" and {len(models) - _SHOWN} more" if len(models) > _SHOWN else ""
    example = f"{listing.repo_id}:Q4_K_M"
    if not models:
        raise BadFile(f"{listing.repo_id} has no model as a GGUF file.")
    if not found:
        raise BadFile(f"{listing.repo_id} has no GGUF file for {shorten(quantization)!r}; it has {named}{more}.")
    raise BadFile(f"{listing.repo_id} has several GGUF files; say which, as in {example}: {named}{more}.")


def _header(listing: Listing, name: str, knowledge: GgufKnowledge, endpoint: str | None) -> GgufHeader:
    if name not in listing.names:
        raise BadFile(f"{listing.repo_id} has not all parts: {shorten(name)} is missing.")
    file = _RemoteFile(listing, name, endpoint)
    return read_header(file, file.size, PurePosixPath(name).name, knowledge.types)  # type: ignore[arg-type]


class _RemoteFile:
    """What a header's reader needs of a file: a position, and bytes from there on."""

    def __init__(self, listing: Listing, name: str, endpoint: str | None) -> None:
        from huggingface_hub import hf_hub_url

        self._repo_id = listing.repo_id
        self._url = hf_hub_url(listing.repo_id, name, revision=listing.commit, endpoint=endpoint)
        self._at = 0
        self._first, self.size = self._range(0, MIB, None)

    def seek(self, position: int) -> int:
        self._at = position
        return position

    def read(self, count: int) -> bytes:
        end = min(self._at + count, self.size)
        if end <= len(self._first):
            return self._first[self._at : end]
        return self._range(self._at, end, self.size)[0] if self._at < end else b""

    def _range(self, start: int, end: int, size: int | None) -> tuple[bytes, int]:
        return asked(self._repo_id, lambda: read_range(self._url, start, end, size))
