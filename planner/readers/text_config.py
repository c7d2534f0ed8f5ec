"""Where a file describes its text model, and by whose rules: at its top, or in an object that a wrapper keeps it in."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from planner.errors import UnsupportedModel
from planner.readers.family import FAMILY_NAME, Family
from planner.readers.knowledge import Knowledge
from planner.readers.model_classes import class_family
from planner.readers.values import Values
from planner.records import dataclass
from planner.units import shorten

if TYPE_CHECKING:
    from planner.readers.unknown import UnknownRules

_MOST_LEVELS = 3
_THINKER = "thinker_config"
_WINDOW = "sliding_window"
_OTHER_FILES = {
    "peft_type": "an adapter's ('peft_type'), not a model's; plan the model that it is for",
    "_class_name": "one of a diffusion pipeline ('_class_name'), not a language model's; only decoders can be planned",
    "lora_parameters": "an adapter's ('lora_parameters'), not a model's; plan the model that it is for",
    "image_processor_type": "an image processor's ('image_processor_type'); give the config.json beside it",
    "feature_extractor_type": "a feature extractor's ('feature_extractor_type'); give the config.json beside it",
    "tokenizer_class": "a tokenizer's ('tokenizer_class'); give the config.json beside it",
    "do_sample": "one of how to generate ('do_sample'); give the config.json beside it",
    "n_layers": "a publisher's own form ('n_layers'), such as params.json; give the config.json in Hugging Face's form",
}
"""By a key that files without a model_type show, what they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextConfig:
    """The text model's *table*, and the *family* whose rules it follows; None: nobody's.

    *outer_type* is the file's own model_type. *place* leads to *table* in the file, and *lifted* are values from around
    it with their own places. *wrapper* is the family of what is around it; *warning* says what of that is not known.
    *has_stand_in*: of the wrapper is known what the file itself shows. *by_class*: nobody knows the file's model_type,
    and the family is that of the model class which it names.
    """

    table: Mapping[str, object]
    model_type: str
    outer_type: str
    family: Family | None
    fallback: Mapping[str, object] = field(default_factory=dict)
    lifted: Mapping[str, tuple[object, str]] = field(default_factory=dict)
    place: str = ""
    wrapper: Family | None = None
    warning: str = ""
    has_stand_in: bool = False
    by_class: bool = False


def find_text(config: Mapping[str, object], knowledge: Knowledge) -> TextConfig:
    """The text model's config in *config*; raises UnsupportedModel for what is no decoder or names no family."""
    model_type = model_type_of(config, knowledge)
    if config.get("is_encoder_decoder") is True:
        raise UnsupportedModel(
            f"model_type {shorten(model_type)!r} is an encoder-decoder; only decoders can be planned."
        )
    if config.get("add_cross_attention") is True:
        raise UnsupportedModel(
            f"model_type {shorten(model_type)!r} attends to an encoder here ('add_cross_attention'), whose size the "
            "config does not give; only decoders alone can be planned."
        )
    wrapper, warning, by_class = _family(_by_class(config, model_type, knowledge), knowledge), "", False
    stand_in = None
    if wrapper is None and (named := class_family(config, knowledge)):
        wrapper, by_class = _family(named, knowledge), True
        warning = (
            f"model_type {shorten(model_type)!r} is not known: it is read as {named!r}, whose class the file names."
        )
    if wrapper is None or (wrapper.nested and not isinstance(config.get(wrapper.nested[0]), Mapping)):
        stand_in = _stand_in(config, model_type, wrapper, knowledge.unknown_rules())
        wrapper, warning = stand_in or wrapper, stand_in.note if stand_in else warning
    if wrapper is None or not wrapper.nested:
        own = knowledge.unknown_rules().without_foreign(config, wrapper) if by_class and wrapper else config
        return TextConfig(
            table=own,
            model_type=model_type,
            outer_type=model_type,
            family=wrapper,
            warning=warning,
            by_class=by_class,
        )
    found = _nested(config, model_type, wrapper, knowledge, warning)
    return replace(found, by_class=by_class, has_stand_in=stand_in is not None)


