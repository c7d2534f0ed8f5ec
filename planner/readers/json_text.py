"""A config file's text to a dictionary, with one sentence for everything that can be wrong with it."""

import json
from math import isfinite

from planner.errors import BadFile
from planner.readers.pointers import refuse_pointer
from planner.units import MIB, shorten

MAX_JSON_BYTES = 16 * MIB
_UNBOUNDED = "_limit"
_FIRST = 32


def parse_json(data: bytes | str, what: str = "config.json") -> dict[str, object]:
    """The JSON object in *data*, UTF-8 with or without a byte-order mark; raises BadFile, naming *what*.

    ``Infinity`` and ``NaN`` are refused but for limits: published files have ``time_step_limit = [0.0, Infinity]``.
    """
    if len(data) > MAX_JSON_BYTES:
        raise BadFile(f"{what} is longer than 16 MiB, which is as much as is read of a config.")
    first = data[:_FIRST]
    refuse_pointer(first if isinstance(first, bytes) else first.encode(errors="replace"), what)
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise BadFile(f"{what} is not UTF-8 text: byte {error.start} cannot be read.") from None
    try:
        parsed = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise BadFile(f"{what} is not valid JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise BadFile(f"{what} is nested too deeply to be a config.") from None
    except _Twice as error:
        raise BadFile(f"{what} has the key {shorten(str(error))!r} twice; keep the one that is meant.") from None
    except ValueError:
        raise BadFile(f"{what} has a number with too many digits.") from None
    if not isinstance(parsed, dict):
        raise BadFile(f"{what} holds a JSON {_JSON_NAMES.get(type(parsed), 'value')}; a config is an object of keys.")
    _check_finite(parsed, what)
    return parsed


class _Twice(Exception):
    """A key that one object has twice."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _check_finite(parsed: dict[str, object], what: str) -> None:
    """Raise for a number that is none, naming its key."""
    waiting: list[tuple[str, object]] = list(parsed.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, float) and not isfinite(value) and not key.endswith(_UNBOUNDED):
            raise BadFile(f"{what} has {value} under key {shorten(key)!r}, which is not a number; write a finite one.")
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += ((key, item) for item in value)


_JSON_NAMES: dict[type, str] = {list: "list", str: "string", int: "number", float: "number", bool: "boolean"}
