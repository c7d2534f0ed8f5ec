"""Everything that was measured beside what was predicted, from the records in a folder."""

import math
from pathlib import Path
from typing import Any

from measure.experiments import EXPERIMENTS
from measure.findings import findings, sentence, title
from measure.records import Record, cut_short, newest, read
from measure.tables import text_table

PREDICTED, MEASURED = "predicted_", "measured_"


def comparison(folder: Path) -> list[dict[str, Any]]:
    """A row a pair of ``predicted_x`` and ``measured_x`` in the newest record of each case and subject.

    *ratio* is measured ÷ predicted. *agrees* says how a reading that is not the predicted number agrees with it all the
    same: *as printed*, once rounded to the digits that an engine prints, or *within* a predicted range; else ``None``.
    """
    rows = []
    for name in EXPERIMENTS:
        for record in newest(read(folder / f"{name}.jsonl")):
            for row in record.rows:
                rows += _pairs(record, row)
    return rows


def passed_over(folder: Path) -> str:
    """A sentence about lines that were cut short; empty where there are none."""
    match cut_short(folder):
        case 0:
            return ""
        case 1:
            return "One line of the records was cut short, as a crash leaves it, and is passed over."
        case count:
            return f"{count:,} lines of the records were cut short, as a crash leaves them, and are passed over."


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


def _pairs(record: Record, row: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for key, predicted in row.items():
        quantity = key.removeprefix(PREDICTED)
        measured = row.get(MEASURED + quantity)
        if key.startswith(PREDICTED) and _is_number(predicted) and _is_number(measured):
            found.append(
                {
                    "experiment": record.experiment,
                    "case": f"{record.case}{_shape(record, row)}",
                    "model": _model(record, row),
                    "dtype": str(record.conditions.get("dtype", "")),
                    "device": str(record.conditions.get("device", "")),
                    "quantity": quantity,
                    "predicted": predicted,
                    "measured": measured,
                    "ratio": measured / predicted if predicted else None,
                    "agrees": _agrees(row, quantity.removesuffix("_bytes")),
                }
            )
    return found


def _model(record: Record, row: dict[str, Any]) -> str:
    copy = " (a small copy)" if record.conditions.get("model_changes") else ""
    return f"{row['model']}{copy}" if "model" in row else ""


def _shape(record: Record, row: dict[str, Any]) -> str:
    """What tells *row* from the others of its case, where it has several."""
    if len(record.rows) < 2:
        return ""
    if "batch" in row and "tokens" in row:
        return f", {row['batch']} × {row['tokens']} tokens"
    return f", rank {row['rank']}" if "rank" in row else ""


def _agrees(row: dict[str, Any], name: str) -> str | None:
    for how, key in (("as printed", f"{name}_as_printed"), ("within", f"{name}_within")):
        if row.get(key) is True:
            return how
    return None
