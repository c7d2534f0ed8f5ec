"""Where the files of a model in one format are had: Ollama's library, a repository of GGUF files, or nowhere known."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from planner.addresses import bare_name
from planner.errors import UnknownName
from planner.ollama_tags import LATEST
from planner.preset_files import PRESETS, load_toml
from planner.presets import ModelPreset, find_model, ollama_name

_HUB_ADDRESS = "hf.co/"
OF_THE_HUB = (
    "hf.co/ names a file of the Hub: Ollama does not load every newer model's (unable to load model); a tag of its own "
    "library it does."
)
USUAL = "q4_k_m"
"""The type of a file of which nothing is known but its name."""


@cache
def _data() -> Mapping[str, Any]:
    return load_toml(PRESETS / "downloads.toml")


def hub_id(model: str) -> str:
    """The id on the Hugging Face Hub where a preset knows one, else the name as it was given."""
    preset = _preset(model)
    return next((alias for alias in preset.aliases if "/" in alias), model) if preset else bare_name(model)


def ollama_tag(model: str, weights: str) -> str | None:
    """The name in Ollama's library of *model* in *weights*.

    >>> ollama_tag("llama-3.1-8b", "q5_k_m")
    'llama3.1:8b-instruct-q5_K_M'
    """
    base = _base_tag(model)
    entry = {} if base is None else _library(base)
    if file := entry.get("files", {}).get(weights):
        return str(file)
    if base is not None and weights in _types(entry):
        stem = f"{base}{entry.get('variant', '')}-".removesuffix(f"{LATEST}-")
        return f"{stem}{_ollama_type(weights)}"
    return base if entry.get("usual") == weights else None


def usual_type(tag: str) -> str | None:
    """The type of the file that Ollama pulls by *tag*, which names none; ``None`` where that is not known.

    >>> usual_type("llama3.1:8b"), usual_type("gpt-oss:20b")
    ('q4_k_m', 'checkpoint')
    """
    usual: str | None = _library(tag).get("usual")
    return usual


def usual_file(model: str) -> tuple[str, str] | None:
    """The tag by which Ollama pulls a preset, and the type of the file that it gets; ``None`` where no such is known.

    >>> usual_file("llama-3.1-8b"), usual_file("gpt-oss-20b")
    (('llama3.1:8b', 'q4_k_m'), ('gpt-oss:20b', 'checkpoint'))
    """
    tag = _base_tag(model)
    usual = None if tag is None else usual_type(tag)
    return None if tag is None or usual is None else (tag, usual)


def of_the_library(model: str, weights: str) -> tuple[Mapping[str, str], bool]:
    """The formats that Ollama's file of *model* in *weights* has of ggml's tensors, and whether a tied head is there.

    >>> of_the_library("qwen3-8b", "q8_0"), of_the_library("qwen3-8b", "q6_k"), of_the_library("qwen3-0.6b", "q4_k_m")
    (({'attn_v': 'fp16'}, False), ({}, False), ({'attn_v': 'fp16'}, True))
    """
    entry = _library(_base_tag(model) or "")
    if weights not in (*_types(entry), entry.get("usual")):
        return {}, False
    return entry.get("keeps", {}), bool(entry.get("own_head", False))


def lacks_towers(model: str, weights: str) -> bool:
    """Whether Ollama's file of *model* in *weights* has its text model alone.

    >>> lacks_towers("gemma-3n-e4b", "q4_k_m"), lacks_towers("gemma-3n-e4b", "q6_k"), lacks_towers("gemma-3-4b", "q8_0")
    (True, False, False)
    """
    entry = _library(_base_tag(model) or "")
    return weights in (*_types(entry), entry.get("usual")) and not entry.get("towers", True)


def gguf_repository(model: str, weights: str) -> str | None:
    """A repository of the Hub that has *model* in the GGUF type *weights*, with the tag that names its file.

    >>> gguf_repository("qwen3-8b", "q6_k"), gguf_repository("gpt-oss-20b", "mxfp4_moe")
    ('bartowski/Qwen_Qwen3-8B-GGUF:Q6_K', 'ggml-org/gpt-oss-20b-GGUF')
    """
    preset = _preset(model)
    for maker in _data()["hub"].values():
        if preset and preset.name in maker["models"] and weights in maker["weights"]:
            found: str = maker["models"][preset.name]
            return f"{found}:{weights.upper()}" if maker.get("tagged", True) else found
    return None


def checkpoint_id(model: str, weights: str) -> str | None:
    """A checkpoint of the Hub that has *model* in *weights* already, for servers that make no such format.

    >>> checkpoint_id("qwen2.5-7b-instruct", "int4-g128"), checkpoint_id("qwen3-8b", "int4-g128-asym")
    ('Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4', 'Qwen/Qwen3-8B-AWQ')
    """
    preset = _preset(model)
    found: str | None = _checkpoints().get(weights, {}).get(preset.name) if preset else None
    return found


def stored_as(checkpoint: str) -> tuple[str, str] | None:
    """Model and weights of one of ``checkpoint_id``'s; the way back."""
    return next(
        (
            (model, weights)
            for weights, models in _checkpoints().items()
            for model, known in models.items()
            if known == checkpoint
        ),
        None,
    )


