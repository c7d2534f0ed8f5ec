"""A Hugging Face ``config.json`` to an Architecture."""

from collections.abc import Mapping
from dataclasses import field, replace

from planner.architecture import Architecture, Tower
from planner.errors import UnsupportedModel
from planner.readers.conditions import settle
from planner.readers.decoder import Decoder
from planner.readers.family import FAMILY_NAME, Family
from planner.readers.knowledge import Knowledge
from planner.readers.mtp import mtp_layers
from planner.readers.nominal import NOMINAL_KEY, read_nominal
from planner.readers.quantization.stated import quantization_of
from planner.readers.stored import cache_format, stored_format
from planner.readers.text_model import build_layers, outer_tensors
from planner.readers.values import Values
from planner.records import dataclass
from planner.units import shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class _TextConfig:
    """Where a file's text model is described, and by whose rules; *family* None: nobody's.

    *place* leads to *table* in the file; *lifted* are values from around it, with their own places.
    """

    table: Mapping[str, object]
    model_type: str
    family: Family | None
    fallback: Mapping[str, object] = field(default_factory=dict)
    lifted: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    place: str = ""


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

    *quantization* is what a sibling ``hf_quant_config.json`` holds, for a config that says nothing of it.
    Raises UnsupportedModel, with one sentence, for what is missing, absurd or not understood.
    """
    if NOMINAL_KEY in config:
        return read_nominal(config, knowledge.formats, name, title, source)
    model_type = _model_type(config, knowledge)
    if config.get("is_encoder_decoder") is True:
        raise UnsupportedModel(
            f"model_type {shorten(model_type)!r} is an encoder-decoder; only decoders can be planned."
        )
    wrapper = _family(_by_class(config, model_type, knowledge), knowledge)
    text = _find_text(config, model_type, wrapper, knowledge)
    rules = None if text.family else knowledge.unknown_rules()
    family = rules.bounding_family(text.table) if rules else text.family
    assert family is not None
    top = Values(config, model_type, defaults=wrapper.defaults if wrapper and wrapper.nested else None)
    family, values = settle(family, text.table, text.model_type, text.fallback, text.lifted, text.place)
    if rules is not None:
        rules.check_understood(text.table, values)
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
    towers, tower_warnings = _towers(top, wrapper or family, decoder)
    architecture = Architecture(
        name=name,
        title=title or name,
        model_type=model_type,
        hidden_size=decoder.hidden_size,
        vocab_size=vocab_size,
        max_position_embeddings=values.optional_integer("max_position_embeddings"),
        layers=layers,
        tensors=tuple(outer_tensors(decoder, vocab_size, _tied(top, values))),
        cache_format=cache_format(stored, knowledge.formats),
        towers=towers,
        mtp_layers=mtp_layers(decoder, vocab_size),
        stored_as=stored.name,
        source=source,
        assumed=rules is not None,
        warnings=(
            *warnings,
            *tower_warnings,
            *_fallback_warning(text, values),
            *((family.note,) if family.note else ()),
        ),
    )
    if rules is not None:
        rules.check_used(text.table, values)
        architecture = replace(architecture, warnings=(rules.warning(model_type), *architecture.warnings))
    stated = quantization_of((top, values), quantization)
    if not stated:
        return architecture
    from planner.readers.quantization.apply import apply_quantization  # most models need none of it

    return apply_quantization(architecture, stated, knowledge.formats)


def _model_type(config: Mapping[str, object], knowledge: Knowledge) -> str:
    """The file's model_type, or the one of its class's name where a file of old lacks it."""
    model_type = config.get("model_type")
    if isinstance(model_type, str) and model_type:
        return model_type
    if model_type:
        raise _not_a_name(model_type)
    match config.get("architectures"):
        case [str() as name, *_] if name in knowledge.unknown_rules().architectures:
            return knowledge.unknown_rules().architectures[name]
    raise UnsupportedModel("The config has no model_type; add the key that says which family it is, such as 'llama'.")


def _not_a_name(model_type: object) -> UnsupportedModel:
    return UnsupportedModel(
        f"model_type {shorten(str(model_type))!r} is not the name of a family; write one such as 'llama'."
    )


def _family(model_type: str, knowledge: Knowledge) -> Family | None:
    if not FAMILY_NAME.fullmatch(model_type):
        raise _not_a_name(model_type)
    family = knowledge.find_family(model_type)
    if family is not None and family.same_as:
        family = knowledge.find_family(family.same_as)
    if family is None:
        knowledge.unknown_rules().check_refused(model_type)
    elif family.refused:
        raise UnsupportedModel(f"model_type {shorten(model_type)!r} {family.refused}.")
    return family


def _by_class(config: Mapping[str, object], model_type: str, knowledge: Knowledge) -> str:
    """The family of the model class that the file names, where its model_type says something else."""
    classes = config.get("architectures")
    if not isinstance(classes, list) or not FAMILY_NAME.fullmatch(model_type):
        return model_type
    family = knowledge.find_family(model_type)
    others = (
        [family.classes[name] for name in classes if isinstance(name, str) and name in family.classes] if family else []
    )
    return others[0] if others else model_type


def _find_text(
    config: Mapping[str, object], model_type: str, wrapper: Family | None, knowledge: Knowledge
) -> _TextConfig:
    """The config of the text model: the file itself, or the object a wrapper keeps it in."""
    if wrapper is None or not wrapper.nested:
        return _TextConfig(table=config, model_type=model_type, family=wrapper)
    top = Values(config, model_type)
    table: Mapping[str, object] = config
    place: list[str] = []
    for key in wrapper.nested:
        inner = Values(table, model_type, place=".".join(place)).table(key)
        if inner is None:
            break
        table = inner
        place.append(key)
    nested_type = table.get("model_type") if table is not config else None
    if not isinstance(nested_type, str) or not nested_type:
        nested_type = wrapper.nested_model_type
    if not nested_type:
        raise UnsupportedModel(
            f"model_type {shorten(model_type)!r}: {'.'.join(wrapper.nested)} has no model_type; add it."
        )
    return _TextConfig(
        table=table,
        model_type=nested_type,
        family=_family(nested_type, knowledge),
        fallback=wrapper.nested_defaults,
        lifted={key: (top.get(path), path) for key, path in wrapper.lifted.items() if top.has(path)},
        place=".".join(place),
    )


def _towers(top: Values, family: Family, decoder: Decoder) -> tuple[tuple[Tower, ...], tuple[str, ...]]:
    """What stands beside the text model; most files have nothing and need not wait for the towers' rules."""
    if not family.towers:
        return (), ()
    from planner.readers.towers import read_towers

    return read_towers(top, family, decoder.hidden_size, decoder.stored)


def _tied(top: Values, text: Values) -> bool:
    """Whether the head is the embedding: a wrapper's own key comes before its text model's, the class default last."""
    key = "tie_word_embeddings"
    return top.flag(key) if top.has(key) else text.flag(key)


def _fallback_warning(text: _TextConfig, values: Values) -> tuple[str, ...]:
    used = [key for key in text.fallback if not values.has(key)]
    return (f"Not in the file and taken from the class's defaults: {', '.join(used)}.",) if used else ()
