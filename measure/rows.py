"""The newest rows of each experiment in a folder, and what several readers take from them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from measure.records import newest, read

Row = Mapping[str, Any]
NO_READING = (LookupError, ArithmeticError, TypeError, ValueError)
"""What looking for a figure raises where its rows are not there, or somebody has edited them."""


class Rows:
    """Read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, list[dict[str, Any]]] = {}

    def of(self, experiment: str, **wanted: Any) -> list[dict[str, Any]]:
        """The rows of *experiment* that have these values."""
        if experiment not in self._kept:
            records = newest(read(self._folder / f"{experiment}.jsonl"))
            self._kept[experiment] = [row for record in records for row in record.rows]
        return [row for row in self._kept[experiment] if all(row.get(key) == value for key, value in wanted.items())]

    def one(self, experiment: str, **wanted: Any) -> dict[str, Any]:
        """The last such row; raises LookupError where there is none."""
        return self.of(experiment, **wanted)[-1]


def by(key: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """*rows* in the order of *key*; raises LookupError where there are none."""
    found = sorted(rows, key=lambda row: row[key])
    if not found:
        raise LookupError(key)
    return found


def peak_ratios(rows: Sequence[Row], attention: str, logits: str) -> dict[int, float]:
    """Peak without over peak with a cache by the tokens generated, for one request and the shortest prompt."""
    peaks = {
        (row["prompt_tokens"], row["generated_tokens"], row["cached"]): row["measured_peak_bytes"]
        for row in rows
        if (row["attention"], row["logits"], row["batch"]) == (attention, logits, 1)
    }
    shortest = min((prompt for prompt, _, _ in peaks), default=0)
    return {
        count: peaks[prompt, count, False] / peak
        for (prompt, count, cached), peak in sorted(peaks.items())
        if prompt == shortest and cached and (prompt, count, False) in peaks
    }
