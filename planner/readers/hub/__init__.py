"""A model's description from Hugging Face: its configs whole, of its weights only the headers.

``huggingface_hub`` does the transport, keeps what was fetched, and finds the token where it always is. Everything is
read as data: no code of a model runs, nothing is unpickled, and no more than headers of its weights is asked for.
"""

import json
import re
from array import array
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from planner.borders import validate
from planner.errors import BadFile, PlannerError, UnknownName, Unreachable
from planner.readers.hub.ranges import TIMEOUT_S, read_range
from planner.readers.json_text import MAX_JSON_BYTES
from planner.readers.quantization.stated import SIBLINGS
from planner.readers.safetensors import INDEX
from planner.readers.safetensors.header import LENGTH_BYTES, header_length, parse_header
from planner.readers.safetensors.index import parse_index
from planner.readers.stored_tensors import DTYPE_BITS, StoredTensors, TensorTable
from planner.records import dataclass
from planner.units import MIB

if TYPE_CHECKING:
    from huggingface_hub import ModelInfo

CONFIG = "config.json"
_SINGLE = "model.safetensors"
_ID = re.compile(r"\w(?:[\w.-]{0,94}\w)?/\w(?:[\w.-]{0,94}\w)?", re.ASCII)
_NOT_IN_IDS = re.compile(r"--|\.\.|\.git$")
_COMMIT = re.compile(r"[\w.-]{1,64}", re.ASCII)
_NEWEST = "newest"
"""The commit that was read last, and how many files its weights are in."""
_CONNECTIONS = 8
_MAX_INDEX_BYTES = 64 * MIB
_FIRST_BYTES = 128 * 1024
"""Asked for at once: most headers end within it, so that a second request is rare."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """What was read of one commit: *config* and, where it has one, *quantization* as text.

    *stored* is ``None`` for a model without safetensors.
    """

    repo_id: str
    commit: str
    config: bytes
    quantization: bytes | None
    stored: StoredTensors | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The names of a repository's files at one commit."""

    repo_id: str
    commit: str
    names: frozenset[str]


def is_hub_id(name: str) -> bool:
    """Whether *name* has the form ``organisation/model``, as the hub takes it."""
    return _ID.fullmatch(name) is not None and _NOT_IN_IDS.search(name) is None


def cached_folder(repo_id: str) -> Path | None:
    """The snapshot of *repo_id* that this machine already has, if it has its config; no network."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo_id, CONFIG)
    return Path(found).parent if isinstance(found, str) else None


def list_files(repo_id: str, endpoint: str | None = None) -> Listing:
    """What *repo_id* has on the hub at *endpoint*; raises PlannerError where it is not there, gated or out of reach."""
    from huggingface_hub import HfApi

    def described() -> "ModelInfo":
        try:
            return HfApi(endpoint=endpoint).model_info(repo_id, timeout=TIMEOUT_S)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            # a page for people, or another kind of JSON
            raise _no_description(repo_id) from error

    info = asked(repo_id, described)
    commit, names = info.sha or "main", frozenset(sibling.rfilename for sibling in info.siblings or ())
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit) or not all(isinstance(name, str) for name in names):
        raise _no_description(repo_id)
    return Listing(repo_id=repo_id, commit=commit, names=names)


def fetch(repo_id: str, endpoint: str | None = None, listing: Listing | None = None) -> HubModel:
    """*repo_id* from the hub at *endpoint*, the public one unless the environment names another.

    *listing* is what it has, where that was asked for before. Raises PlannerError for a model that is not there, is
    gated, has no config, or cannot be reached.
    """
    listing = listing or list_files(repo_id, endpoint)
    names, commit = listing.names, listing.commit

    def text(name: str) -> bytes:
        return asked(repo_id, lambda: _text(repo_id, commit, name, endpoint))

    if CONFIG not in names:
        raise BadFile(f"{repo_id} has no {CONFIG} on the hub; name a repository that has the model itself.")
    shards = [*parse_index(text(INDEX), INDEX).files] if INDEX in names else [_SINGLE] if _SINGLE in names else []
    found = HubModel(
        repo_id=repo_id,
        commit=commit,
        config=text(CONFIG),
        quantization=next((text(name) for name in SIBLINGS if name in names), None),
        stored=_headers(repo_id, commit, shards, endpoint) if shards else None,
    )
    _assets(repo_id).joinpath(_NEWEST).write_text(f"{commit} {len(shards)}", encoding="utf-8")
    return found


def _text(repo_id: str, commit: str, name: str, endpoint: str | None) -> bytes:
    """A text file, kept for the next time; raises BadFile, before any of it is sent, for one that is too large."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache

    if not isinstance(try_to_load_from_cache(repo_id, name, revision=commit), str):
        url = hf_hub_url(repo_id, name, revision=commit, endpoint=endpoint)
        size = get_hf_file_metadata(url, timeout=TIMEOUT_S, endpoint=endpoint).size
        most = _MAX_INDEX_BYTES if name == INDEX else MAX_JSON_BYTES
        if size is None or size > most:
            said = "of no stated length" if size is None else f"{size / MIB:,.0f} MiB long"
            raise BadFile(f"{name} of {repo_id} is {said}: of such a file no more than {most // MIB} MiB is read.")
    return Path(hf_hub_download(repo_id, name, revision=commit, endpoint=endpoint)).read_bytes()


