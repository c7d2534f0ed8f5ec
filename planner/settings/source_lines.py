"""Which release a log is of that names none: by the lines of the engine's source that it shows."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any

from planner.preset_files import PRESETS, load_toml
from planner.settings.versions import parse_version


@cache
def releases_file(engine: str) -> Mapping[str, Any]:
    """What tells the releases of *engine* apart."""
    return load_toml(PRESETS / f"{engine}_releases.toml")


def out_by(engine: str, day: str) -> list[str]:
    """The releases of *engine* that were out on *day*, from the first; all where no day is given."""
    published = releases_file(engine)["published"]
    return [name for name, out in published.items() if not day or out <= date.fromisoformat(day)]


def printing(engine: str, releases: Sequence[str], line: str) -> list[str]:
    """Of *releases* those that print *line*, such as ``server.go:499 loading model``."""
    source, _, said = line.partition(" ")
    return [name for name in releases if _prints(engine, name, source, said)]


def _prints(engine: str, release: str, source: str, said: str) -> bool:
    return any(
        source == f"{file}:{number}" for file, words, number in _lines(engine, release) if said.startswith(words)
    )


@cache
def _lines(engine: str, release: str) -> tuple[tuple[str, str, int], ...]:
    return tuple(_lines_of(engine, release))


def _lines_of(engine: str, release: str) -> Iterator[tuple[str, str, int]]:
    version = parse_version(release)
    for line in releases_file(engine)["lines"]:
        numbers = [found for since, found in line["since"].items() if parse_version(since) <= version]
        yield from ((line["file"], line["says"], number) for number in (numbers[-1] if numbers else ()))
