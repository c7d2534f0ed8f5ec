"""Reads presets/: only the files that a name needs, reporting bad data by path.

Full validation, with pydantic, is ``kvbudget check`` and the tests; here a wrong key or a missing one is refused.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from planner.architecture import Architecture
from planner.deployment import Device
from planner.engine_data import EngineData, parse_engine_data
from planner.errors import BadPreset, UnknownName
from planner.formats import GgufMix, MixRule, NumberFormat, Scale
from planner.line_item import Basis, Kind, LineItem
from planner.readers.families import parse_family
from planner.readers.family import FAMILY_NAME, Family
from planner.readers.hf_config import read_config
from planner.readers.knowledge import Knowledge
from planner.records import dataclass
from planner.toml_tables import TomlTables
from planner.units import MIB

if TYPE_CHECKING:
    from planner.ollama_tags import OllamaName
    from planner.readers.gguf_knowledge import GgufKnowledge
    from planner.readers.unknown import UnknownRules

PRESETS = Path(__file__).resolve().parent.parent / "presets"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPreset:
    """A model's published figures under Hugging Face's key names, with where they come from.

    *published_parameters* is what the publisher's files hold; *also_published* counts what is in them and not loaded to
    answer, *parameters_note* says why. *null_keys* are those that the published file sets to null, which TOML cannot.
    """

    name: str
    title: str
    family: str
    config: Mapping[str, Any]
    source: str
    retrieved: Any
    published_parameters: int | None = None
    also_published: Mapping[str, int] = field(default_factory=dict)
    parameters_note: str = ""
    null_keys: tuple[str, ...] = ()
    licence: str = ""
    release: Any = None
    aliases: tuple[str, ...] = ()

    @property
    def published_config(self) -> dict[str, Any]:
        """The figures as the published file has them, its nulls too."""
        return _with_nulls(self.config, self.null_keys)


def load_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dict; raises BadPreset naming the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadPreset(f"presets/{path.relative_to(PRESETS)} cannot be read: {error}.") from error


def build(cls: type[T], table: Any, path: str, **given: Any) -> T:
    """*cls* from a TOML *table*; an unknown or missing key is reported as ``path.key``."""
    if not isinstance(table, dict):
        raise BadPreset(f"Value of {path!r} must be a table.")
    known = {f.name for f in fields(cls)} - given.keys()  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise BadPreset(f"Unknown key {path + '.' + key!r}.")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return cls(**values, **given)
    except TypeError as error:
        missing = str(error).rpartition(": ")[2]
        raise BadPreset(f"Missing value in {path!r}: {missing}.") from error


class _Formats(Mapping[str, NumberFormat]):
    """Number formats by name and by alias, each built when it is first asked for."""

    def __init__(self) -> None:
        self._tables = TomlTables(PRESETS / "formats.toml", "formats.toml")
        self._built: dict[str, NumberFormat] = {}
        self._aliases: dict[str, tuple[str, ...]] = {}

    def __getitem__(self, key: str) -> NumberFormat:
        if key not in self._built:
            name = next((name for name in self._tables.mentioning(key) if key in self._names(name)), None)
            if name is None:
                raise KeyError(key)
            self._built[key] = self._built[name] = self._built.get(name) or self._build(name)
        return self._built[key]

    def __iter__(self) -> Iterator[str]:
        return (alias for name in self._tables for alias in self._names(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _names(self, name: str) -> tuple[str, ...]:
        if name not in self._aliases:
            self._aliases[name] = (name, *self._tables.parse(name).get("aliases", ()))
        return self._aliases[name]

    def _build(self, name: str) -> NumberFormat:
        path = f"formats.toml: {name}"
        values = {key: value for key, value in self._tables.parse(name).items() if key not in ("aliases", "note")}
        values["scales"] = [build(Scale, scale, f"{path}.scales") for scale in values.get("scales", ())]
        return build(NumberFormat, values, path, name=name)


@cache
def formats() -> Mapping[str, NumberFormat]:
    """Every number format by name and by alias."""
    return _Formats()


@cache
def _mix_tables() -> TomlTables:
    return TomlTables(PRESETS / "gguf_mixes.toml", "gguf_mixes.toml")


@cache
def _mix(name: str) -> GgufMix:
    tables, path = _mix_tables(), f"gguf_mixes.toml: {name}"
    values = tables.parse("_common") | tables.parse(name)
    values.setdefault("embedding", values["format"])
    for key in ("format", "head", "embedding", "full", "unfilled"):
        values[key] = formats()[values[key]]
    values["fallbacks"] = {key: formats()[value] for key, value in values["fallbacks"].items()}
    values["fused_qkv"] = frozenset(values["fused_qkv"])
    rules = values.pop("rules", ())
    values["rules"] = [build(MixRule, rule | {"format": formats()[rule["format"]]}, f"{path}.rules") for rule in rules]
    return build(GgufMix, values, path, name=name)


def mix_names() -> tuple[str, ...]:
    """Every GGUF file type, fewer bits later."""
    return tuple(name for name in _mix_tables() if not name.startswith("_"))


def find_mix(name: str) -> GgufMix | None:
    """The GGUF file type called *name*, if there is one; only its own table is parsed."""
    return _mix(name) if name in mix_names() else None


@cache
def _device_tables() -> TomlTables:
    return TomlTables(PRESETS / "devices.toml", "devices.toml")


@cache
def _device(name: str) -> Device:
    return build(Device, _device_tables().parse(name), f"devices.toml: {name}", name=name)


@cache
def devices() -> Mapping[str, Device]:
    """Every device by its name, in the order of the file."""
    return {name: _device(name) for name in _device_tables()}


def find_device(name: str) -> Device:
    """The device called *name* or by one of its aliases; raises UnknownName with the nearest names."""
    wanted = name.strip().lower()
    for key in _device_tables().mentioning(wanted):
        device = _device(key)
        if wanted == device.name or wanted in device.aliases:
            return device
    raise UnknownName(_unknown("Device", name, list(_device_tables()), "kvbudget devices, or give --memory 24GiB"))


@cache
def engine_data(name: str) -> EngineData:
    """The settings and rules of engine *name* by version; empty for one that has none."""
    path = PRESETS / "engines" / f"{name}.toml"
    return parse_engine_data(name, _engine_table(path)) if path.is_file() else EngineData(name=name)


def _engine_table(path: Path) -> dict[str, Any]:
    """The table at *path*; with a ``base``, settings and rules are that engine's where it has none of its own."""
    table = load_toml(path)
    base = table.pop("base", None)
    if base is None:
        return table
    whole = _engine_table(path.with_name(f"{base}.toml"))
    for key in ("settings", "rules"):
        table[key] = whole[key] | table.get(key, {})
    return whole | table


