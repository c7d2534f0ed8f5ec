"""Which release a log is of that names none: by the lines of the engine's source that it shows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from planner.preset_files import PRESETS, load_toml
from planner.settings.versions import parse_version


@cache
def releases_file(engine: str) -> Mapping[str, Any]:
    """What tells the releases of *engine* apart."""
    return load_toml(PRESETS / f"{engine}_releases.toml")


def printing(engine: str, releases: Sequence[str], lines: Collection[str]) -> list[str]:
    """Of *releases* those that print *lines*, each as ``server.go:499 loading model``.

    What is built from source may print other lines: those that no release prints count for nothing.
    """
    known = list(releases)
    for line in lines:
        source, _, said = line.partition(" ")
        known = [name for name in known if _prints(engine, name, source, said)] or known
    return known


def is_printed(engine: str, releases: Sequence[str], lines: Collection[str]) -> bool:
    """Whether one of *releases* prints one of *lines*."""
    sources = [line.partition(" ") for line in lines]
    return any(_prints(engine, name, source, said) for name in releases for source, _, said in sources)


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
