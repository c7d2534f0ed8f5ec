"""Readings beside predictions, in words: how many are exact, how many near, and which are off by how much."""

from collections import defaultdict
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
    PRINTED = "equal as printed"
    RANGE = "within its range"
    NEAR = "within 10%"
    OFF = "off"


RIGHT = (Closeness.EXACT, Closeness.PRINTED)
WRONG = (Closeness.NEAR, Closeness.OFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One pair of ``measure.compare``: *name* says what was read, *ratio* is measured ÷ predicted."""

    name: str
    experiment: str
    device: str
    quantity: str
    predicted: float
    measured: float
    ratio: float | None
    closeness: Closeness


def findings(rows: Iterable[dict[str, Any]]) -> list[Finding]:
    """The memory predictions among *rows* of ``measure.compare.comparison``; subjects of one case are told apart."""
    sizes = [row for row in rows if str(row["quantity"]).endswith(SIZES)]
    told: defaultdict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in sizes:
        told[_key(row)].append(row)
    return [_finding(row, told[_key(row)]) for row in sizes]


def title(found: Sequence[Finding]) -> str:
    """The verdict: how many predictions are exact, on the device of the readings."""
    exact = sum(one.closeness in RIGHT for one in found)
    devices = {one.device for one in found if one.device}
    place = f" on {next(iter(devices))}" if len(devices) == 1 else f" on {len(devices)} devices" if devices else ""
    if exact == len(found):
        return f"All {len(found):,} predictions are exact{place}"
    return f"{exact:,} of {len(found):,} predictions are exact{place}"


def sentence(found: Sequence[Finding]) -> str:
    """The others, the worst by name. ``**`` marks what to stress."""
    parts = []
    if all(one.closeness in RIGHT for one in found):
        parts.append("Every size that was read is the one that the planner says.")
    printed, ranged = (sum(one.closeness is kind for one in found) for kind in (Closeness.PRINTED, Closeness.RANGE))
    if printed:
        parts.append(f"{_are(printed)} exact once rounded to the digits that an engine prints.")
    if ranged:
        parts.append(f"{_are(ranged)} within the range that the planner assumes.")
    for closeness in WRONG:
        those = worst_first(one for one in found if one.closeness is closeness)
        if those:
            colon = ": " if len(those) == 1 else ", the farthest: "
            parts.append(f"{_are(len(those))} {closeness}{colon}**{those[0].name}**, {size(those[0])}.")
    return " ".join(parts)


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """In the order of how far they are off."""
    return sorted(found, key=_distance, reverse=True)


def size(one: Finding) -> str:
    """By how much a prediction is wrong: ``2.2 times too low``, ``3.4% too high``, ``equal``."""
    match one.closeness:
        case Closeness.EXACT:
            return "equal"
        case Closeness.PRINTED:
            return "equal as printed"
        case Closeness.RANGE:
            return "within its range"
        case _:
            return _off_by(one)


def _off_by(one: Finding) -> str:
    if one.ratio is None or one.ratio == 0:
        return f"{one.measured - one.predicted:+,.0f}"
    way = "low" if one.ratio > 1 else "high"
    factor = max(one.ratio, 1 / one.ratio)
    if factor >= 1.5:
        return f"{factor:,.{0 if factor >= 100 else 1}f} times too {way}"
    percent = 100 * abs(one.predicted / one.measured - 1)
    return f"{f'{percent:.2g}' if percent >= 0.001 else 'less than 0.001'}% too {way}"


def _are(count: int) -> str:
    return "One is" if count == 1 else f"{count:,} are"


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[key]) for key in ("experiment", "case", "quantity"))


def _finding(row: dict[str, Any], same: Sequence[dict[str, Any]]) -> Finding:
    """*same* are the rows of the same case, *row* among them."""
    predicted, measured, ratio = row["predicted"], row["measured"], row["ratio"]
    if predicted == measured:
        closeness = Closeness.EXACT
    elif row["agrees"]:
        closeness = Closeness.PRINTED if row["agrees"] == "as printed" else Closeness.RANGE
    else:
        closeness = Closeness.NEAR if ratio is not None and abs(ratio - 1) <= NEAR else Closeness.OFF
    key = row["experiment"], row["quantity"]
    words = WORDS.get(key, str(row["quantity"]).removesuffix("_bytes").replace("_", " "))
    told = [row[key] for key in ("model", "dtype", "device") if len({one[key] for one in same}) > 1]
    return Finding(
        name=", ".join((words, row["case"], *filter(None, told))),
        experiment=row["experiment"],
        device=row["device"],
        quantity=row["quantity"],
        predicted=predicted,
        measured=measured,
        ratio=ratio,
        closeness=closeness,
    )


def _distance(one: Finding) -> float:
    return max(one.ratio, 1 / one.ratio) if one.ratio else float("inf")
