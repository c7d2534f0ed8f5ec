"""What a run leaves behind: one JSON line a case, with its conditions. A file of them can be read while it grows."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from planner.errors import BadFile
from planner.units import shorten, shorten_path

FOLDER_VARIABLE = "KVBUDGET_MEASUREMENTS"
"""Names another folder than ``measurements`` in the working one."""
Row = Mapping[str, Any]
SUBJECT = ("device", "model", "model_changes", "dtype", "attention")
"""The conditions that say which machine, model and number format a reading is of."""
MAY_FALL = ("left_bytes",)
"""What may be below zero in a row: memory that a pass gave back. All else is a size, a count, a time or a share."""
KILLED = "(SIGKILL)."
"""How the reason of a case ends whose process was killed, by the system or by anyone."""
_BEGINS = '{"'
"""How a record's line begins: one that begins so and is no JSON was cut short."""
_MEASURES = ("_bytes", "_s", "_share", "_ratio")
"""How a row's keys end whose values are numbers."""
_BEYOND = 2**63
"""No size and no count is as large."""
_COUNTS = ("device_bytes", "threads", "seed")
"""Conditions that are whole numbers; the others are words."""


class Outcome(StrEnum):
    """How a case ended. Only *measured* and *does_not_fit* are readings; the others, and any kill, are tried again."""

    MEASURED = "measured"
    DOES_NOT_FIT = "does_not_fit"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run in one process: *settings* are what the experiment needs to know, as JSON."""

    experiment: str
    name: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A case that ended: its readings as *rows*, or the *reason* why there are none. *date* is ISO 8601, in UTC.

    *others_share* is the part of the processors' time that other programs took meanwhile; ``None``: not known.
    """

    experiment: str
    case: str
    settings: dict[str, Any]
    conditions: dict[str, Any]
    outcome: Outcome
    date: str
    seconds: float
    rows: tuple[dict[str, Any], ...] = ()
    reason: str = ""
    others_share: float | None = None

    @property
    def is_reading(self) -> bool:
        return self.outcome in (Outcome.MEASURED, Outcome.DOES_NOT_FIT)

    @property
    def subject(self) -> tuple[str, ...]:
        """Of what it is, by ``SUBJECT``: figures of two subjects are never taken for one."""
        return tuple(str(self.conditions.get(key, "")) for key in SUBJECT)

    @property
    def why(self) -> str:
        """The last line of *reason*: of an error's whole way through the libraries, what went wrong."""
        return next(reversed(self.reason.strip().splitlines()), "")

    def answers(self, case: Case, conditions: Mapping[str, Any]) -> bool:
        """Whether this is the reading of *case* under the same conditions.

        A kill says as much of what else ran as of the case, so that such a case is tried again.
        """
        mine = (self.experiment, self.case, self.settings, self.conditions)
        return (
            self.is_reading
            and not self.reason.endswith(KILLED)
            and mine == (case.experiment, case.name, case.settings, dict(conditions))
        )


def output_folder() -> Path:
    """Where records, tables and pictures go unless something else is said; the app looks there too."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "measurements")


def make_folder(folder: Path) -> None:
    """Makes *folder*; raises BadFile where nothing can be written in it, before anything is measured for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as stream:
            stream.write(b"\n")
    except OSError as error:
        raise BadFile(f"{shorten_path(folder)} cannot be written: {error.strerror or error}.") from error


def append(record: Record, file: Path) -> None:
    """Adds one line, on disk before this returns. A line cut short by a crash is closed first.

    Raises BadFile where it cannot be written, as on a full disk.
    """
    text = json.dumps(asdict(record), ensure_ascii=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab+") as stream:
            if stream.tell():
                stream.seek(-1, os.SEEK_END)
                if stream.read(1) != b"\n":
                    stream.write(b"\n")
            stream.write(text.encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise BadFile(f"{shorten_path(file)} cannot be written: {error.strerror or error}.") from error


def read(file: Path) -> list[Record]:
    """Every whole record of *file*, oldest first; a line cut short is passed over. No file: no records.

    Raises BadFile where it cannot be read, and for the first line that is anything else.
    """
    return [record for record in _records(file) if record is not None]


def cut_short(folder: Path) -> int:
    """How many lines of the records in *folder* were cut short, as a crash leaves them, and are passed over."""
    return sum(record is None for file in sorted(folder.glob("*.jsonl")) for record in _records(file))


def newest(records: Iterable[Record]) -> list[Record]:
    """The last record of each case on each subject, in the order in which they first came."""
    kept: dict[tuple[str, ...], Record] = {}
    for record in records:
        kept[record.case, *record.subject] = record
    return list(kept.values())


def _records(file: Path) -> Iterator[Record | None]:
    """The record of each line that is not empty; ``None`` for one that was cut short."""
    if not file.exists():
        if file.parent.exists() and not file.parent.is_dir():
            raise BadFile(f"{shorten_path(file.parent)} is no folder, as one of records is.")
        return
    try:
        text = file.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise BadFile(f"{shorten_path(file)} cannot be read: {error.strerror or error}.") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _record(json.loads(line))
        except (TypeError, ValueError, KeyError, RecursionError) as error:
            if isinstance(error, json.JSONDecodeError) and line.startswith(_BEGINS):
                yield None
                continue
            raise BadFile(
                f"{shorten_path(file)}, line {number} is not a record of a measurement: {_why(error)}. Take that line "
                "out; the others stay."
            ) from error


def _why(error: Exception) -> str:
    match error:
        case json.JSONDecodeError():
            return "it is no JSON"
        case KeyError():
            return f"it has no {error.args[0]}"
        case RecursionError():
            return "it is nested too deeply"
        case _:
            return shorten(str(error))


def _record(values: Any) -> Record:
    """*values* as a record; raises TypeError, ValueError or KeyError where it is none."""
    if not isinstance(values, dict):
        raise TypeError("it is no object")
    kinds = {"experiment": str, "case": str, "settings": dict, "conditions": dict, "date": str, "rows": list}
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} is no {kind.__name__}")
    if not all(isinstance(row, dict) for row in values["rows"]):
        raise TypeError("a row is no dict")
    for key, value in values["conditions"].items():
        if not isinstance(value, int if key in _COUNTS else str):
            raise TypeError(f"{key} is {value!r}")
    datetime.fromisoformat(values["date"])
    for row in ({"seconds": values["seconds"]}, *values["rows"]):
        check_row(row)
    return Record(**values | {"outcome": Outcome(values["outcome"]), "rows": tuple(values["rows"])})


def check_row(row: Row) -> None:
    """Raises ValueError for a value that no instrument reads: a number that is none, too large or below zero."""
    for key, value in row.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_measure = key.endswith(_MEASURES) or key.startswith(("predicted_", "measured_"))
        if not (_is_possible(value, key) if is_number else value is None or not is_measure):
            raise ValueError(f"{key} is {shorten(repr(value))}")


def _is_possible(value: float, key: str) -> bool:
    is_there = value < _BEYOND if isinstance(value, int) else isfinite(value)
    return is_there and (value >= 0 or key in MAY_FALL)
