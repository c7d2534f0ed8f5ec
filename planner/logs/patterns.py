"""How a line is recognised, and how the groups of its expression become readings, settings or a failure.

A group's name says it all: ``pool__gib`` is the reading *pool* in GiB, ``set__dtype`` the setting *dtype*. Some names
are special: ``model__``, ``version__``, ``rank__``, and ``unit__`` for a unit that is printed beside a size, whose own
unit is then ``printed``; ``day__``, and ``source__`` for the line of the engine's source that prints ``said__``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from planner.logs.readings import Reading
from planner.records import dataclass
from planner.units import GIB, MIB

MAX_SETTING_CHARACTERS = 400
VERSION = r"(?P<version__>\d{1,3}\.\d{1,3}\.\d{1,4}[\w.+]{0,40})"
"""A version in running text, where not every number is one."""

_SIZE = r"-?\d{1,9}(?:[.,]\d{1,9}){0,4}"
_COUNT = r"(?:\d{1,3}(?:,\d{3}){1,5}|\d{1,15})(?!\d)"
_WORD = r"[\w./:+-]{1,300}(?:,\d{3}){0,4}"
_BYTES_PER = {"gib": GIB, "mib": MIB, "kib": 2**10, "gb": 10**9, "mb": 10**6, "kb": 10**3, "bytes": 1, "b": 1}
_COUNTED = {"tokens": _COUNT, "blocks": _COUNT, "layers": _COUNT, "requests": _SIZE, "percent": _SIZE, "share": _SIZE}
_WRITTEN = _COUNTED | {"bytes": _COUNT}
_SHORT = re.compile(r"(?<!\?P)<(\w+?)__(\w*)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One format of line. *word* is one that each such line holds (letters, digits, ``_``): most lines are not tried.

    *begins*: a start begins here, unless one has just begun. *launches*: a process is run for one model, so that a
    second such line is of another start. *fails*: the kind of failure that this is; *recovers*: the engine goes on
    after one. *engine*: a variant that is known by it. *pairs*: settings inside the group ``pairs__``; *sets*: those
    that such a line says by itself. *is_weak*: said by a person or a command, and so only of what the engine itself
    does not say; of a failure, that another line of its kind is quoted instead. *last*: the newest release whose
    default prints it, by which a start is known that says no version.
    """

    word: str
    regex: re.Pattern[str]
    begins: bool = False
    launches: bool = False
    fails: str = ""
    recovers: bool = False
    engine: str = ""
    is_weak: bool = False
    last: str = ""
    pairs: Callable[[str], Mapping[str, str]] | None = None
    sets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The lines of one engine. *rank* finds who printed a line in what stands before its text.

    *words* show that it speaks, even if no line is known. *is_anyones*: any engine may print these lines.
    """

    engine: str
    patterns: tuple[Pattern, ...]
    rank: Callable[[str], str] = field(default=lambda prefix: "")
    words: tuple[str, ...] = ()
    is_anyones: bool = False


def pattern(word: str, regex: str, **options: Any) -> Pattern:
    """A Pattern whose *regex* may write ``<pool__gib>`` for a group with what its unit is written in, SIZE for a size.

    >>> pattern("took", "took <weights__gib> GiB").regex.search("took 4.99 GiB")["weights__gib"]
    '4.99'
    """
    return Pattern(word=word, regex=re.compile(_SHORT.sub(_group, regex).replace("SIZE", _SIZE)), **options)


def _group(short: re.Match[str]) -> str:
    name, unit = short.groups()
    written = _WORD if name == "set" or not unit else _WRITTEN.get(unit, _SIZE)
    return f"(?P<{name}__{unit}>{written})"


def readings_in(match: re.Match[str], line: int, rank: str) -> Iterator[Reading]:
    """The figures of *match*; text that is no number is left out."""
    groups = match.groupdict()
    printed_unit = groups.get("unit__")
    rank = groups.get("rank__") or rank
    for group, text in groups.items():
        name, _, unit = group.partition("__")
        if not text or not unit or name == "set":
            continue
        number = parse_number(text, whole=_COUNTED.get(unit) == _COUNT)
        if number is None:
            continue
        if unit in _COUNTED:
            step = 0 if isinstance(number, int) else _last_digit(text)
            yield Reading(name=name, value=number, unit=unit, line=line, step=step, rank=rank)
            continue
        scale = _BYTES_PER[(printed_unit or unit).lower() if unit == "printed" else unit]
        step = 0 if scale == 1 else round(_last_digit(text) * scale)
        yield Reading(name=name, value=round(number * scale), unit="bytes", line=line, step=step, rank=rank)


def settings_in(match: re.Match[str]) -> dict[str, str]:
    """The settings of *match* by the engine's own names."""
    return {
        group.removeprefix("set__"): text.strip().rstrip(".")[:MAX_SETTING_CHARACTERS]
        for group, text in match.groupdict().items()
        if group.startswith("set__") and text
    }


def parse_number(text: str, whole: bool = False) -> int | float | None:
    """A number as logs write it: ``32,768``, ``2160.00`` or, where decimals have a comma, ``2160,00``.

    >>> parse_number("32,768", whole=True), parse_number("2160,00"), parse_number("1,024.5"), parse_number("-2.14")
    (32768, 2160.0, 1024.5, -2.14)
    """
    plain = text.replace(",", "") if whole or ("," in text and "." in text) else text.replace(",", ".")
    try:
        return int(plain) if whole else float(plain)
    except ValueError:
        return None


def _last_digit(text: str) -> float:
    """What one unit of the last printed digit is worth.

    >>> _last_digit("4.99"), _last_digit("70")
    (0.01, 1.0)
    """
    decimals = max(text.rfind("."), text.rfind(","))
    return 1.0 if decimals < 0 else 10.0 ** (decimals + 1 - len(text))


def pairs_of(*names: str) -> Callable[[str], Mapping[str, str]]:
    """Reads ``key='text', other=1`` or ``'key': 'text', 'other': 1``: the first value of each of *names*.

    Nested ones count as if they were not: what comes first is the model's own, a draft's comes later.
    """
    wanted = frozenset(names)

    def read(text: str) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for key, quoted, bare in _PAIR.findall(text):
            if key in wanted and key not in found:
                found[key] = (quoted or bare).strip()
        return found

    return read


_PAIR = re.compile(r"""['"]?([A-Za-z_]\w{0,63})['"]?[=:] ?(?:['"]([^'"]{0,400})['"]|([^\s,'"{}()\[\]]{1,100}))""")
