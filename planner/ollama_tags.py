"""Names as Ollama's library has them: ``llama3.1``, ``llama3.1:8b`` and ``llama3.1:8b-instruct-q4_K_M`` are one model.

Without a tag a name stands for the tag ``latest``, which the library keeps on one size. A tag that ends in a
quantisation names a file, and so the model and what its weights are stored in.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from planner.errors import UnknownName
from planner.records import dataclass
from planner.units import shorten

_QUANTIZED = re.compile(r"(?:(.+?)-)?((?:i?q\d\w*)|fp16|f16|bf16)")
_MLX = re.compile(r"(?:^|-)(?:mlx|mxfp8|nvfp4)(?:-|$)")
_FULL = {"f16": "fp16"}
_SHOWN = 12
LATEST = "latest"
"""The tag of a name without one; of a model of one size the only one that names no quantisation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaName:
    """*preset* is the alias that a preset has, ``llama3.1:8b``; *weights* what the tag says of them, "" for nothing.

    Of a stem whose model no tag stands for any more *preset* is the preset's own name.
    """

    preset: str
    weights: str = ""


def read_tag(
    name: str, library: Mapping[str, Any] | None, aliases: Collection[str], formats: Collection[str]
) -> OllamaName | None:
    """What *name*, in lower case, means; None where it is no name of Ollama's.

    *library* is what is known of the name before the colon, *aliases* are the presets' own tags of it, and *formats*
    what weights can be stored in. Raises UnknownName for a tag that is not known, with those that are.
    """
    family, _, tag = name.partition(":")
    known = [alias.partition(":")[2] for alias in aliases]
    if "/" in name:
        return None
    library = library or {}
    if tag in ("", LATEST):
        latest = library.get("latest")
        if latest is None:
            raise UnknownName(f"{family} without a tag is none of the presets; name one of {_listed(family, known)}.")
        return OllamaName(preset=f"{family}:{latest}")
    if tag in library.get("files", {}):
        usual, weights = library["files"][tag]
        return OllamaName(preset=f"{family}:{usual}", weights=weights)
    if tag not in known and _MLX.search(tag):
        raise UnknownName(
            f"{shorten(name)!r} is a file that Ollama computes with MLX, on Apple's chips alone, which is not planned; "
            f"name one of {_listed(family, known)}."
        )
    weights = ""
    if tag not in known and (match := _QUANTIZED.fullmatch(tag)):
        tag, weights = match[1] or LATEST, _FULL.get(match[2], match[2])
    if weights and (older := _usual(tag, library.get("models", {}))):
        return _checked(name, OllamaName(preset=older, weights=weights), formats)
    usual = tag if tag in known else _usual(tag, library.get("stems" if weights else "same", {}))
    if usual is None:
        begins = max((each for each in known if tag.startswith(f"{each}-")), key=len, default="")
        nearest = f" Nearest: {family}:{begins}." if begins else ""
        raise UnknownName(
            f"Model {shorten(name)!r} is not known: of Ollama's {family} there are {_listed(family, known)}, each with "
            f"or without a quantisation such as -q4_K_M.{nearest}"
        )
    return _checked(name, OllamaName(preset=f"{family}:{usual}", weights=weights), formats)


def _checked(name: str, found: OllamaName, formats: Collection[str]) -> OllamaName:
    if found.weights and found.weights not in formats:
        raise UnknownName(
            f"{shorten(name)!r} asks for weights in {found.weights}, which is not known; see kvbudget formats."
        )
    return found


def _usual(tag: str, others: Mapping[str, list[str]]) -> str | None:
    """The preset's tag of which *tag* is another spelling."""
    return next((usual for usual, names in others.items() if tag in map(str.lower, names)), None)


def _listed(family: str, tags: list[str]) -> str:
    return ", ".join(f"{family}:{tag}" for tag in sorted(tags)[:_SHOWN])
