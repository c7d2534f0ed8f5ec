"""What no formula gives, collected from kept records: the raw readings from which a calibration profile is fitted.

Times of passes and steps, memory outside the framework, and reserved memory beyond tensors. Exact items are not among
them: where one of those disagrees with its prediction, the formula is wrong, and the disagreement is named instead.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from measure.compare import comparison
from measure.records import Outcome, Record, newest, read
from planner.errors import PlannerError

FILE = "calibration-readings.json"
TIMES = {"prefill-decode": ("phase", "tokens", "seconds"), "batching": ("requests", "cache_tokens", "step_s")}
MEMORY = ("weights_bytes", "measured_peak_bytes", "reserved_unused_bytes", "outside_bytes", "host_bytes")
EXACT = ("bytes", "cache_bytes", "weights_bytes", "score_bytes", "cached_score_bytes")


def collect(folder: Path) -> dict[str, Any]:
    """Conditions, times, memory and the exact items that disagree, as JSON. Raises PlannerError without readings."""
    records = {name: _measured(folder, name) for name in (*TIMES, "peak")}
    found = [record for each in records.values() for record in each]
    if not found:
        raise PlannerError(f"{folder} has no readings to calibrate from: run prefill-decode, batching and peak first.")
    machines = {tuple(record.conditions.get(key) for key in ("device", "driver", "torch", "dtype")) for record in found}
    if len(machines) > 1:
        raise PlannerError(f"{folder} holds readings of {len(machines)} devices or versions: keep those of one.")
    return {
        "conditions": found[0].conditions,
        "times": {name: _picked(records[name], keys) for name, keys in TIMES.items()},
        "memory": _picked(records["peak"], MEMORY),
        "disagreeing": [
            row for row in comparison(folder) if row["quantity"] in EXACT and row["predicted"] != row["measured"]
        ],
    }


def _measured(folder: Path, name: str) -> list[Record]:
    return [record for record in newest(read(folder / f"{name}.jsonl")) if record.outcome is Outcome.MEASURED]


def _picked(records: Iterable[Record], keys: Iterable[str]) -> list[dict[str, Any]]:
    return [{"case": record.case} | {key: row.get(key) for key in keys} for record in records for row in record.rows]
