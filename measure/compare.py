"""Everything that was measured beside what was predicted, from the records in a folder."""

import math
from pathlib import Path
from typing import Any

from measure.experiments import EXPERIMENTS
from measure.findings import findings, sentence, title
from measure.records import newest, read
from measure.tables import text_table

PREDICTED, MEASURED = "predicted_", "measured_"


def comparison(folder: Path) -> list[dict[str, Any]]:
    """A row a pair of ``predicted_x`` and ``measured_x`` in the newest record of each case, with their ratio."""
    rows = []
    for name in EXPERIMENTS:
        for record in newest(read(folder / f"{name}.jsonl")):
            for row in record.rows:
                rows += _pairs(name, record.case, row)
    return rows


def comparison_text(rows: list[dict[str, Any]]) -> str:
    """The table, and how many of the predicted sizes are exact."""
    if not rows:
        return "Nothing is measured yet: python -m measure run cache-size is a start."
    found = findings(rows)
    words = f"{title(found)}. {sentence(found).replace('**', '')}" if found else "No size was predicted."
    return f"{text_table(rows)}\n\n{words}"


def _is_number(value: Any) -> bool:
    """``None`` is no reading; anything else was edited."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _pairs(experiment: str, case: str, row: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for key, predicted in row.items():
        quantity = key.removeprefix(PREDICTED)
        measured = row.get(MEASURED + quantity)
        if key.startswith(PREDICTED) and _is_number(predicted) and _is_number(measured):
            found.append(
                {
                    "experiment": experiment,
                    "case": case,
                    "quantity": quantity,
                    "predicted": predicted,
                    "measured": measured,
                    "ratio": measured / predicted if predicted else None,
                }
            )
    return found