def opened(config: Mapping[str, object], knowledge: Knowledge) -> Mapping[str, object]:
    """*config* with what stands one level below in the publisher's own form of a file, where the library has no level.

    Its own keys come first. Qwen3-ASR.
    """
    inner, model_type = config.get(_THINKER), config.get("model_type")
    if not isinstance(inner, Mapping) or not isinstance(model_type, str) or not FAMILY_NAME.fullmatch(model_type):
        return config
    family = knowledge.find_family(model_type)
    if not family or not family.nested or family.nested[0] == _THINKER:
        return config
    return {**inner, **{key: value for key, value in config.items() if key != _THINKER}}


def model_type_of(config: Mapping[str, object], knowledge: Knowledge) -> str:
    """The file's model_type, or the one of its class's name where a file of old lacks it."""
    model_type = config.get("model_type")
    if isinstance(model_type, str) and model_type:
        return model_type
    if model_type:
        raise _not_a_name(model_type)
    if named := class_family(config, knowledge):
        return named
    for key, what in _OTHER_FILES.items():
        if key in config:
            raise UnsupportedModel(f"The config has no model_type: it is {what}.")
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
        class_family = knowledge.find_family(family.same_as)
        own = family
        family = class_family and replace(
            class_family,
            defaults={**class_family.defaults, **own.defaults},
            towers=own.towers or class_family.towers,
        )
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


def _stand_in(
    config: Mapping[str, object], model_type: str, known: Family | None, rules: "UnknownRules"
) -> Family | None:
    """A family for a wrapper that is not *known*, or is with another form, if *config* has a text model as wrappers do.

    What stands beside that is left to ``beside.py``, whose rules its own keys have to follow if it is not known.
    """
    place: list[str] = []
    table = config
    while len(place) < _MOST_LEVELS:
        key = next((key for key in rules.wrapped if isinstance(table.get(key), Mapping)), None)
        if key is None:
            break
        if known is None:
            values = rules.beside.values(table, model_type, ".".join(place))
            rules.beside.check_around(table, key, (*rules.harmless, *rules.understood, *rules.bounded), values)
        place.append(key)
        table = table[key]  # type: ignore[assignment]
    if not place:
        return None
    state = f"has no {shorten('.'.join(known.nested))}" if known else "is not known"
    return Family(
        model_type=model_type,
        source="the file itself",
        retrieved="",
        note=(
            f"model_type {shorten(model_type)!r} {state}: its text model is planned as it stands in "
            f"{shorten('.'.join(place))}."
        ),
        nested=tuple(place),
        nested_model_type=known.nested_model_type if known else "",
        nested_defaults=known.nested_defaults if known else {},
        lifted=rules.family.lifted,
    )


def _nested(
    config: Mapping[str, object], model_type: str, wrapper: Family, knowledge: Knowledge, warning: str
) -> TextConfig:
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
    family = _family(nested_type, knowledge)
    if family and place and "model_type" not in table and _has_window_of_its_own(family, table):
        family = replace(family, defaults={**family.defaults, _WINDOW: None})
        warning = warning or (
            f"{'.'.join(place)} has no model_type: it is read as {nested_type!r}, the usual one of "
            f"{shorten(model_type)!r}, without the window of that class's defaults."
        )
    return TextConfig(
        table=table,
        model_type=nested_type,
        outer_type=model_type,
        family=family,
        fallback=wrapper.nested_defaults,
        lifted={key: (top.get(path), path) for key, path in wrapper.lifted.items() if top.has(path)},
        place=".".join(place),
        wrapper=wrapper,
        warning=warning,
    )


def _has_window_of_its_own(family: Family, table: Mapping[str, object]) -> bool:
    """Whether *family*'s class has a window where *table* speaks of none, which another class would not have."""
    return bool(family.defaults.get(_WINDOW)) and not any(name in table for name in (_WINDOW, "layer_types"))
