"""Bare names that mean one model to Ollama, whose library keeps them on one size, and another to its makers."""

from planner import presets
from planner.addresses import bare_name
from planner.errors import UnknownName

OLLAMA = "ollama"


def meant_by(engine: str, name: str) -> str:
    """*name* as *engine* means it: Ollama's own tag where its library gives another model by it, else as it is.

    >>> meant_by("ollama", "deepseek-r1"), meant_by("vllm", "deepseek-r1"), meant_by("ollama", "qwen3")
    ('deepseek-r1:8b', 'deepseek-r1', 'qwen3')
    """
    return (engine == OLLAMA and _of_the_library(name)) or name


def other_meaning(name: str) -> str:
    """A sentence on the model that Ollama gives by *name*, where it is none of those that are meant here."""
    tag = _of_the_library(name)
    if not tag:
        return ""
    here, there = presets.find_model(name), presets.find_model(tag)
    return f"{name.strip()} is {here.name} here; Ollama gives {there.title} by that name: write {tag} for it."


def _of_the_library(name: str) -> str:
    bare = bare_name(name)
    if not bare or "/" in bare or ":" in bare:
        return ""
    try:
        here = presets.find_model(bare)
        tag = None if bare.lower() == here.name else presets.ollama_name(bare)
        return tag.preset if tag is not None and presets.find_model(tag.preset).name != here.name else ""
    except UnknownName:
        return ""
