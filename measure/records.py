"""What a run leaves behind: one JSON line a case, with its conditions. A file of them can be read while it grows."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from planner.errors import BadFile
from planner.units import shorten_path

FOLDER_VARIABLE = "KVBUDGET_MEASUREMENTS"
"""Names another folder than ``measurements`` in the working one."""
Row = Mapping[str, Any]


class Outcome(StrEnum):
    """How a case ended. Only *measured* and *does_not_fit* are readings; the others are tried again."""

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
    """A case that ended: its readings as *rows*, or the *reason* why there are none. *date* is ISO 8601, in UTC."""

    experiment: str
    case: str
    settings: dict[str, Any]
    conditions: dict[str, Any]
    outcome: Outcome
    date: str
    seconds: float
    rows: tuple[dict[str, Any], ...] = ()
    reason: str = ""

    @property
    def is_reading(self) -> bool:
        return self.outcome in (Outcome.MEASURED, Outcome.DOES_NOT_FIT)

    @property
    def why(self) -> str:
        """The last line of *reason*: of an error's whole way through the libraries, what went wrong."""
        return next(reversed(self.reason.strip().splitlines()), "")

    def answers(self, case: Case, conditions: Mapping[str, Any]) -> bool:
        """Whether this is the reading of *case* under the same conditions."""
        mine = (self.experiment, self.case, self.settings, self.conditions)
        return self.is_reading and mine == (case.experiment, case.name, case.settings, dict(conditions))


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
    """Every whole record of *file*, oldest first; a line cut short is passed over. No file: no records."""
    if not file.is_file():
        return []
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadFile(f"{shorten_path(file)} cannot be read: {error.strerror or error}.") from error
    return list(_parse(text.split("\n"), file))


def newest(records: Iterable[Record]) -> list[Record]:
    """The last record of each case, in the order in which cases first came."""
    by_case: dict[str, Record] = {}
    for record in records:
        by_case[record.case] = record
    return list(by_case.values())


def _parse(lines: Iterable[str], file: Path) -> Iterator[Record]:
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
        except ValueError:
            continue
        try:
            yield _record(values)
        except (TypeError, ValueError, KeyError) as error:
            raise BadFile(
                f"{shorten_path(file)}, line {number} is not a record of a measurement: {error}. Move the file away."
            ) from error


def _record(values: Any) -> Record:
    """*values* as a record; raises TypeError, ValueError or KeyError where it is none."""
    kinds = {"experiment": str, "case": str, "settings": dict, "conditions": dict, "date": str, "rows": list}
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} is no {kind.__name__}")
    if not all(isinstance(row, dict) for row in values["rows"]):
        raise TypeError("a row is no dict")
    return Record(**values | {"outcome": Outcome(values["outcome"]), "rows": tuple(values["rows"])})
