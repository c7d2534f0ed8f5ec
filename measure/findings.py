"""Readings beside predictions, in words: how many are exact, how many near, and which are off by how much."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

NEAR = 0.1
SIZES = ("bytes", "most", "_tokens", "blocks")
"""What a memory prediction's quantity ends with: sizes, the most that fits, a pool's tokens and blocks."""


WORDS = {
    ("cache-size", "bytes"): "cache",
    ("weight-quantization", "bytes"): "packed weights",
    ("capacity", "most"): "most that fits",
}
"""Quantities whose own names do not say what was read."""


class Closeness(StrEnum):
    """How a reading stands to its prediction."""

    EXACT = "exact"
    NEAR = "within 10%"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One pair of ``measure.compare``: *name* says what was read, *ratio* is measured ÷ predicted."""

    name: str
    experiment: str
    quantity: str
    predicted: float
    measured: float
    ratio: float | None
    closeness: Closeness


def findings(rows: Iterable[dict[str, Any]]) -> list[Finding]:
    """The memory predictions among *rows* of ``measure.compare.comparison``."""
    return [_finding(row) for row in rows if str(row["quantity"]).endswith(SIZES)]


def title(found: Sequence[Finding]) -> str:
    """The verdict: how many predictions are exact on this machine."""
    exact = sum(one.closeness is Closeness.EXACT for one in found)
    if exact == len(found):
        return f"All {len(found):,} predictions are exact here"
    return f"{exact:,} of {len(found):,} predictions are exact here"


def sentence(found: Sequence[Finding]) -> str:
    """The others, the worst by name. ``**`` marks what to stress."""
    parts = []
    for closeness in (Closeness.NEAR, Closeness.OFF):
        those = sorted((one for one in found if one.closeness is closeness), key=_distance, reverse=True)
        if those:
            how_many, colon = ("One is", ": ") if len(those) == 1 else (f"{len(those):,} are", ", the farthest: ")
            parts.append(f"{how_many} {closeness}{colon}**{those[0].name}**, {size(those[0])}.")
    return " ".join(parts) or "Every tensor that was read has the bytes that the planner says, to the last one."


def size(one: Finding) -> str:
    """By how much a prediction is wrong: ``2.2 times too low``, ``3.4% too high``, ``equal``."""
    if one.closeness is Closeness.EXACT:
        return "equal"
    if one.ratio is None or one.ratio == 0:
        return f"{one.measured - one.predicted:+,.0f}"
    way = "low" if one.ratio > 1 else "high"
    factor = max(one.ratio, 1 / one.ratio)
    if factor >= 1.5:
        return f"{factor:.1f} times too {way}"
    return f"{100 * abs(one.predicted / one.measured - 1):.2g}% too {way}"


def _finding(row: dict[str, Any]) -> Finding:
    predicted, measured, ratio = row["predicted"], row["measured"], row["ratio"]
    if predicted == measured:
        closeness = Closeness.EXACT
    else:
        closeness = Closeness.NEAR if ratio is not None and abs(ratio - 1) <= NEAR else Closeness.OFF
    key = row["experiment"], row["quantity"]
    words = WORDS.get(key, str(row["quantity"]).removesuffix("_bytes").replace("_", " "))
    return Finding(
        name=f"{words}, {row['case']}",
        experiment=row["experiment"],
        quantity=row["quantity"],
        predicted=predicted,
        measured=measured,
        ratio=ratio,
        closeness=closeness,
    )


def _distance(one: Finding) -> float:
    return max(one.ratio, 1 / one.ratio) if one.ratio else float("inf")
