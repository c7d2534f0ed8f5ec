"""A pool as printed and as predicted, and the rows of the tables that METHOD.md keeps of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from planner.units import GIB

PERCENTILE = 0.9
ROUNDING_BYTES = GIB // 100
"""Engines print sizes to 0.01 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Bytes as printed and as predicted, and whether what is printed lies between the low and the high end.

    *log*: the start whose profile was used, empty for a prediction from model, card and flags alone; *stale*: its
    settings differ, so that some of its items are assumed again.
    """

    name: str
    model: str
    card: str
    printed_bytes: int
    predicted_bytes: int
    low_bytes: int
    high_bytes: int
    log: str = ""
    stale: bool = False

    @property
    def error(self) -> float:
        return self.predicted_bytes / self.printed_bytes - 1

    @property
    def is_covered(self) -> bool:
        return self.low_bytes - ROUNDING_BYTES <= self.printed_bytes <= self.high_bytes + ROUNDING_BYTES

    def __str__(self) -> str:
        after = f"  after {self.log}{', other settings' if self.stale else ''}" if self.log else ""
        return (
            f"{self.name:26} {self.model:30} {self.card:22} printed {self.printed_bytes / GIB:7.2f} GiB"
            f"  predicted {self.predicted_bytes / GIB:7.2f}"
            f" ({self.low_bytes / GIB:.2f} – {self.high_bytes / GIB:.2f})  {self.error:+.1%}{after}"
        )


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that *share* of *values* do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def summary(name: str, found: Iterable[Prediction]) -> str:
    """A row of the table that METHOD.md keeps."""
    ones = list(found)
    errors = [abs(one.error) for one in ones]
    covered = sum(one.is_covered for one in ones)
    return (
        f"| {name} | {len(ones)} | {median(errors):.1%} | {percentile(errors, PERCENTILE):.1%} | {max(errors):.1%} "
        f"| {covered} |"
    )
