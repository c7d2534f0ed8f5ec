"""Which options were typed. One that would count for nothing is refused, for in silence it would seem to count."""

import argparse
from collections.abc import Iterable, Iterator, Sequence

from planner.errors import PlannerError
from planner.units import shorten

Unused = Iterator[tuple[Iterable[str], str]]
"""Options by the names of their values, and why they have no effect: ``with --trace, which has its own``."""


class _Typed(argparse.Namespace):
    """Seems to have every value already, so that a parser fills in no default."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("_"):
            raise AttributeError(name)


def typed(parser: argparse.ArgumentParser, words: Sequence[str]) -> frozenset[str]:
    """The names of the values that *words* give."""
    return frozenset(vars(parser.parse_args(words, _Typed())))


def refuse_repeated(settings: Iterable[str], where: str) -> None:
    """Raises PlannerError for the first KEY=VALUE of *settings* whose key has had another value before."""
    values: dict[str, str] = {}
    for name, _, value in (text.partition("=") for text in settings):
        key = name.strip().replace("-", "_")
        if values.setdefault(key, value) != value:
            raise PlannerError(
                f"{where} gives {shorten(key)} twice, as {shorten(values[key])} and as {shorten(value)}: leave one out."
            )


def refuse_unused(given: frozenset[str], unused: Unused) -> None:
    """Raises PlannerError for the first of *given* that has no effect."""
    for names, why in unused:
        for name in names:
            if name in given:
                raise PlannerError(f"--{name.replace('_', '-')} has no effect {why}: leave it out.")
