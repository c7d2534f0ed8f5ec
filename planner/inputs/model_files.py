"""A model's own files to an Architecture: which file is read how, and what stands beside it."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner import presets
from planner.addresses import bare_name, is_address, revision_in
from planner.architecture import Architecture
from planner.catalogue.library_names import other_meaning
from planner.errors import BadFile, PlannerError, UnknownName, Unreachable
from planner.preset_files import nearest
from planner.presets import ModelPreset
from planner.printable import printable
from planner.readers.hf_config import read_config
from planner.readers.json_text import MAX_JSON_BYTES, parse_json
from planner.readers.quantization.stated import SIBLINGS
from planner.spelled_names import plain
from planner.units import shorten, shorten_path

if TYPE_CHECKING:
    from planner.readers.hub import HubModel

CONFIG = "config.json"
SAFETENSORS = ".safetensors"
GGUF = ".gguf"


def load_model(name: str, online: bool = False) -> Architecture:
    """The architecture behind *name*: a preset's name or alias, a file, a folder, or a Hugging Face id.

    Files are a ``config.json``, a ``.gguf``, a ``.safetensors`` or its index, a folder with these. An id, or its page's
    address, is looked up among the presets, then in this machine's own cache, and on the hub only if *online*;
    ``organisation/model:Q4_K_M`` names one of its GGUF files. Raises PlannerError.
    """
    bare, path = bare_name(name), os.path.expanduser(name)
    if bare == name.strip() and _is_file_name(path):
        try:
            return fit_to_print(load_path(Path(path)))
        except OSError as error:
            raise BadFile(f"{shorten_path(Path(path))} cannot be read: {error.strerror or error}.") from error
    try:
        found = presets.load_preset(known_model(bare).name)
    except UnknownName:
        if "/" not in bare:
            raise
        return fit_to_print(_load_hub(bare, online))
    said = other_meaning(bare)
    return replace(found, warnings=(*found.warnings, said)) if said else found


def known_model(name: str) -> ModelPreset:
    """The preset that *name* means; raises UnknownName with the one that it is like, or with what it is instead."""
    try:
        return presets.find_model(name)
    except UnknownName as error:
        bare = bare_name(name)
        if said := other_kind(bare):
            raise UnknownName(f"Model {shorten(bare)!r} by its name {said}.") from error
        raise UnknownName(f"{error}{_named_like(bare)}") from error


def fit_to_print(architecture: Architecture) -> Architecture:
    """*architecture* with every text that its files gave it fit for a terminal and a page."""
    texts = {key: printable(getattr(architecture, key)) for key in ("name", "title", "model_type", "source")}
    return replace(architecture, **texts, warnings=tuple(map(printable, architecture.warnings)))  # type: ignore[arg-type]


def load_path(path: Path) -> Architecture:
    """The architecture of a file or folder; weights exactly as stored where its safetensors headers are there too."""
    if path.is_dir():
        return _load_folder(path, path)
    _check_regular(path)
    if path.name.lower().endswith(GGUF):
        from planner.readers.gguf import read_gguf

        return read_gguf(path, presets.gguf_knowledge())
    if path.name.endswith((SAFETENSORS, f"{SAFETENSORS}.index.json")):
        return _load_folder(path.parent, path)
    title = Path(os.path.abspath(path)).parent.name if path.name == CONFIG else path.stem
    sibling = _read_sibling(path.parent) if path.name == CONFIG else None
    return read_config_text(_read_text(path), title, path.name, sibling)


def read_config_text(
    text: str | bytes, title: str, file: str = CONFIG, quantization: str | bytes | None = None
) -> Architecture:
    """The architecture of a ``config.json`` given as *text*; *file* is its name in complaints.

    *quantization* is the text of the file beside it that says how it is quantised, where there is one.
    """
    return read_config(
        parse_json(text, file),
        presets.knowledge(),
        name=title,
        title=title,
        source="tensor shapes of the given config",
        quantization=None if quantization is None else parse_json(quantization, SIBLINGS[0]),
    )


def _load_folder(folder: Path, weights: Path) -> Architecture:
    from planner.readers.checkpoint.tensors import with_file_tensors
    from planner.readers.safetensors import has_safetensors, read_safetensors

    if not folder.is_dir():
        raise BadFile(f"{shorten_path(folder)} cannot be read: there is no such folder.")
    sibling = _read_sibling(folder)
    title = Path(os.path.abspath(folder)).name
    if not (folder / CONFIG).exists():
        _offer_gguf(folder)
    architecture = read_config_text(_read_text(folder / CONFIG), title, quantization=sibling)
    if weights == folder and not has_safetensors(folder):
        return architecture
    return with_file_tensors(architecture, read_safetensors(weights))


def _offer_gguf(folder: Path) -> None:
    """Say that a folder without a config has files that need none."""
    files = sorted(file.name for file in folder.iterdir() if file.name.lower().endswith(GGUF))
    if files:
        raise BadFile(f"{shorten_path(folder)} has no {CONFIG}, but GGUF files: name one, such as {shorten(files[0])}.")


def _load_hub(name: str, online: bool) -> Architecture:
    from planner.readers import hub
    from planner.readers.hub.endpoint import check_environment

    repo_id, _, quantization = name.partition(":")
    if Path(name).is_file():
        raise BadFile(
            f"Model {shorten(name)!r} is not known: the file's name must end in .json, .gguf, .safetensors or "
            ".safetensors.index.json."
        )
    if is_address(name):
        raise BadFile(
            f"{shorten(name)!r} is no address of a model; give its id, such as organisation/model, or its files."
        )
    if revision := revision_in(repo_id):
        raise PlannerError(
            f"{shorten(name)!r} asks for the revision {shorten(revision)}, and only the newest is read: leave it out, "
            "or give the files of that one."
        )
    if not hub.is_hub_id(repo_id):
        said = _named_like(name)
        see = f".{said}" if said else "; see kvbudget models."
        raise BadFile(f"Model {shorten(name)!r} is not known: neither a preset nor a file{see}")
    check_environment()
    folder = None if quantization else hub.cached_folder(repo_id)
    if folder is not None:
        return _load_folder(folder, folder)
    read_before = None if quantization else hub.kept(repo_id)
    if not online and read_before is not None:
        return _of_hub(read_before, name)
    if not online and (guessed := _guess(name)) is not None:
        return guessed
    if not online:
        if said := other_kind(repo_id):
            raise UnknownName(f"Model {shorten(name)!r} by its name {said}.")
        raise PlannerError(
            f"{shorten(name)!r} is not among the presets; add --online to read its config from Hugging Face. "
            f"Nothing is fetched otherwise.{_named_like(name) or _nearest(repo_id)}"
        )
    try:
        listing = hub.list_files(repo_id)
    except Unreachable:
        if read_before is None:
            raise
        architecture = _of_hub(read_before, name)
        said = f"Hugging Face could not be asked: this is commit {read_before.commit[:12]}, as it was read before."
        return replace(architecture, warnings=(*architecture.warnings, said))
    if quantization or CONFIG not in listing.names:
        from planner.readers.hub.gguf import fetch_gguf, has_gguf

        if quantization or has_gguf(listing):
            return fetch_gguf(listing, quantization, presets.gguf_knowledge())
    return _of_hub(hub.fetch(repo_id, listing=listing), name)


def _guess(name: str) -> Architecture | None:
    """A preset's layers in the one format that the *name* of a repository says, where it is a preset's but for that."""
    from planner.catalogue.checkpoint_ids import identify
    from planner.catalogue.guessed_formats import in_format

    model, weights = identify(name) or (None, None)
    return None if model is None or weights is None else in_format(name, model, weights)


def _of_hub(found: "HubModel", name: str) -> Architecture:
    from planner.readers.checkpoint.tensors import with_file_tensors

    architecture = read_config_text(found.config, name, quantization=found.quantization)
    return architecture if found.stored is None else with_file_tensors(architecture, found.stored)


def other_kind(name: str) -> str:
    """What a model of that *name* is, as the end of a sentence, where by its name it is none that can be planned."""
    from planner.catalogue.checkpoint_ids import identify, named_within

    if identify(name, is_tuned=True) or named_within(name):
        return ""
    return presets.unknown_rules().kind_by_name(plain(name.partition(":")[0].rpartition("/")[2]))


def _named_like(name: str) -> str:
    """What to ask for instead where a checkpoint's name is a preset's but for its organisation, format or tuning."""
    from planner.catalogue.checkpoint_ids import identify

    is_exact = identify(name)
    found = is_exact or identify(name, is_tuned=True)
    if found is None:
        return ""
    preset, weights = found
    said = "it is a preset" if is_exact else "it may be tuned from a preset"
    return f" By its name {said}: --model {preset}{f' --weights {weights}' if weights else ''}."


def _nearest(repo_id: str) -> str:
    """The presets whose names are most like that of a repository which is none of them."""
    near = nearest(plain(repo_id.rpartition("/")[2]), [preset.name for preset in presets.models()], alike=0.7)
    return f" The nearest of them: {', '.join(near)}." if near else ""


def _is_file_name(name: str) -> bool:
    """Whether *name* can only be a file or folder: it has a file's ending, or is a folder that is there."""
    if name.lower().endswith((".json", SAFETENSORS, GGUF)):
        return True
    try:
        return bool(name.strip()) and Path(name).is_dir()
    except (OSError, ValueError):
        return False


def _read_sibling(folder: Path) -> bytes | None:
    """The quantisation that a tool describes in a file of its own, which is checked to be one."""
    file = next((folder / name for name in SIBLINGS if (folder / name).is_file()), None)
    text = None if file is None else _read_text(file)
    if file is not None and text is not None:
        parse_json(text, file.name)
    return text


def _check_regular(file: Path) -> None:
    """A pipe could keep a reader waiting for ever."""
    if file.exists() and not file.is_file():
        raise BadFile(f"{shorten_path(file)} is no regular file; a model is read from files and folders.")


def _read_text(file: Path) -> bytes:
    _check_regular(file)
    try:
        with file.open("rb") as stream:
            return stream.read(min(os.fstat(stream.fileno()).st_size, MAX_JSON_BYTES) + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadFile(f"{shorten_path(file)} cannot be read: {reason}.") from error
