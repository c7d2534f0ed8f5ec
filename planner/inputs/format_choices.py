"""From the name of a format, as a person gives it, to how weights and cache are stored."""

import re
from dataclasses import replace

from planner import format_presets, presets
from planner.addresses import bare_name
from planner.architecture import Architecture
from planner.catalogue.downloads import of_the_library, usual_type
from planner.catalogue.library_names import OLLAMA
from planner.errors import PlannerError, UnknownName
from planner.formats import CHECKPOINT, GgufMix, MixRule, NumberFormat, QuantScheme, Role, find_format
from planner.ollama_tags import OllamaName
from planner.preset_files import nearest
from planner.units import shorten

QUANTIZE = ("linear", "all")
FULL = "fp32"
GGUF_WHOLE = ("fp32", "fp16", "bf16")
"""Formats of whole files that are no file type with rules of its own."""
OF_EXPERTS = "_moe"
"""What follows a format in the name of the file type whose experts have it."""
USUAL = ("q4_k_m", "q8_0", "int4-g128", "fp8", "bf16", "nf4", "int8", "q6_k", "q5_k_m")
"""What most people mean, named first."""
_NEAREST, _ALIKE = 5, 0.75
_NUMBER = re.compile(r"\d+")
MIX = "mix"
"""In place of these where a GGUF file type decides tensor by tensor."""


def choose_weights(
    name: str | None, quantize: str | None, architecture: Architecture, gguf_engine: str = ""
) -> QuantScheme:
    """How weights are stored. Nominal classes have no file: fp16 and every parameter unless said otherwise.

    A name that is both a GGUF file type and a format, such as q4_0, means the file type; with *quantize* the format.
    *gguf_engine* names an engine that reads no other files: a format that none of these has is refused, or stands for
    the file whose experts have it.
    """
    known = format_presets.formats()
    rule = quantize or ("all" if architecture.nominal else "linear")
    if rule not in QUANTIZE:
        raise PlannerError(f"quantize = {rule!r} is not known; choose one of: {', '.join(QUANTIZE)}.")
    chosen = (name or ("fp16" if architecture.nominal else CHECKPOINT)).strip().lower()
    mix = None if chosen in known and (quantize or architecture.nominal) else format_presets.find_mix(chosen)
    if mix is None and gguf_engine and not architecture.nominal:
        mix = _file_of(chosen, architecture, gguf_engine)
    if mix is not None:
        if quantize:
            raise PlannerError(f"{chosen} decides about every tensor by itself: leave --quantize out.")
        scheme = QuantScheme(format=None, rest=sixteen_bit(architecture), quantize=MIX, mix=mix)
        return _as_in_library(scheme, architecture) if gguf_engine == OLLAMA else scheme
    weights = None if chosen == CHECKPOINT else _weights_format(chosen)
    return QuantScheme(format=weights, rest=sixteen_bit(architecture), quantize=rule)


def _weights_format(name: str) -> NumberFormat:
    """A format of the presets, or one by the name under which a checkpoint is said to be stored."""
    known = format_presets.formats()
    if name not in known:
        from planner.readers.quantization.named import named_format  # most names are the presets' own

        found = named_format(name)
        if found is not None:
            return found
        near = ", ".join(formats_like(name))
        raise UnknownName(f"Format {shorten(name)!r} is not known; nearest: {near}; all of them: kvbudget formats.")
    return find_format(known, name, "weights")


def formats_like(name: str) -> list[str]:
    """A few formats for weights that *name* may mean: spelled or begun like it, else of its number of bits.

    >>> formats_like("4bit"), formats_like("q4km")
    (['q4_k_m', 'int4-g128', 'nf4', 'q4_k_s', 'iq4_nl'], ['q4_k_m', 'q4_k'])
    """
    weights = sorted({each.name for each in format_presets.formats().values() if each.weights})
    names = list(dict.fromkeys((*USUAL, *format_presets.usual_mixes(), *weights)))
    bits = _NUMBER.search(name)
    alike = [each for each in names if bits and (own := _NUMBER.search(each)) and own[0] == bits[0]]
    begun = [each for each in names if each.startswith(name)]
    return (begun or nearest(name, names, _ALIKE) or alike or list(USUAL))[:_NEAREST]


