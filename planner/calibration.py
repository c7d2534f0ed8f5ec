"""Measured items of one engine, version and card, in place of assumed ones; where they hold, and where not.

A start's log gives those of one model; passes measured on the machine itself give what every model has there too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field

from planner.errors import PlannerError
from planner.line_item import LineItem
from planner.logs.readings import Reading
from planner.measurements import (
    Conditions,
    MeasuredItem,
    MeasuredPass,
    MeasuredSpeed,
    Stale,
    check_numbers,
    no_reading,
)
from planner.records import dataclass
from planner.units import format_size

SAME_CARD = 0.01
"""Two readings of one card's memory differ by less: drivers and systems take some tens of MiB more or less."""

SHAPE = "shape"
"""The condition by which a model is known, whatever it is called; said by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a profile, or a plan, is of. *engine_version* is the release, ``0.11`` of ``0.11.2rc1``.

    *model* is empty where a profile is of any. *is_machine*: measured on the machine itself, so that a plan may have as
    much of *memory_bytes* as other programs leave.
    """

    model: str
    engine: str
    engine_version: str
    device: str
    memory_bytes: int
    is_machine: bool = False

    def __post_init__(self) -> None:
        check_numbers(self, above_zero=("memory_bytes",))


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationProfile:
    """What one start, or passes on a machine, showed: *items* for the planner, and the *conditions* of the measurement.

    Raw are the *readings* of a log and the *passes* of a machine, to which *speed* was fitted.
    """

    subject: Subject
    conditions: dict[str, str] = field(default_factory=dict)
    items: tuple[MeasuredItem, ...]
    readings: tuple[Reading, ...] = ()
    passes: tuple[MeasuredPass, ...] = ()
    speed: MeasuredSpeed | None = None
    title: str = ""

    def __post_init__(self) -> None:
        """What a machine's passes hold is never less than nothing, and no item is larger than its card."""
        most = self.subject.memory_bytes
        for item in self.items:
            least = 0 if self.subject.is_machine else -most
            if not least <= item.bytes <= most:
                raise PlannerError(no_reading(f"{item.name}'s bytes", item.bytes))

    def check(self, asked: Subject) -> None:
        """Refuses, naming both sides, to speak of another model, engine, version or card."""
        mine = self.subject
        for what, measured, wanted in (
            ("model", mine.model, asked.model),
            ("engine", mine.engine, asked.engine),
            ("version", mine.engine_version, asked.engine_version),
        ):
            if measured != wanted and not (what == "model" and not measured):
                raise PlannerError(_refusal(what, measured, wanted))
        more_bytes = asked.memory_bytes - mine.memory_bytes
        is_same_size = (more_bytes if mine.is_machine else abs(more_bytes)) <= SAME_CARD * mine.memory_bytes
        if not is_same_size or (mine.device != asked.device and "stated" not in (mine.device, asked.device)):
            raise PlannerError(_refusal("card", _card(mine), _card(asked)))

    def stale(self, conditions: Conditions) -> Iterator[Stale]:
        """The items that *conditions* make doubtful, each with the first condition that differs."""
        for item in self.items:
            differing = item.differing(self.conditions, conditions)
            if differing:
                name = "model" if differing[0] == SHAPE else differing[0]
                yield Stale(
                    item=item,
                    condition=name,
                    measured=self.conditions.get(name, "") or "its default",
                    asked=conditions.get(name, "") or "its default",
                    is_carried=item.can_follow(differing),
                )

    def measured(self, items: Iterable[LineItem], conditions: Conditions) -> tuple[LineItem, ...]:
        """*items* with the measured ones in place of those that they replace; exact ones are never touched.

        One that was measured with other settings is carried over where it can follow them.
        """
        assumed = tuple(items)
        valid, carried = self._valid(conditions), self._carried(conditions)
        replaced = {name for item in (*valid, *carried) for name in item.replaces}
        kept = tuple(item for item in assumed if item.name not in replaced)
        lines = tuple(item.line() for item in valid if not item.bytes_per_token)
        return (*kept, *lines, *(item.carried(assumed) for item in carried))

    def growing(self, items: Iterable[LineItem], tokens: int, conditions: Conditions) -> tuple[LineItem, ...]:
        """*items* with those that grow with *tokens* computed at once in place of the ones that they replace."""
        valid = [item for item in self._valid(conditions) if item.bytes_per_token]
        replaced = {name for item in valid for name in item.replaces}
        return (*(item for item in items if item.name not in replaced), *(item.line(tokens) for item in valid))

    def _valid(self, conditions: Conditions) -> list[MeasuredItem]:
        return [item for item in self.items if not item.differing(self.conditions, conditions)]

    def _carried(self, conditions: Conditions) -> list[MeasuredItem]:
        differing = ((item, item.differing(self.conditions, conditions)) for item in self.items)
        return [item for item, names in differing if names and item.can_follow(names)]


def _refusal(what: str, measured: str, wanted: str) -> str:
    return (
        f"The profile was measured for the {what} {measured or 'of no name'}, and {wanted or 'none'} is asked: leave "
        "--profile out, or measure again."
    )


def _card(subject: Subject) -> str:
    return f"{subject.device} ({format_size(subject.memory_bytes)})"
