"""From the name of a format, as a person gives it, to how weights and cache are stored."""

from planner import format_presets, presets
from planner.architecture import Architecture
from planner.errors import PlannerError
from planner.formats import CHECKPOINT, NumberFormat, QuantScheme, find_format

QUANTIZE = ("linear", "all")
MIX = "mix"
"""In place of these where a GGUF file type decides tensor by tensor."""


def choose_weights(name: str | None, quantize: str | None, architecture: Architecture) -> QuantScheme:
    """How weights are stored. Nominal classes have no file: fp16 and every parameter unless said otherwise.

    A name that is both a GGUF file type and a format, such as q4_0, means the file type; with *quantize* the format.
    """
    known = format_presets.formats()
    rule = quantize or ("all" if architecture.nominal else "linear")
    if rule not in QUANTIZE:
        raise PlannerError(f"quantize = {rule!r} is not known; choose one of: {', '.join(QUANTIZE)}.")
    chosen = (name or ("fp16" if architecture.nominal else CHECKPOINT)).strip().lower()
    mix = None if chosen in known and (quantize or architecture.nominal) else format_presets.find_mix(chosen)
    if mix is not None:
        if quantize:
            raise PlannerError(f"{chosen} decides about every tensor by itself: leave --quantize out.")
        return QuantScheme(format=None, rest=sixteen_bit(architecture), quantize=MIX, mix=mix)
    weights = None if chosen == CHECKPOINT else find_format(known, chosen, "weights", format_presets.mix_names())
    return QuantScheme(format=weights, rest=sixteen_bit(architecture), quantize=rule)


def weights_in_name(name: str) -> str | None:
    """What a name of Ollama's library, such as ``llama3.1:8b-instruct-q4_K_M``, says its weights are stored in."""
    if ":" not in name or "/" in name:
        return None
    found = presets.ollama_name(name)
    return found.weights or None if found else None


def sixteen_bit(architecture: Architecture) -> NumberFormat:
    """What stays unquantised: the model's own 16-bit kind."""
    return format_presets.formats()["fp16" if architecture.stored_as == "fp16" else "bf16"]


def choose_cache(name: str | None, architecture: Architecture) -> NumberFormat:
    """A cache format by name; the model's own, 16 bit unless its checkpoint says otherwise, when none is given."""
    return architecture.cache_format if name is None else find_format(format_presets.formats(), name, "cache")
