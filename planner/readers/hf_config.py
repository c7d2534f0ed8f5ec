"""A Hugging Face ``config.json`` to an Architecture."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.architecture import Architecture, CrossAttention, Layer, Tower
from planner.readers.conditions import settle
from planner.readers.contradictions import (
    check_lessening,
    check_weighty,
    has_own_class,
    listed,
    named_tower,
    other_class,
    without_unread_window,
)
from planner.readers.decoder import Decoder
from planner.readers.family import Family
from planner.readers.knowledge import Knowledge
from planner.readers.left_out import left_out
from planner.readers.mtp import mtp_layers, uncounted_mtp
from planner.readers.nominal import NOMINAL_KEY, read_nominal
from planner.readers.quantization.stated import cache_note, quantization_of
from planner.readers.stored import cache_format, stored_format
from planner.readers.text_config import TextConfig, find_text, opened
from planner.readers.text_model import build_layers, outer_tensors
from planner.readers.unread_keys import unread_keys
from planner.readers.unread_parts import unread_parts
from planner.readers.values import Values
from planner.units import shorten

_ONE_IMAGE = (
    "Every request is counted with one image of the most tiles: cross-attention layers keep its keys and values. "
    "Text alone needs none."
)
_OWN_HEAD = (
    "The config ties the head to the embedding, which the model class does not do: a head of its own is counted."
)


def read_config(
    config: Mapping[str, object],
    knowledge: Knowledge,
    *,
    name: str = "",
    title: str = "",
    source: str = "",
    quantization: Mapping[str, object] | None = None,
) -> Architecture:
    """The architecture that *config* describes, by the rules of its model_type.

    *quantization* is what a sibling such as ``hf_quant_config.json`` holds, for a config that says nothing of it.
    Raises UnsupportedModel, with one sentence, for what is missing, absurd or not understood.
    """
    if NOMINAL_KEY in config:
        return read_nominal(config, knowledge.formats, name, title, source)
    config = opened(config, knowledge)
    knowledge.unknown_rules().drafts.check(config)
    text = find_text(config, knowledge)
    rules = None
    if text.family:
        family, values = settle(text.family, text.table, text.model_type, text.fallback, text.lifted, text.place)
    else:
        rules = knowledge.unknown_rules()
        family, values = rules.bound(text.table, text.model_type, text.place)
    family, window_warning = without_unread_window(values, family)
    top = Values(config, text.outer_type, defaults=text.wrapper.defaults if text.wrapper else None)
    stored, warnings = stored_format((top, values), knowledge.formats)
    decoder = Decoder(
        values=values,
        family=family,
        hidden_size=values.integer("hidden_size"),
        stored=stored,
        formats=knowledge.formats,
    )
    vocab_size = values.integer("vocab_size")
    layers = build_layers(decoder)
    says_tied = _says_tied(top, values, text)
    towers, tower_warnings = _towers(top, text.wrapper or family, decoder)
    beside, beside_warnings = _beside(config, top, text, decoder, knowledge)
    architecture = Architecture(
        name=name,
        title=title or name,
        model_type=text.outer_type,
        hidden_size=decoder.hidden_size,
        vocab_size=vocab_size,
        max_position_embeddings=values.optional_integer("max_position_embeddings"),
        layers=layers,
        tensors=tuple(outer_tensors(decoder, vocab_size, says_tied and not family.structure.own_head)),
        cache_format=cache_format(stored, knowledge.formats),
        towers=(*towers, *beside),
        mtp_layers=mtp_layers(decoder, vocab_size),
        stored_as=stored.name,
        source=source,
        assumed=rules is not None or bool(text.warning or beside),
        warnings=(
            *((text.warning,) if text.warning else ()),
            *warnings,
            *tower_warnings,
            *beside_warnings,
            *named_tower(config, text.wrapper or family),
            *uncounted_mtp(top, decoder),
            *(left_out(text, top, values, family) if text.family else ()),
            *other_class(config, text, knowledge),
            *_notes(text, family),
            *window_warning,
            *((_OWN_HEAD,) if says_tied and family.structure.own_head else ()),
            *(listed(values, family) if text.family else ()),
            *((_ONE_IMAGE,) if _is_crossed(layers) else ()),
        ),
    )
    if text.by_class and "auto_map" in config:  # code beside the weights, which may be another class of that name
        why = f"stands in a file of model_type {shorten(text.outer_type)!r}, which is not known" if text.place else ""
        knowledge.unknown_rules().check_known(text.table, values, family, why)
    elif has_own_class(config, text, knowledge):
        knowledge.unknown_rules().check_known(text.table, values, family, "has a class of its own here")
    if rules is None:
        check_weighty(text.table, values, family)
        check_lessening(layers, values, family)
        unread = unread_keys(text.table, values, family, knowledge.unknown_rules())
        architecture = replace(architecture, warnings=(*architecture.warnings, *unread))
    else:
        rules.check_used(text.table, values)
        architecture = replace(architecture, warnings=(rules.warning(text.model_type), *architecture.warnings))
    stated = quantization_of((top, values), quantization)
    if not stated:
        return architecture
    from planner.readers.quantization.apply import apply_quantization  # most models need none of it

    stored_so = apply_quantization(architecture, stated, knowledge.formats)
    return replace(stored_so, warnings=(*stored_so.warnings, *cache_note(stated, quantization)))


def _towers(top: Values, family: Family, decoder: Decoder) -> tuple[tuple[Tower, ...], tuple[str, ...]]:
    """What stands beside the text model; most files have nothing and need not wait for the towers' rules."""
    if not family.towers:
        return (), ()
    from planner.readers.towers import read_towers

    return read_towers(top, family, decoder.hidden_size, decoder.stored)


def _beside(
    config: Mapping[str, object], top: Values, text: TextConfig, decoder: Decoder, knowledge: Knowledge
) -> tuple[tuple[Tower, ...], tuple[str, ...]]:
    """What else stands in the file; most have nothing and need not wait for the rules for it."""
    parts = list(unread_parts(config, top, text, decoder))
    if not parts:
        return (), ()
    from planner.readers.beside import read_beside

    return read_beside(parts, top, decoder, knowledge.unknown_rules())


def _says_tied(top: Values, values: Values, text: TextConfig) -> bool:
    """Whether the file ties the head: the key of the wrapper around it comes before its text model's, defaults last.

    Of a wrapper that is not known it is not known which counts: both have to say so. So they have where the wrapper's
    class says no and its file nothing.
    """
    key = "tie_word_embeddings"
    around = text.place.rpartition(".")[0]  # of two wrappers the inner one has the head
    written = next(filter(top.has, (f"{around}.{key}", key) if around else (key,)), "")
    if written and not text.warning:
        return top.flag(written)
    return values.flag(key) and top.get(key) is not False


def _notes(text: TextConfig, family: Family) -> tuple[str, ...]:
    """What every plan of the family should say, and of the wrapper around it."""
    around = text.wrapper.note if text.wrapper and text.wrapper.note != text.warning else ""
    return tuple(dict.fromkeys(note for note in (around, family.note) if note))


def _is_crossed(layers: Sequence[Layer]) -> bool:
    return any(isinstance(mixer, CrossAttention) for layer in layers for mixer in layer.mixers)
