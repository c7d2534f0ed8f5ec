"""Rows as an experiment would leave them in its folder."""

from pathlib import Path
from typing import Any

from measure.records import Outcome, Record, append


def keep(folder: Path, experiment: str, *rows: dict[str, Any], case: str = "test", **conditions: Any) -> None:
    record = Record(
        experiment=experiment, case=case, settings={}, conditions=conditions, outcome=Outcome.MEASURED,
        date="2026-11-30T08:00:00+00:00", seconds=1.0, rows=rows,
    )  # fmt: skip
    append(record, folder / f"{experiment}.jsonl")
