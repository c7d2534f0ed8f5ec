"""What a page shows of the experiments that ran: their sentences, tables and pictures, as the command left them."""

import json
import tomllib
from pathlib import Path
from typing import Any

from measure.experiments import EXPERIMENTS

RESULTS = "results"
"""The folder, within that of the records."""
SHOWN = {"experiment", "lesson", "disagreements", "tables", "without_reading"}
EVERYTHING = "everything"
_DURATIONS = Path(__file__).parent / "durations.toml"


def results(folder: Path) -> list[dict[str, Any]]:
    """Each experiment's newest result as ``Result.shown`` gives it; one that cannot be read is left out."""
    found = []
    for name in EXPERIMENTS:
        try:
            result = json.loads((folder / RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(result, dict) and result.keys() >= SHOWN:
            found.append(result)
    return found


def quick_seconds(name: str) -> int:
    """How long the quick run of an experiment, or of everything, took on two busy cores; 0 where it was not timed."""
    known: dict[str, int] = tomllib.loads(_DURATIONS.read_text(encoding="utf-8"))["quick_seconds"]
    if name == EVERYTHING:
        return sum(known.values()) if known.keys() == EXPERIMENTS.keys() else 0
    return known.get(name, 0)
