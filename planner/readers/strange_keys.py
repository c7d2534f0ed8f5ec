"""Keys of a config that stand for something and that nobody is known to read."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase

from planner.readers.values import Values
from planner.units import shorten

_SHOWN = 5


def is_empty(value: object) -> bool:
    """Whether *value* never adds to what is counted: null, false and nothing in it."""
    return value is None or value is False or value in ({}, [], "")


def is_like(key: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def strange_keys(table: Mapping[str, object], accepted: AbstractSet[str], harmless: Sequence[str]) -> list[str]:
    """The keys of *table* that are neither *accepted* nor like a *harmless* pattern, in order."""
    kept = (key for key, value in table.items() if key not in accepted and not is_empty(value))
    return sorted(key for key in kept if not is_like(key, harmless))


def named(keys: Sequence[str], values: Values) -> str:
    """*keys* of *values* in a sentence, the first few of them."""
    shown = ", ".join(repr(shorten(values.spelled(key))) for key in keys[:_SHOWN])
    return f"{shown} and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else shown


def largest(table: Mapping[str, object], aliases: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """By usual key, the larger of the whole numbers that *table* has under several spellings of it."""
    found = {
        key: {value for name in (*spellings, key) if type(value := table.get(name)) is int}
        for key, spellings in aliases.items()
    }
    return {key: max(numbers) for key, numbers in found.items() if len(numbers) > 1}
