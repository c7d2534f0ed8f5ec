"""What a page shows of the experiments that ran: their sentences, tables and pictures, as the command left them."""

import json
import tomllib
from pathlib import Path
from typing import Any

from measure.experiments import EXPERIMENTS

RESULTS = "results"
"""The folder, within that of the records."""
SHOWN = {"experiment", "lesson", "disagreements", "tables", "without_reading"}
TABLE, WITHOUT = {"name", "rows", "chart"}, {"case", "outcome", "reason"}
EVERYTHING = "everything"
_DURATIONS = Path(__file__).parent / "durations.toml"


def results(folder: Path) -> list[dict[str, Any]]:
    """Each experiment's newest result as ``Result.shown`` gives it; one that cannot be read is left out."""
    found = []
    for name in EXPERIMENTS:
        try:
            result = json.loads((folder / RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if _is_result(result):
            found.append(result)
    return found


def _is_result(value: Any) -> bool:
    """Whether it has the parts that a page shows, as the command writes them."""
    if not (isinstance(value, dict) and value.keys() >= SHOWN and isinstance(value["lesson"], str)):
        return False
    lists = [value[key] for key in ("disagreements", "tables", "without_reading")]
    return all(isinstance(one, list) for one in lists) and (
        all(isinstance(said, str) for said in lists[0])
        and all(isinstance(one, dict) and one.keys() >= TABLE and isinstance(one["rows"], list) for one in lists[1])
        and all(isinstance(one, dict) and one.keys() >= WITHOUT for one in lists[2])
    )


def quick_seconds(name: str) -> int:
    """How long the quick run of an experiment, or of everything, took on two cores; 0 where it was not timed."""
    known: dict[str, int] = tomllib.loads(_DURATIONS.read_text(encoding="utf-8"))["quick_seconds"]
    if name == EVERYTHING:
        return sum(known.values()) if known.keys() == EXPERIMENTS.keys() else 0
    return known.get(name, 0)
