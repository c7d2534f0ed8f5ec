"""A family's table, as presets/class_defaults/<model_type>.toml holds it, to a Family; errors are reported by path."""

from collections.abc import Mapping
from dataclasses import fields

from planner.errors import BadPreset
from planner.formats import Role
from planner.readers.family import Condition, ExtraTensor, Family, Size, TowerRule
from planner.readers.mixers import MIXERS
from planner.readers.structure import CHOICES, LayerKind, Structure

_TEXTS = ("source", "retrieved", "refused", "same_as", "note", "nested_model_type")
_TOWERS = ("vision", "audio", "speech", "projector")
_TABLES = (
    "classes",
    "lifted",
    "aliases",
    "defaults",
    "nested_defaults",
    "known",
    "structure",
    "layer_kinds",
    "instead",
)
_LISTS = ("conditions", "extra", "towers")
_KNOWN = frozenset({*_TEXTS, *_TABLES, *_LISTS, "nested", "filled", "covered", "per_layer", "stated"})
_PLACES = ("layer", "dense", "experts", "outer", *MIXERS)


def parse_family(model_type: str, table: Mapping[str, object]) -> Family:
    """The family in *table*; raises BadPreset by path."""
    path = f"class_defaults/{model_type}.toml"
    _check_keys(table, _KNOWN, ("source", "retrieved"), path)
    texts = {key: _text(table.get(key, ""), f"{path}: {key}") for key in _TEXTS}
    tables = {key: table_in(table.get(key, {}), f"{path}: {key}") for key in _TABLES}
    defaults = tables["defaults"]
    family = Family(
        model_type=model_type,
        source=texts["source"],
        retrieved=texts["retrieved"],
        refused=texts["refused"],
        same_as=texts["same_as"],
        note=texts["note"],
        nested=tuple(texts_in(table.get("nested", []), f"{path}: nested")),
        nested_model_type=texts["nested_model_type"],
        classes=_names(tables["classes"], f"{path}: classes"),
        lifted=_names(tables["lifted"], f"{path}: lifted"),
        aliases=spellings_in(tables["aliases"], f"{path}: aliases"),
        defaults=defaults,
        nested_defaults=tables["nested_defaults"],
        known={key: _known(values, f"{path}: known.{key}") for key, values in tables["known"].items()},
        filled=_filled(table.get("filled", []), defaults, f"{path}: filled"),
        covered=tuple(texts_in(table.get("covered", []), f"{path}: covered")),
        per_layer=tuple(texts_in(table.get("per_layer", []), f"{path}: per_layer")),
        stated=tuple(texts_in(table.get("stated", []), f"{path}: stated")),
        structure=Structure(**_switches(tables["structure"], defaults, path, "structure")),  # type: ignore[arg-type]
        layer_kinds=_layer_kinds(tables["layer_kinds"], path),
        instead={kind: _names(keys, f"{path}: instead.{kind}") for kind, keys in tables["instead"].items()},
        conditions=tuple(
            _condition(entry, defaults, path, where) for where, entry in _entries(table, "conditions", path)
        ),
        extra=tuple(_extra(entry, f"{path}: {where}") for where, entry in _entries(table, "extra", path)),
        towers=tuple(_tower(entry, f"{path}: {where}") for where, entry in _entries(table, "towers", path)),
    )
    described = family.refused or family.nested or family.same_as
    if not described and "tie_word_embeddings" not in defaults:
        raise BadPreset(f"{path}: defaults.tie_word_embeddings is missing.")
    return family


def _check_keys(table: Mapping[str, object], known: frozenset[str], needed: tuple[str, ...], path: str) -> None:
    for key in table:
        if key not in known:
            raise BadPreset(f"{path}: {key} is not a known key.")
    for key in needed:
        if not table.get(key):
            raise BadPreset(f"{path}: {key} is missing.")


