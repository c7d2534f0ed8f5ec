"""CSV as spreadsheets write it: columns by their name whatever its case, between commas, semicolons or tabs."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_SPACES = re.compile(r"[\s_-]+")


def read_rows(lines: Iterable[str]) -> tuple[tuple[str, ...], Iterator[list[str]]]:
    """The header's names as ``column_name`` gives them, and the rows after it.

    The separator is the one that stands most often in the first line, which says the columns.

    >>> header, rows = read_rows(["Device;Price per hour", "l4;0.8"])
    >>> header, list(rows)
    (('device', 'price_per_hour'), [['l4', '0.8']])
    """
    rest = iter(lines)
    first = next(rest, "")
    rows = csv.reader(chain([first], rest), delimiter=max(SEPARATORS, key=first.count))
    return tuple(map(column_name, next(rows, []))), rows


def column_name(text: str) -> str:
    """Words in small letters, joined by ``_``.

    >>> column_name("Request tokens"), column_name(" PRICE_PER_HOUR")
    ('request_tokens', 'price_per_hour')
    """
    return _SPACES.sub("_", text.strip().lstrip("\ufeff").strip().lower())


def columns(header: Sequence[str], names: Sequence[str]) -> tuple[int, ...] | None:
    """Where *names* stand in *header*; ``None`` unless each of them does, once."""
    if any(header.count(column_name(name)) != 1 for name in names):
        return None
    return tuple(header.index(column_name(name)) for name in names)


def separators() -> str:
    """What may stand between columns, for complaints.

    >>> separators()
    'commas, semicolons or tabs'
    """
    *first, last = SEPARATORS.values()
    return f"{', '.join(first)} or {last}"


def decimal(text: str) -> float:
    """A number with a decimal point, or a comma as many spreadsheets write it; raises ValueError for neither.

    A comma with three digits behind it may part thousands, so that it is no number either.
    >>> decimal("0.40"), decimal("0,40")
    (0.4, 0.4)
    """
    whole, comma, part = text.partition(",")
    if comma and part.isascii() and part.isdigit() and len(part) != 3:
        text = f"{whole}.{part}"
    return float(text)
