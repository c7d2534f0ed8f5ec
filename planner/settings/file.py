"""``presets/engines/NAME.toml`` to an engine's data."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.errors import BadPreset, PlannerError
from planner.settings.data import EngineData
from planner.settings.setting import Setting
from planner.settings.versions import Dated, parse_version


def parse_engine_data(name: str, table: Mapping[str, Any]) -> EngineData:
    """The content of ``engines/NAME.toml``; raises BadPreset with the path of what is wrong."""
    where = f"engines/{name}.toml"
    unknown = table.keys() - {
        *("title", "newest", "release_parts", "settings", "rules", "builds", "releases"),
        *("vendors", "not_on", "runs_on_source", "settable"),
    }
    if unknown:
        raise BadPreset(f"Unknown key '{where}: {min(unknown)}'.")
    settings = {
        key: _setting(key, entry, f"{where}: settings.{key}") for key, entry in table.get("settings", {}).items()
    }
    rules = {key: _dated(entries, f"{where}: rules.{key}") for key, entries in table.get("rules", {}).items()}
    builds = tuple(sorted((entry["build"], entry["day"]) for entry in table.get("builds", ())))
    data = EngineData(
        name=name,
        title=table["title"],
        newest=table["newest"],
        release_parts=table.get("release_parts", 2),
        settings=settings,
        rules=rules,
        builds=builds,
        releases=tuple(sorted((parse_version(entry["release"]), entry["day"]) for entry in table.get("releases", ()))),
        vendors=tuple(table.get("vendors", ())),
        not_on=tuple(table.get("not_on", ())),
        settable=tuple(table.get("settable", ())),
    )
    since = (entry.since for entries in rules.values() for entry in entries)
    return replace(data, latest=max((data.newest, *since), key=data.number) if data.newest else "")


def _setting(name: str, table: Mapping[str, Any], where: str) -> Setting:
    values = dict(table)
    values["choices"] = tuple(values.get("choices", ()))
    values["defaults"] = _dated(values.get("defaults", ()), f"{where}.defaults")
    try:
        return Setting(name=name, **values)
    except TypeError as error:
        raise BadPreset(f"Value of {where!r} is not a setting: {error}.") from error


def _dated(entries: Any, where: str) -> tuple[Dated, ...]:
    try:
        found = tuple(Dated(**entry) for entry in entries)
        versions = [parse_version(entry.since) for entry in found]
    except (TypeError, PlannerError) as error:
        raise BadPreset(f"Value of {where!r} is not a list of since, value and source: {error}") from error
    if versions != sorted(versions):
        raise BadPreset(f"Value of {where!r} is not in the order of versions.")
    return found