def table_in(value: object, path: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise BadPreset(f"{path} must be a table.")
    return value


def _entries(table: Mapping[str, object], key: str, path: str) -> list[tuple[str, Mapping[str, object]]]:
    entries = table.get(key, [])
    if not isinstance(entries, list):
        raise BadPreset(f"{path}: {key} must be a list of tables.")
    return [(f"{key}[{i}]", table_in(entry, f"{path}: {key}[{i}]")) for i, entry in enumerate(entries)]


def _text(value: object, path: str) -> str:
    if isinstance(value, str):
        return value
    raise BadPreset(f"{path} must be a string.")


def texts_in(value: object, path: str) -> list[str]:
    if not isinstance(value, list):
        raise BadPreset(f"{path} must be a list of strings.")
    return [_text(entry, path) for entry in value]


def _names(value: object, path: str) -> Mapping[str, str]:
    return {key: _text(name, f"{path}.{key}") for key, name in table_in(value, path).items()}


def _known(values: object, path: str) -> tuple[Size, ...]:
    if not isinstance(values, list) or not values or not all(isinstance(value, (int, float, str)) for value in values):
        raise BadPreset(f"{path} must be a list of values.")
    return tuple(values)


def _filled(value: object, defaults: Mapping[str, object], path: str) -> tuple[str, ...]:
    keys = texts_in(value, path)
    for key in keys:
        if key not in defaults:
            raise BadPreset(f"{path}: {key} has no default.")
    return tuple(keys)


def spellings_in(aliases: Mapping[str, object], path: str) -> dict[str, tuple[str, ...]]:
    """From ``spelling = "usual key"`` to each usual key's spellings, in the file's order."""
    spellings: dict[str, tuple[str, ...]] = {}
    for spelling, usual in _names(aliases, path).items():
        spellings[usual] = (*spellings.get(usual, ()), spelling)
    return spellings


def _switches(
    switches: Mapping[str, object], defaults: Mapping[str, object], path: str, name: str
) -> Mapping[str, object]:
    """*switches* if each is a known one with an allowed value."""
    known = {entry.name: entry for entry in fields(Structure)}
    for key, value in switches.items():
        where = f"{path}: {name}.{key}"
        if key not in known:
            raise BadPreset(f"{where} is not a known switch.")
        if key in CHOICES:
            if value not in CHOICES[key]:
                raise BadPreset(f"{where} must be one of: {', '.join(CHOICES[key])}.")
        elif known[key].type in (int, int | str) and not isinstance(value, str):
            if isinstance(value, bool) or not isinstance(value, int):
                raise BadPreset(f"{where} must be a whole number.")
        elif isinstance(value, str):
            if value not in defaults:
                raise BadPreset(f"{path}: defaults.{value} is missing, and {name}.{key} asks for it.")
        elif not isinstance(value, bool):
            raise BadPreset(f"{where} must be true, false or the name of a config key.")
    return switches


def _layer_kinds(words: Mapping[str, object], path: str) -> dict[str, LayerKind]:
    """From ``word = "mixer"``, or ``word = { mixer, feed_forward }``, to what a layer of that name is."""
    kinds = {}
    for word, value in words.items():
        where = f"{path}: layer_kinds.{word}"
        entry = value if isinstance(value, Mapping) else {"mixer": value}
        if "mixer" not in entry or not set(entry) <= {"mixer", "feed_forward"}:
            raise BadPreset(f"{where} must be a mixer, or a table of mixer and feed_forward.")
        if entry["mixer"] not in MIXERS:
            raise BadPreset(f"{where} must be one of: {', '.join(MIXERS)}.")
        kinds[word] = LayerKind(**{key: _text(part, f"{where}.{key}") for key, part in entry.items()})
    return kinds


def _condition(entry: Mapping[str, object], defaults: Mapping[str, object], path: str, name: str) -> Condition:
    _check_keys(entry, frozenset({"if", "structure", "values", "refused"}), ("if",), f"{path}: {name}")
    structure = table_in(entry.get("structure", {}), f"{path}: {name}.structure")
    values = table_in(entry.get("values", {}), f"{path}: {name}.values")
    return Condition(
        keys=table_in(entry["if"], f"{path}: {name}.if"),
        structure=_switches(structure, defaults, path, f"{name}.structure"),
        values={key: _size(value, f"{path}: {name}.values.{key}") for key, value in values.items()},
        refused=_text(entry.get("refused", ""), f"{path}: {name}.refused"),
    )


def _extra(entry: Mapping[str, object], path: str) -> ExtraTensor:
    known = frozenset(field.name for field in fields(ExtraTensor))
    _check_keys(entry, known, ("name", "columns"), path)
    role, place = entry.get("role", "linear"), entry.get("place", "layer")
    if role not in list(Role) or place not in _PLACES:
        raise BadPreset(f"{path}: role must be one of {', '.join(Role)}, and place one of {', '.join(_PLACES)}.")
    return ExtraTensor(
        name=_text(entry["name"], f"{path}.name"),
        rows=_sizes(entry.get("rows", [1]), f"{path}.rows"),
        columns=_sizes(entry["columns"], f"{path}.columns"),
        role=Role(str(role)),
        place=str(place),
        only_if=_text(entry.get("only_if", ""), f"{path}.only_if"),
        active=entry.get("active") is not False,
        replicated=entry.get("replicated") is True,
    )


def _sizes(value: object, path: str) -> tuple[Size, ...]:
    if not isinstance(value, list) or not value:
        raise BadPreset(f"{path} must be a list of sizes.")
    return tuple(_size(entry, path) for entry in value)


def _size(value: object, path: str) -> Size:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise BadPreset(f"{path} must be a whole number or the name of a key.")


def _tower(entry: Mapping[str, object], path: str) -> TowerRule:
    _check_keys(entry, frozenset(f.name for f in fields(TowerRule)), ("kind",), path)
    if entry["kind"] not in _TOWERS:
        raise BadPreset(f"{path}.kind must be one of: {', '.join(_TOWERS)}.")
    return TowerRule(
        kind=str(entry["kind"]),
        layout=_text(entry.get("layout", ""), f"{path}.layout"),
        config=_text(entry.get("config", ""), f"{path}.config"),
        aliases=spellings_in(table_in(entry.get("aliases", {}), f"{path}.aliases"), f"{path}.aliases"),
        defaults=table_in(entry.get("defaults", {}), f"{path}.defaults"),
        optional=entry.get("optional") is True,
        stated=entry.get("stated") is True,
        known={
            key: _known(values, f"{path}.known.{key}")
            for key, values in table_in(entry.get("known", {}), f"{path}.known").items()
        },
    )
