"""One line of a budget and what it rests on."""

from dataclasses import field
from enum import StrEnum

from planner.records import dataclass

OTHERS = "other programs"
"""The item for what the system and all else that is open take of a machine's memory."""


class Basis(StrEnum):
    """How a figure is known."""

    EXACT = "exact"
    """From the model's own tensor shapes."""
    RULE = "rule"
    """From an engine's own code."""
    MEASURED = "measured"
    """Read from an allocator or a log, through a profile."""
    ASSUMED = "assumed"
    """Stated by the user, or taken from the spread of public readings."""


class Kind(StrEnum):
    """Which part of the card's bar a line belongs to."""

    WEIGHTS = "weights"
    RUNTIME = "runtime"
    CACHE = "cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """Bytes of one device with their basis and source. *low_bytes* and *high_bytes* differ only where assumed."""

    name: str
    kind: Kind
    bytes: int
    basis: Basis
    source: str
    low_bytes: int = field(default=-1)
    high_bytes: int = field(default=-1)

    def __post_init__(self) -> None:
        for name in ("low_bytes", "high_bytes"):
            if getattr(self, name) < 0:
                object.__setattr__(self, name, self.bytes)
