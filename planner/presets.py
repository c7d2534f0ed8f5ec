"""Reads presets/: only the files that a name needs, reporting bad data by path.

Full validation, with pydantic, is ``kvbudget check`` and the tests; here a wrong key or a missing one is refused.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.addresses import bare_name
from planner.architecture import Architecture
from planner.deployment import Device
from planner.errors import UnknownName
from planner.format_presets import formats, mix_names
from planner.line_item import Basis, Kind, LineItem
from planner.preset_files import NEAREST, PRESETS, build, load_toml, nearest, not_known
from planner.readers.families import parse_family
from planner.readers.family import FAMILY_NAME, Family
from planner.readers.hf_config import read_config
from planner.readers.knowledge import Knowledge
from planner.records import dataclass
from planner.settings.data import EngineData
from planner.settings.file import parse_engine_data
from planner.spelled_names import names_by_spelling, plain, spelled_like
from planner.toml_tables import TomlTables
from planner.units import MIB, shorten

if TYPE_CHECKING:
    from planner.ollama_tags import OllamaName
    from planner.readers.gguf.knowledge import GgufKnowledge
    from planner.readers.unknown import UnknownRules

_MAKER = re.compile(r"^(?:nvidia|amd|intel|apple)[ _-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPreset:
    """A model's published figures under Hugging Face's key names, with where they come from.

    *published_parameters* is what the publisher's files hold; *also_published* counts what is in them and not loaded to
    answer, *parameters_note* says why. *null_keys* are those that the published file sets to null, which TOML cannot.
    *stored_doubt* says in a word why the formats that its files store the weights in are assumed; empty where they are
    known.
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
    stored_doubt: str = ""

    @property
    def published_config(self) -> dict[str, Any]:
        """The figures as the published file has them, its nulls too."""
        return _with_nulls(self.config, self.null_keys)


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


@cache
def _names_of_devices() -> Mapping[str, str]:
    return names_by_spelling(devices().values())


def find_device(name: str) -> Device:
    """The device called *name*, by an alias or its title, as drivers report it too; else UnknownName with the nearest.

    Drivers put the maker before it: ``NVIDIA GeForce RTX 3060 12GB``.
    """
    wanted = name.strip().lower()
    for key in _device_tables().mentioning(wanted):
        device = _device(key)
        if wanted == device.name or wanted in device.aliases:
            return device
    known, bare = _names_of_devices(), _MAKER.sub("", wanted)
    for spelled in (wanted, bare):
        if (alike := spelled_like(spelled, known)) is not None:
            return _device(alike)
    if "," in name:
        raise UnknownName(
            f"{shorten(name)!r} is not one device but a list: give one, and how many of it there are; unequal cards "
            "are listed with --devices in 'kvbudget plan', for their speed together is not planned."
        )
    near = dict.fromkeys(known[each] for each in nearest(plain(bare), list(known), count=len(known)))
    raise UnknownName(not_known("Device", name, list(near)[:NEAREST], "kvbudget devices, or give --memory 24GiB"))


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
    from planner.readers.gguf.knowledge import parse_gguf_knowledge  # only for GGUF files

    return parse_gguf_knowledge(load_toml(PRESETS / "gguf.toml"), formats())


@cache
def _model_tables() -> tuple[TomlTables, ...]:
    paths = sorted((PRESETS / "architectures").glob("*.toml"))
    return tuple(TomlTables(path, f"architectures/{path.name}") for path in paths)


@cache
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
    """The model called *name* or by its title or one of its aliases, however it is spelled, or at that address.

    Only tables in which the name stands are parsed. Raises UnknownName with the nearest names.
    """
    wanted = bare_name(name).lower()
    found = _find_model(wanted)
    if found is None and "/" in wanted:
        found = _of_checkpoint(wanted)
    if found is None and (tag := ollama_name(name)) is not None:
        found = _find_model(tag.preset)
    if found is None and (alike := spelled_like(wanted, names_of_models())) is not None:
        found = _find_model(alike)
    if found is not None:
        return found
    names = [key for tables in _model_tables() for key in tables]
    raise UnknownName(not_known("Model", name, nearest(name, names), "kvbudget models, or give a config.json"))


def _of_checkpoint(name: str) -> ModelPreset | None:
    """The preset whose layers the known checkpoint *name* has, stored as that one says."""
    from planner.known_checkpoints import find_checkpoint  # most names are a preset's own

    known = find_checkpoint(name)
    if known is None:
        return None
    whole, plain_layers = find_model(known.model), load_preset(known.model)
    layers = len(plain_layers.layers) + len(plain_layers.mtp_layers)
    return replace(
        whole,
        name=known.name,
        title=known.name,
        aliases=(known.name,),
        config={**whole.config, "quantization_config": known.quantization_config(layers)},
        source=known.source,
        retrieved=known.retrieved,
        stored_doubt="",
    )


@cache
def names_of_models() -> Mapping[str, str]:
    """Every preset's name by whatever it is called, as ``spelled_names.plain`` spells it."""
    return names_by_spelling(models())


def _find_model(wanted: str) -> ModelPreset | None:
    for tables in _model_tables():
        if wanted in tables:
            return _model(tables, wanted)
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

    wanted = bare_name(name).lower()
    family = wanted.partition(":")[0]
    tagged = f'"{family}:'
    aliases = [
        alias.lower()
        for tables in _model_tables()
        for key in tables.containing(tagged)
        for alias in _model(tables, key).aliases
        if alias.lower().startswith(tagged[1:])
    ]
    if not aliases:
        return None
    library = _library_tables().parse(family) if family in _library_tables() else None
    return read_tag(wanted, library, aliases, {*mix_names(), *formats()})


@cache
def load_preset(name: str) -> Architecture:
    """The architecture of a preset, read like a user's own config.json."""
    preset = find_model(name)
    source = f"{preset.source}, {preset.retrieved}"
    found = read_config(preset.published_config, knowledge(), name=preset.name, title=preset.title, source=source)
    return replace(found, stored_assumed=True, stored_doubt=preset.stored_doubt) if preset.stored_doubt else found


def _with_nulls(config: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """*config* with each of *keys* set to None; ``text_config.q_lora_rank`` is a key of a nested table."""
    filled = dict(config)
    for key in keys:
        outer, _, inner = key.partition(".")
        filled[outer] = _with_nulls(filled.get(outer, {}), [inner]) if inner else None
    return filled
