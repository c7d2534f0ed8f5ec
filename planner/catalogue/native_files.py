"""Models that are published in few bits: the files that engines read of them as they are, without another rounding."""

from collections.abc import Sequence

from planner.architecture import Architecture, main_format
from planner.catalogue.downloads import ollama_tag
from planner.format_presets import find_mix, mix_names
from planner.formats import CHECKPOINT, NumberFormat, QuantScheme

READ_GGUF = ("llama_cpp", "ik_llama_cpp", "ollama")
TO_HALVE, HALVED = "fp32", "bf16"
"""Checkpoints in 32 bit are made this while they are loaded, by engines that read them."""
FEW_BITS = 8
"""A checkpoint with weights of fewer bits than this was trained or tuned for them."""


def published_format(architecture: Architecture) -> NumberFormat | None:
    """The number format of few bits in which most of its layers' weights are published, if there is one."""
    most = main_format(architecture.layers)
    return most if most is not None and most.bits_per_element < FEW_BITS else None


def weight_bits(weights: QuantScheme, architecture: Architecture) -> int:
    """Whole bits of most of its layers' weights in *weights*; what scales add to them is left out."""
    if weights.mix is not None:
        return int(weights.mix.format.bits_per_element)
    return int((weights.format or main_format(architecture.layers) or weights.rest).bits_per_element)


def native_names(engine: str, architecture: Architecture) -> tuple[str, ...]:
    """The formats in which *engine* reads *architecture* as it is published, the nearest to it first.

    Of the engines that read GGUF only a file whose experts keep their format is one, or what Ollama's library has.
    """
    if engine not in READ_GGUF:
        return (CHECKPOINT,)
    published = published_format(architecture)
    if published is None:
        return ()
    in_library = (CHECKPOINT,) if engine == "ollama" and ollama_tag(architecture.name, CHECKPOINT) else ()
    same = f"{published.name}_moe"
    return (*in_library, *((same,) if same in mix_names() else ()))


def converted_file(engine: str, architecture: Architecture) -> tuple[str | None, str]:
    """The file that *engine* reads of a model published in few bits where no weights are named, and what to say of it.

    Engines of GGUF cannot read the checkpoint: the file that keeps its experts has its attention in q8_0, not in 16
    bit. A GGUF file is its own; what Ollama's library has keeps all as published.
    """
    names = (
        ()
        if engine == "ollama" or architecture.source.lower().endswith(".gguf")
        else native_names(engine, architecture)
    )
    if CHECKPOINT in names or not names:
        return None, ""
    return names[0], f"Counted is the GGUF file {names[0]} of {architecture.title}: {engine} reads no other form of it."


def tried_names(engine: str, architecture: Architecture, weights: Sequence[str]) -> tuple[str, ...]:
    """*weights* as they are tried for one model: as published stands for the files that hold it so.

    Beside such a file none that rounds it again to as many bits or more is worth having, nor one with its experts. A
    checkpoint in 32 bit is served in 16: beside other formats that is tried as well.
    """
    if CHECKPOINT not in weights:
        return tuple(weights)
    weights = tuple(name for name in weights if not keeps_experts(name, architecture))
    if engine not in READ_GGUF:
        first = weights.index(CHECKPOINT) + 1
        halved = (HALVED,) if architecture.stored_as == TO_HALVE and len(weights) > 1 else ()
        return tuple(dict.fromkeys((*weights[:first], *halved, *weights[first:])))
    native = native_names(engine, architecture)
    published = published_format(architecture) if native else None
    rest = (name for name in weights if name != CHECKPOINT)
    return (*native, *(name for name in rest if published is None or _bits(name) < published.bits_per_element))


def keeps_experts(name: str, architecture: Architecture) -> bool:
    """Whether files of the type *name* have the experts that the checkpoint of *architecture* has: little is saved."""
    mix = find_mix(name)
    return mix is not None and architecture.model_type in mix.own_experts


def _bits(name: str) -> float:
    mix = find_mix(name)
    return 0 if mix is None else mix.format.bits_per_element
