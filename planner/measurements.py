"""What was measured: an item of memory, a pass and its time, and where each holds."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from planner.errors import PlannerError
from planner.line_item import Basis, Kind, LineItem
from planner.records import dataclass
from planner.units import shorten

_BEYOND = 2**63
"""No size, count, time or rate is as large; nor is what is no number below it."""
Conditions = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredItem:
    """*bytes* of one device that a log or an allocator shows, in place of the items that it *replaces*.

    With *bytes_per_token* it grows with the tokens that are computed at once, whole prompts of all requests. *error* is
    the largest relative one of readings that a fit had not seen. It holds while the conditions in *depends_on* are
    those of the measurement. *bytes* may be negative: what was loaded can be less than what was counted.

    *assumed_bytes* is what the planner assumed for the same items with the settings of the measurement. Where no others
    differ than those in *follows*, the item is carried over: what is assumed with the new settings, and the difference
    that the measurement showed.
    """

    name: str
    bytes: int
    source: str
    bytes_per_token: float = 0.0
    error: float | None = None
    replaces: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    assumed_bytes: int | None = None

    def __post_init__(self) -> None:
        check_numbers(self, any_sign=("bytes",))

    def differing(self, measured: Conditions, asked: Conditions) -> tuple[str, ...]:
        """The conditions it depends on that are not those of the measurement."""
        return tuple(name for name in self.depends_on if measured.get(name, "") != asked.get(name, ""))

    def can_follow(self, differing: Iterable[str]) -> bool:
        """Whether it can be carried over to settings that differ in *differing*."""
        return self.assumed_bytes is not None and set(differing) <= set(self.follows)

    def carried(self, items: Iterable[LineItem]) -> LineItem:
        """The budget's line with other settings, for which *items* are what the planner assumes."""
        replaced = [item for item in items if item.name in self.replaces]
        shift_bytes = self.bytes - (self.assumed_bytes or 0)
        ends = (
            (item.low_bytes for item in replaced),
            (item.bytes for item in replaced),
            (i.high_bytes for i in replaced),
        )
        low, expected, high = (max(0, sum(sizes) + shift_bytes) for sizes in ends)
        return LineItem(
            name=self.name,
            kind=Kind.RUNTIME,
            bytes=expected,
            low_bytes=low,
            high_bytes=high,
            basis=Basis.ASSUMED,
            source=f"{self.source}, carried over to other settings as the assumption changes",
        )

    def line(self, tokens: int = 0) -> LineItem:
        """The budget's line while *tokens* are computed at once."""
        size = self.bytes + round(self.bytes_per_token * tokens)
        return LineItem(name=self.name, kind=Kind.RUNTIME, bytes=size, basis=Basis.MEASURED, source=self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """An item that does not hold any more: *condition* was *measured* and is *asked*."""

    item: MeasuredItem
    condition: str
    measured: str
    asked: str
    is_carried: bool = False

    def sentence(self) -> str:
        """For a plan's warnings."""
        instead = "assumed again" if self.item.replaces else "not counted"
        if self.is_carried:
            instead = "carried over, as what is assumed changes"
        return (
            f"The profile measured {self.item.name} with {self.condition} = {self.measured}; with {self.asked} this is "
            f"{instead}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPass:
    """One forward pass: *new_tokens* of each of *requests* against *cached_tokens* that were there, and its *seconds*.

    A pass whose memory alone was read has none. *layers*, *read_bytes* and *operations* are its work by the model's
    shapes. Memory is there where it was read: *peak_bytes* above the weights, *cache_bytes* of them the cache;
    *slack_bytes* that the allocator held unused, *outside_bytes* of the process beyond tensors and slack.
    """

    requests: int
    new_tokens: int
    cached_tokens: int
    seconds: float | None
    layers: int
    read_bytes: int
    operations: int
    peak_bytes: int | None = None
    cache_bytes: int | None = None
    slack_bytes: int | None = None
    outside_bytes: int | None = None

    def __post_init__(self) -> None:
        check_numbers(self, above_zero=("requests", "new_tokens", "seconds", "layers"))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpeed:
    """A pass takes layer_s · layers + bytes ÷ *read_bytes_per_s* + operations ÷ *operations_per_s*.

    A rate that no pass shows is ``None``, and costs nothing. The errors are relative, of passes left out of the fit.
    """

    layer_s: float
    read_bytes_per_s: float | None
    operations_per_s: float | None
    median_error: float
    worst_error: float

    def __post_init__(self) -> None:
        check_numbers(self, above_zero=("read_bytes_per_s", "operations_per_s"))

    def seconds(self, measured: MeasuredPass) -> float:
        """What the model says of the work of *measured*."""
        reading = measured.read_bytes / self.read_bytes_per_s if self.read_bytes_per_s else 0.0
        computing = measured.operations / self.operations_per_s if self.operations_per_s else 0.0
        return self.layer_s * measured.layers + reading + computing


def check_numbers(record: Any, above_zero: Iterable[str] = (), any_sign: Iterable[str] = ()) -> None:
    """Raises PlannerError for a number of *record* that is no reading: below zero, or none at all."""
    for name in (each.name for each in fields(record)):
        value = getattr(record, name)
        if isinstance(value, int | float):
            is_possible = abs(value) < _BEYOND and (value >= 0 or name in any_sign)
            if not is_possible or (name in above_zero and not value):
                raise PlannerError(no_reading(name, value))


def no_reading(what: str, value: float) -> str:
    return (
        f"The profile says {what} = {shorten(f'{value:,}')}, which nothing that was measured can have: measure again."
    )
