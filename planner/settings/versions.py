"""How versions of engines are ordered, by release or by day, and which value holds at one."""

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import Any

from planner.errors import PlannerError
from planner.records import dataclass
from planner.units import shorten

Version = tuple[int, ...]

_FIRST_YEAR = 2000  # of a rule that is ordered by days
BUILD = re.compile(r"b?(\d{3,6})", re.ASCII)
DATE = re.compile(r"(20\d\d)-(\d\d)-(\d\d)", re.ASCII)
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dated:
    """A value that holds from the version *since* on, until a later entry replaces it."""

    since: str
    value: Any
    source: str = ""


@lru_cache(maxsize=1024)
def parse_version(text: str) -> Version:
    """The release that *text* begins with, ``0.26.1rc1.dev608`` is (0, 26, 1), or its day: ``2025-11-07``."""
    match = DATE.fullmatch(text.strip()) or _VERSION.match(text.strip())
    if match is None:
        raise PlannerError(
            f"engine_version {shorten(text)!r} is not a version: write it as 0.26 or 0.26.1, or for an engine with "
            "numbered builds as b9849 or 2025-11-07."
        )
    return tuple(int(part) for part in match.groups(default="0"))


def is_day(number: Version) -> bool:
    return number[0] >= _FIRST_YEAR


def day_of(build: int, known: tuple[tuple[int, date], ...]) -> Version:
    """The day of *build*, as a version; builds before the first known or after the last have the day of that one."""
    first = last = known[0]
    for number, day in known:
        if number <= build:
            first = last = (number, day)
        else:
            last = (number, day)
            break
    share = (build - first[0]) / (last[0] - first[0]) if last[0] > first[0] and build > first[0] else 0
    day = first[1] + (last[1] - first[1]) * share
    return day.year, day.month, day.day


def value_at(entries: Iterable[Dated], version: Version) -> Any:
    """The last value that holds at *version*; ``None`` before the first."""
    value = None
    for entry in entries:
        if parse_version(entry.since) > version:
            break
        value = entry.value
    return value
