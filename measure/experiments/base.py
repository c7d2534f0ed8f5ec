"""What every experiment offers: its cases, how one runs, and what all of them together say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from measure.records import Case, Record
from measure.setup import Setup
from measure.worker import Message

if TYPE_CHECKING:
    import altair as alt

Settings = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """*rows* are the table, *lesson* the sentence of what was learned, *disagreements* predictions that were wrong."""

    rows: tuple[dict[str, Any], ...]
    lesson: str
    chart: "alt.Chart | alt.LayerChart | alt.FacetChart | None" = None
    disagreements: tuple[str, ...] = ()


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