@cache
def family(model_type: str) -> Family | None:
    """What is known about a ``model_type`` beyond its config's own keys, or ``None``."""
    path = PRESETS / "class_defaults" / f"{model_type}.toml"
    named = FAMILY_NAME.fullmatch(model_type)
    return parse_family(model_type, load_toml(path)) if named and path.is_file() else None


@cache
def unknown_rules() -> "UnknownRules":
    """What is done about a ``model_type`` that has no file of its own."""
    from planner.readers.unknown import UNKNOWN, parse_unknown_rules  # most models have one

    return parse_unknown_rules(load_toml(PRESETS / "class_defaults" / f"{UNKNOWN}.toml"))


@cache
def knowledge() -> Knowledge:
    """What the readers are handed."""
    return Knowledge(formats=formats(), find_family=family, unknown_rules=unknown_rules)


@cache
def gguf_knowledge() -> "GgufKnowledge":
    """What ``read_gguf`` is handed."""
    from planner.readers.gguf_knowledge import parse_gguf_knowledge  # only for GGUF files

    return parse_gguf_knowledge(load_toml(PRESETS / "gguf.toml"), formats())


@cache
def _model_tables() -> tuple[TomlTables, ...]:
    paths = sorted((PRESETS / "architectures").glob("*.toml"))
    return tuple(TomlTables(path, f"architectures/{path.name}") for path in paths)


