"""Knowledge by model_type: aliases, class defaults and structure, parsed from one small table a family."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from planner.errors import BadPreset
from planner.readers.structure import CHOICES, LayerKind, Structure

_NO_DEFAULTS: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TowerRule:
    """How to count a tower or projector: *layout* names the rule, *config* the key of its own config."""

    kind: str
    layout: str
    config: str
    defaults: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a model_type's class does beyond its config.

    *nested* leads to the text model's config in a wrapper; *nested_model_type* is its type where the file leaves it out.
    *nested_defaults* are the wrapper's own text dimensions, used with a warning. *refused* says why it cannot be read.
    """

    model_type: str
    source: str
    retrieved: str
    refused: str = ""
    nested: tuple[str, ...] = ()
    nested_model_type: str = ""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    nested_defaults: Mapping[str, object] = field(default_factory=dict)
    structure: Structure = field(default_factory=Structure)
    layer_kinds: Mapping[str, LayerKind] = field(default_factory=dict)
    towers: tuple[TowerRule, ...] = ()


_TEXTS = ("source", "retrieved", "refused", "nested_model_type")
_KNOWN = frozenset({*_TEXTS, "defaults", "nested_defaults", "nested", "aliases", "structure", "layer_kinds", "towers"})


def parse_family(model_type: str, table: Mapping[str, object]) -> Family:
    """The family in *table*, as presets/class_defaults/<model_type>.toml holds it; raises BadPreset by path."""
    path = f"class_defaults/{model_type}.toml"
    for key in table:
        if key not in _KNOWN:
            raise BadPreset(f"{path}: {key} is not a known key.")
    for key in ("source", "retrieved"):
        if not table.get(key):
            raise BadPreset(f"{path}: {key} is missing.")
    texts = {key: _text(table.get(key, ""), f"{path}: {key}") for key in _TEXTS}
    family = Family(
        model_type=model_type,
        nested=tuple(_texts(table.get("nested", []), f"{path}: nested")),
        aliases=_spellings(_table(table, "aliases", path), path),
        structure=_structure(_table(table, "structure", path), _table(table, "defaults", path), path),
        layer_kinds=_layer_kinds(_table(table, "layer_kinds", path), path),
        towers=_towers(table.get("towers", []), path),
        defaults=_table(table, "defaults", path),
        nested_defaults=_table(table, "nested_defaults", path),
        source=texts["source"],
        retrieved=texts["retrieved"],
        refused=texts["refused"],
        nested_model_type=texts["nested_model_type"],
    )
    if not family.refused and not family.nested and "tie_word_embeddings" not in family.defaults:
        raise BadPreset(f"{path}: defaults.tie_word_embeddings is missing.")
    return family


def _table(table: Mapping[str, object], key: str, path: str) -> Mapping[str, object]:
    value = table.get(key, _NO_DEFAULTS)
    if not isinstance(value, Mapping):
        raise BadPreset(f"{path}: {key} must be a table.")
    return value


def _text(value: object, path: str) -> str:
    # TOML reads an unquoted date as one.
    if isinstance(value, str) or (path.endswith("retrieved") and hasattr(value, "isoformat")):
        return str(value)
    raise BadPreset(f"{path} must be a string.")


def _texts(value: object, path: str) -> list[str]:
    if not isinstance(value, list):
        raise BadPreset(f"{path} must be a list of strings.")
    return [_text(entry, path) for entry in value]


def _spellings(aliases: Mapping[str, object], path: str) -> dict[str, tuple[str, ...]]:
    """From ``spelling = "usual key"`` to each usual key's spellings, in the file's order."""
    spellings: dict[str, tuple[str, ...]] = {}
    for spelling, key in aliases.items():
        usual = _text(key, f"{path}: aliases.{spelling}")
        spellings[usual] = (*spellings.get(usual, ()), spelling)
    return spellings


def _structure(switches: Mapping[str, object], defaults: Mapping[str, object], path: str) -> Structure:
    known = {entry.name: entry for entry in fields(Structure)}
    for name, value in switches.items():
        where = f"{path}: structure.{name}"
        if name not in known:
            raise BadPreset(f"{where} is not a known switch.")
        if name in CHOICES:
            if value not in CHOICES[name]:
                raise BadPreset(f"{where} must be one of: {', '.join(CHOICES[name])}.")
        elif known[name].type is int:
            if isinstance(value, bool) or not isinstance(value, int):
                raise BadPreset(f"{where} must be a whole number.")
        elif isinstance(value, str):
            if value not in defaults:
                raise BadPreset(f"{path}: defaults.{value} is missing, and structure.{name} asks for it.")
        elif not isinstance(value, bool):
            raise BadPreset(f"{where} must be true, false or the name of a config key.")
    return Structure(**switches)  # type: ignore[arg-type]


def _layer_kinds(words: Mapping[str, object], path: str) -> dict[str, LayerKind]:
    """From ``word = "mixer"``, or ``word = { mixer, feed_forward }``, to what a layer of that name is."""
    kinds = {}
    for word, value in words.items():
        where = f"{path}: layer_kinds.{word}"
        entry = value if isinstance(value, Mapping) else {"mixer": value}
        if "mixer" not in entry or not set(entry) <= {"mixer", "feed_forward"}:
            raise BadPreset(f"{where} must be a mixer, or a table of mixer and feed_forward.")
        kinds[word] = LayerKind(**{key: _text(part, f"{where}.{key}") for key, part in entry.items()})
    return kinds


def _towers(rules: object, path: str) -> tuple[TowerRule, ...]:
    if not isinstance(rules, list):
        raise BadPreset(f"{path}: towers must be a list of tables.")
    towers = []
    for index, rule in enumerate(rules):
        where = f"{path}: towers[{index}]"
        if not isinstance(rule, Mapping) or not {"kind", "layout", "config"} <= set(rule) <= {*_TOWER_KEYS}:
            raise BadPreset(f"{where} must have kind, layout and config, and may have defaults.")
        texts = {key: _text(rule[key], f"{where}.{key}") for key in ("kind", "layout", "config")}
        towers.append(TowerRule(**texts, defaults=_table(rule, "defaults", where)))
    return tuple(towers)


_TOWER_KEYS = ("kind", "layout", "config", "defaults")