def kept(repo_id: str) -> HubModel | None:
    """What the last ``fetch`` of *repo_id* read, where all of it is still here; no network."""
    from huggingface_hub import try_to_load_from_cache

    def text(name: str) -> bytes | None:
        path = try_to_load_from_cache(repo_id, name, revision=commit)
        return Path(path).read_bytes() if isinstance(path, str) else None

    try:
        commit, _, shards = _assets(repo_id).joinpath(_NEWEST).read_text(encoding="utf-8").partition(" ")
        config = text(CONFIG)
        stored = _kept(_assets(repo_id) / f"{commit}.json") if shards != "0" else None
    except (OSError, ValueError, OverflowError, PlannerError):
        return None
    if config is None:
        return None
    quantization = next((found for found in map(text, SIBLINGS) if found is not None), None)
    return HubModel(repo_id=repo_id, commit=commit, config=config, quantization=quantization, stored=stored)


def _assets(repo_id: str) -> Path:
    """The folder in which headers are kept."""
    from huggingface_hub import cached_assets_path

    return cached_assets_path("kvbudget", namespace=repo_id, subfolder="headers")


def _headers(repo_id: str, commit: str, shards: Iterable[str], endpoint: str | None) -> StoredTensors:
    """The tensors of *shards* by range requests, kept under the commit's name: a commit never changes."""
    file = _assets(repo_id) / f"{commit}.json"
    if file.is_file():
        try:
            return _kept(file)
        except (ValueError, OverflowError, PlannerError):
            file.unlink()  # written by another version, or damaged: read again
    table = TensorTable()
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        found = pool.map(lambda name: asked(repo_id, lambda: _header(repo_id, commit, name, endpoint)), shards)
        for shard in found:
            table.merge(shard)
    stored = StoredTensors(source=f"{repo_id} at {commit[:12]}", groups=table.groups())
    file.write_text(json.dumps(asdict(stored), default=list), encoding="utf-8")
    return stored


def _kept(file: Path) -> StoredTensors:
    stored = validate(StoredTensors, json.loads(file.read_bytes()), file.name)
    if any(group.dtype not in DTYPE_BITS or min((0, *group.shape, *group.packed)) < 0 for group in stored.groups):
        raise ValueError(file.name)
    groups = tuple(replace(group, packed=array("q", group.packed)) for group in stored.groups)
    return replace(stored, groups=groups)


def _header(repo_id: str, commit: str, name: str, endpoint: str | None) -> TensorTable:
    from huggingface_hub import hf_hub_url

    url = hf_hub_url(repo_id, name, revision=commit, endpoint=endpoint)
    start, size = read_range(url, 0, _FIRST_BYTES)
    length = header_length(start[:LENGTH_BYTES], name)
    end = LENGTH_BYTES + length
    if len(start) < end <= size:
        rest, _ = read_range(url, len(start), end, size)
        start += rest
    return parse_header(start[LENGTH_BYTES:end], size - end, name)


def asked(repo_id: str, question: Callable[[], T]) -> T:
    """The answer to *question*, its failures as one sentence. Tokens and addresses never appear in it."""
    from huggingface_hub import errors

    try:
        return question()
    except errors.GatedRepoError as error:
        raise PlannerError(
            f"{repo_id} is gated: accept its terms on its page, then log in with 'hf auth login' or set HF_TOKEN."
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise UnknownName(
            f"Hugging Face shows no model {repo_id!r}; check its name, or log in if it is private."
        ) from error
    except errors.OfflineModeIsEnabled as error:
        raise Unreachable(
            f"{repo_id} was not asked for: HF_HUB_OFFLINE is set; unset it to read from the hub."
        ) from error
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError, ValueError) as error:
        # ValueError: huggingface_hub takes what headers and bodies say for lengths, addresses and JSON, whatever it is.
        raise _unreachable(repo_id, error) from error
    except Exception as error:  # the transport library's own errors: httpx and its forks share no base with OSError
        if _is_transport(error):
            raise _unreachable(repo_id, error) from error
        raise


def _no_description(repo_id: str) -> BadFile:
    return BadFile(f"The server's answer on {repo_id} does not describe a model; check the address it is asked at.")


def _is_transport(error: Exception) -> bool:
    return any(base.__name__ == "HTTPError" and base.__module__.startswith("httpx") for base in type(error).__mro__)


def _unreachable(repo_id: str, error: Exception) -> Unreachable:
    status = getattr(getattr(error, "response", None), "status_code", None)
    reason = f"it answered {status}" if status else _reason(type(error).__name__)
    return Unreachable(
        f"{repo_id} could not be read from Hugging Face: {reason}. Presets and local files need no network."
    )


def _reason(kind: str) -> str:
    """In words what an error of a *kind* means, the commonest of the transport's."""
    if "Timeout" in kind:
        return f"no answer within {TIMEOUT_S} s"
    return "there is no connection to it" if "Connect" in kind or kind == "LocalEntryNotFoundError" else kind