def _model(tables: TomlTables, name: str) -> ModelPreset:
    family_name = tables.shown.removeprefix("architectures/").removesuffix(".toml")
    return build(ModelPreset, tables.parse(name), f"{tables.shown}: {name}", name=name, family=family_name)


@cache
def models() -> tuple[ModelPreset, ...]:
    """Every model preset, by family."""
    return tuple(_model(tables, name) for tables in _model_tables() for name in tables)


@cache
def desktop_use() -> LineItem:
    """What a desktop takes of the card that shows it."""
    row = load_toml(PRESETS / "desktop.toml")["use"]
    low, expected, high = (round(row["mib"][name] * MIB) for name in ("low", "expected", "high"))
    return LineItem(
        name="desktop",
        kind=Kind.RUNTIME,
        bytes=expected,
        low_bytes=low,
        high_bytes=high,
        basis=Basis.ASSUMED,
        source="the screen that this card shows: public start-ups",
    )


@cache
def checkpoint_names() -> Mapping[str, Any]:
    """What the names of quantised checkpoints say of their weights: tables *endings* and *made_while_loading*."""
    return load_toml(PRESETS / "checkpoint_names.toml")


@cache
def find_model(name: str) -> ModelPreset:
    """The model called *name* or by its title or one of its aliases, whatever the case.

    Only tables in which the name stands are parsed. Raises UnknownName with the nearest names.
    """
    wanted = name.strip().lower()
    found = _find_model(wanted)
    if found is None and (tag := ollama_name(name)) is not None:
        found = _find_model(tag.preset)
    if found is not None:
        return found
    names = [key for tables in _model_tables() for key in tables]
    raise UnknownName(_unknown("Model", name, names, "kvbudget models, or give a config.json"))


def _find_model(wanted: str) -> ModelPreset | None:
    for tables in _model_tables():
        for key in tables.mentioning(wanted):
            preset = _model(tables, key)
            if wanted in (preset.name, preset.title.lower(), *map(str.lower, preset.aliases)):
                return preset
    return None


@cache
def _library_tables() -> TomlTables:
    return TomlTables(PRESETS / "ollama.toml", "ollama.toml")


@cache
def ollama_name(name: str) -> "OllamaName | None":
    """What *name* means in Ollama's library, None for a name that is not of it; raises UnknownName for odd tags."""
    from planner.ollama_tags import read_tag  # most names are a preset's own

    wanted = name.strip().lower()
    family = wanted.partition(":")[0]
    tagged = f'"{family}:'
    aliases = [
        alias.lower()
        for tables in _model_tables()
        for key in tables.containing(tagged)
        for alias in _model(tables, key).aliases
        if alias.lower().startswith(tagged[1:])
    ]
    library = _library_tables().parse(family) if family in _library_tables() else None
    return read_tag(wanted, library, aliases, {*mix_names(), *formats()})


@cache
def load_preset(name: str) -> Architecture:
    """The architecture of a preset, read like a user's own config.json."""
    preset = find_model(name)
    source = f"{preset.source}, {preset.retrieved}"
    return read_config(preset.published_config, knowledge(), name=preset.name, title=preset.title, source=source)


def _with_nulls(config: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """*config* with each of *keys* set to None; ``text_config.q_lora_rank`` is a key of a nested table."""
    filled = dict(config)
    for key in keys:
        outer, _, inner = key.partition(".")
        filled[outer] = _with_nulls(filled.get(outer, {}), [inner]) if inner else None
    return filled


def _unknown(what: str, name: str, known: list[str], where: str) -> str:
    from difflib import get_close_matches  # only for the error

    shown = name if len(name) <= 60 else name[:59] + "…"
    near = get_close_matches(name.strip().lower(), known, n=3, cutoff=0.5)
    hint = f"nearest: {', '.join(near)}; " if near else ""
    return f"{what} {shown!r} is not known; {hint}see {where}."