def weights_in_name(name: str) -> str | None:
    """What a name of Ollama's library, such as ``llama3.1:8b-instruct-q4_K_M``, says its weights are stored in."""
    bare = bare_name(name)
    if ":" not in bare or "/" in bare:
        return None
    found = presets.ollama_name(bare)
    return found.weights or None if found else None


def named_file(name: str, architecture: Architecture, engine: str) -> tuple[str | None, str]:
    """What the weights of *architecture* are stored in by its *name* of Ollama's library, and what to say of that.

    A quantisation in the tag counts for every engine. A tag without one is a file that Ollama alone pulls by it.
    """
    tag = _library_name(name, architecture)
    if tag is None or tag.weights:
        return tag.weights if tag else None, ""
    if engine != "ollama":
        return None, ""
    usual = usual_type(tag.preset)
    if usual is None:
        return (
            None,
            f"Which file Ollama pulls for {tag.preset} is not known: counted is {architecture.title} as published.",
        )
    stored = "as published" if usual == CHECKPOINT else f"in {usual}"
    return usual, f"For {tag.preset} Ollama pulls the file {stored}, unless weights are named."


def _as_in_library(scheme: QuantScheme, architecture: Architecture) -> QuantScheme:
    """*scheme* as Ollama's library has it of *architecture*, where its file keeps more than llama-quantize would."""
    mix = scheme.mix
    keeps, own_head = of_the_library(architecture.name, scheme.name) if mix else ({}, False)
    if mix is None or not (keeps or own_head):
        return scheme
    kept = ((name, format_presets.formats()[stored]) for name, stored in keeps.items())
    bits = mix.format.bits_per_element
    rules = (MixRule(tensors=(name,), format=stored) for name, stored in kept if stored.bits_per_element > bits)
    return replace(scheme, mix=replace(mix, rules=(*rules, *mix.rules), own_head=own_head))


def _library_name(name: str, architecture: Architecture) -> OllamaName | None:
    """*name* where it is Ollama's for *architecture*, and not the preset's own alone."""
    bare = bare_name(name)
    if not bare or "/" in bare:
        return None
    try:
        preset, found = presets.find_model(bare), presets.ollama_name(bare)
        is_of_it = found is not None and presets.find_model(found.preset) == preset
    except UnknownName:
        return None
    return found if is_of_it and preset.name == architecture.name else None


def sixteen_bit(architecture: Architecture) -> NumberFormat:
    """What stays unquantised: the model's own 16-bit kind."""
    return format_presets.formats()["fp16" if architecture.stored_as == "fp16" else "bf16"]


def file_type(name: str, architecture: Architecture) -> str:
    """The GGUF file type for the format *name*: the one whose experts have it, else the nearest in bits.

    What GGUF has for whole files is its own, and so is a name that is no format.
    """
    known = format_presets.formats()
    if name in (CHECKPOINT, *GGUF_WHOLE, *format_presets.mix_names()) or name not in known or architecture.nominal:
        return name
    experts = f"{known[name].name}{OF_EXPERTS}"
    has_experts = any(t.role is Role.EXPERT for layer in architecture.layers for t in layer.tensors)
    if has_experts and format_presets.find_mix(experts) is not None:
        return experts
    bits = known[name].bits_per_element
    mixes = (mix for mix in map(format_presets.find_mix, format_presets.mix_names()) if mix is not None)
    return min(mixes, key=lambda mix: abs(mix.format.bits_per_element - bits)).name


def _file_of(name: str, architecture: Architecture, engine: str) -> GgufMix | None:
    """The file that stands for the format *name*, ``None`` where it has none of its own; refused where none has it."""
    file = file_type(name, architecture)
    if file != name and not file.endswith(OF_EXPERTS):
        raise PlannerError(
            f"{engine} reads GGUF files, and none is in {name}: name a file type, such as {file}, or for a count "
            "without a file another engine."
        )
    return format_presets.find_mix(file) if file != name else None


def choose_cache(name: str | None, architecture: Architecture, weights: QuantScheme | None = None) -> NumberFormat:
    """A cache format by name; the model's own, 16 bit unless its checkpoint says otherwise, when none is given.

    With *weights*, for an engine that keeps its cache in their numbers, 32 bit where they are.
    """
    formats = format_presets.formats()
    if name is not None:
        return find_format(formats, name, "cache")
    if weights is None:
        return architecture.cache_format
    stored = architecture.stored_as if weights.name == CHECKPOINT else weights.name
    return formats[FULL] if stored == FULL else architecture.cache_format
