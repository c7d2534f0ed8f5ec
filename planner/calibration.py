"""Measured items of one model, engine, version and card, in place of assumed ones; where they hold, and where not."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from planner.errors import PlannerError
from planner.line_item import Basis, Kind, LineItem
from planner.logs.readings import Reading
from planner.units import format_size

SAME_CARD = 0.01
"""Two readings of one card's memory differ by less: drivers and systems take some tens of MiB more or less."""

Conditions = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a profile, or a plan, is of. *engine_version* is the release, ``0.11`` of ``0.11.2rc1``."""

    model: str
    engine: str
    engine_version: str
    device: str
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredItem:
    """*bytes* of one device that a log shows, in place of the items that it *replaces*.

    It holds while the conditions in *depends_on* are those of the measurement. *bytes* may be negative: what was loaded
    can be less than what was counted.
    """

    name: str
    bytes: int
    source: str
    replaces: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """An item that does not hold any more: *condition* was *measured* and is *asked*."""

    item: MeasuredItem
    condition: str
    measured: str
    asked: str

    def sentence(self) -> str:
        """For a plan's warnings."""
        return (
            f"The profile's {self.item.name} was measured with {self.condition} = {self.measured}; with {self.asked} "
            "it is assumed again."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationProfile:
    """What one start showed: *items* for the planner, the *conditions* they were measured under, the raw *readings*."""

    subject: Subject
    conditions: dict[str, str] = field(default_factory=dict)
    items: tuple[MeasuredItem, ...]
    readings: tuple[Reading, ...] = ()

    def check(self, asked: Subject) -> None:
        """Refuses, naming both sides, to speak of another model, engine, version or card."""
        mine = self.subject
        for what, measured, wanted in (
            ("model", mine.model, asked.model),
            ("engine", mine.engine, asked.engine),
            ("version", mine.engine_version, asked.engine_version),
        ):
            if measured != wanted:
                raise PlannerError(_refusal(what, measured, wanted))
        is_same_size = abs(mine.memory_bytes - asked.memory_bytes) <= SAME_CARD * mine.memory_bytes
        if not is_same_size or (mine.device != asked.device and "stated" not in (mine.device, asked.device)):
            raise PlannerError(_refusal("card", _card(mine), _card(asked)))

    def stale(self, conditions: Conditions) -> Iterator[Stale]:
        """The items that *conditions* make doubtful, each with the first condition that differs."""
        for item in self.items:
            for name in item.depends_on:
                measured, asked = self.conditions.get(name, ""), conditions.get(name, "")
                if measured != asked:
                    yield Stale(
                        item=item, condition=name, measured=measured or "its default", asked=asked or "its default"
                    )
                    break

    def measured(self, items: Iterable[LineItem], conditions: Conditions) -> tuple[LineItem, ...]:
        """*items* with the measured ones in place of those that they replace; exact ones are never touched."""
        stale = {found.item.name for found in self.stale(conditions)}
        valid = [item for item in self.items if item.name not in stale]
        replaced = {name for item in valid for name in item.replaces}
        kept = tuple(item for item in items if item.name not in replaced)
        return kept + tuple(
            LineItem(name=item.name, kind=Kind.RUNTIME, bytes=item.bytes, basis=Basis.MEASURED, source=item.source)
            for item in valid
        )


def _refusal(what: str, measured: str, wanted: str) -> str:
    return (
        f"The profile was measured for the {what} {measured or 'of no name'}, and {wanted or 'none'} is asked: leave "
        "--profile out, or measure again."
    )


def _card(subject: Subject) -> str:
    return f"{subject.device} ({format_size(subject.memory_bytes)})"