def pull_name(model: str, weights: str) -> str | None:
    """What ``ollama pull`` takes for *model* in *weights*: a tag of the library, else a repository of the Hub."""
    if tag := ollama_tag(model, weights):
        return tag
    repository = gguf_repository(model, weights)
    return f"{_HUB_ADDRESS}{repository}" if repository else None


def of_the_hub(name: str) -> bool:
    """Whether ``pull_name``'s answer is a repository of the Hub, whose newer models not every Ollama loads.

    Source: github.com/ollama/ollama, issues 14545 and 15625 (2026).

    >>> of_the_hub("hf.co/bartowski/Qwen_Qwen3-8B-GGUF:Q6_K"), of_the_hub("qwen3:8b-q4_K_M")
    (True, False)
    """
    return name.startswith(_HUB_ADDRESS)


def pulled(name: str) -> tuple[str, str]:
    """Model and weights of what ``ollama pull`` or ``llama-server --hf-repo`` is given; the way back.

    >>> pulled("hf.co/bartowski/Qwen_Qwen3-8B-GGUF:Q6_K")
    ('qwen3-8b', 'q6_k')
    """
    repository, _, weights = name.removeprefix(_HUB_ADDRESS).partition(":")
    for preset, known, usual in _repositories():
        if known == repository:
            return preset, weights.lower() or usual
    with suppress(UnknownName):
        if tag := ollama_name(name):
            return find_model(tag.preset).name, tag.weights or usual_type(tag.preset) or USUAL
    return name, USUAL


def hub_note(engine: str, names: Iterable[str]) -> str:
    """What to say where Ollama would get one of *names* from the Hub; empty elsewhere."""
    return OF_THE_HUB if engine == "ollama" and any(map(of_the_hub, names)) else ""


@cache
def _checkpoints() -> Mapping[str, Mapping[str, str]]:
    return {name: models for name, models in _data()["checkpoints"].items() if isinstance(models, dict)}


def _repositories() -> Iterator[tuple[str, str, str]]:
    """Presets, their repositories, and the type of a file that no tag names."""
    for maker in _data()["hub"].values():
        usual = USUAL if maker.get("tagged", True) else maker["weights"][0]
        yield from ((preset, repository, usual) for preset, repository in maker["models"].items())


def _base_tag(model: str) -> str | None:
    preset = _preset(model)
    if preset is None:
        return None
    known: str | None = _data()["ollama"]["tags"].get(preset.name)
    return known or next((alias for alias in preset.aliases if ":" in alias), None)


def _library(tag: str) -> Mapping[str, Any]:
    entry: Mapping[str, Any] = _data()["ollama"]["library"].get(tag, {})
    return entry


def _types(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a tag of the library can be followed by."""
    types = entry.get("types", ())
    return tuple(_data()["ollama"]["types"][types] if isinstance(types, str) else types)


def _ollama_type(weights: str) -> str:
    """``q5_k_m`` as the library spells it: ``q5_K_M``."""
    return weights[:1] + weights[1:].upper() if weights.startswith("q") else weights


def _preset(model: str) -> ModelPreset | None:
    try:
        return find_model(model)
    except UnknownName:
        return None
