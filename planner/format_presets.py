"""Number formats and GGUF file types from presets/, each built when it is first asked for."""

from collections.abc import Iterator, Mapping
from functools import cache

from planner.formats import GgufMix, MixRule, NumberFormat, Scale
from planner.preset_files import PRESETS, build
from planner.toml_tables import TomlTables


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
    values |= {key: frozenset(values[key]) for key in ("fused_qkv", "own_experts")}
    rules = values.pop("rules", ())
    values["rules"] = [build(MixRule, rule | {"format": formats()[rule["format"]]}, f"{path}.rules") for rule in rules]
    return build(GgufMix, values, path, name=name)


def mix_names() -> tuple[str, ...]:
    """Every GGUF file type, fewer bits later."""
    return tuple(name for name in _mix_tables() if not name.startswith("_"))


def usual_mixes() -> tuple[str, ...]:
    """Those of them that anybody's model may be had in."""
    return tuple(name for name in mix_names() if _mix(name).is_usual)


def find_mix(name: str) -> GgufMix | None:
    """The GGUF file type called *name*, if there is one; only its own table is parsed."""
    return _mix(name) if name in mix_names() else None
