"""What every experiment offers: its cases, how one runs, and what all of them together say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from measure.records import Case, Record
from measure.setup import Setup
from measure.worker import Message

if TYPE_CHECKING:
    from measure.pictures import Chart

Settings = Mapping[str, Any]
TOO_FEW = "Too few cases gave a reading to learn from"
"""The sentence of an experiment whose cases mostly gave none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of the same keys and their picture; *name* tells apart the tables of one experiment."""

    rows: Sequence[dict[str, Any]]
    name: str = ""
    chart: "Chart | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """*lesson* is the sentence of what was learned; *disagreements* name wrong predictions with their size."""

    tables: tuple[Table, ...]
    lesson: str
    disagreements: tuple[str, ...] = ()


def rows_of(records: Sequence[Record], kind: str | None = None) -> list[dict[str, Any]]:
    """All rows of *records*, or those whose ``kind`` is *kind*, without that key."""
    rows = [row for record in records for row in record.rows]
    if kind is None:
        return rows
    return [{key: value for key, value in row.items() if key != "kind"} for row in rows if row["kind"] == kind]


class Experiment(Protocol):
    """One module a measurement. ``run`` is a generator that lives in a process of its own."""

    __name__: str

    def cases(self, setup: Setup) -> list[Case]:
        """What will be run. Raises PlannerError for a model with which it makes no sense."""
        ...

    def needed_bytes(self, settings: Settings, setup: Setup) -> int:
        """About how much memory a case takes at most, for the guard."""
        ...

    def run(self, settings: Settings, setup: Setup) -> Iterator[Message]:
        """Yields readings as rows of JSON."""
        ...

    def report(self, records: Sequence[Record], setup: Setup) -> Report:
        """Table, picture and sentence from the records of all cases."""
        ...
