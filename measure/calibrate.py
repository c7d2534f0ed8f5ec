"""A calibration profile from kept records: passes of one model under the newest conditions, and what is fitted to them.

Exact items are not among them: where one of those disagrees with its prediction, the formula is wrong, and the
disagreement is named instead.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from measure.compare import comparison
from measure.fitting import measured_items, measured_speed
from measure.records import Outcome, Record, newest, read
from planner.borders import validate
from planner.calibration import SHAPE, CalibrationProfile, Subject
from planner.errors import PlannerError
from planner.inputs.profile_files import MAX_NAME_CHARACTERS, save_profile, write_profile
from planner.measurements import MeasuredPass
from planner.startups.cards import device_named
from planner.units import format_bytes, format_rate

ENGINE = "transformers"
READ_FROM = ("prefill-decode", "batching")
"""The experiments whose rows are passes."""
EXACT = ("bytes", "cache_bytes", "weights_bytes", "score_bytes", "cached_score_bytes")
KEPT = ("dtype", "torch", "transformers", "driver", "platform", "threads", "seed", "device_kind")
NEEDED = ("device", "device_bytes", "transformers", "dtype")
NOISY = 0.3
"""Held-out times further off than this, in the median, are not of the machine alone."""
SCATTERED = 1.0
"""A single one further off than this is not either."""
NAMES = ("model", "model_name", SHAPE, "changes", "attention")
_KEYS = [field.name for field in fields(MeasuredPass)]


def calibrate(folder: Path) -> CalibrationProfile:
    """The profile of the readings in *folder* with the newest one's conditions. Raises PlannerError without any."""
    records = [record for name in READ_FROM for record in newest(read(folder / f"{name}.jsonl"))]
    measured = [record for record in records if record.outcome is Outcome.MEASURED and list(_passes(record))]
    if not measured:
        advice = "run prefill-decode and batching first"
        if records:
            advice = "what was read says no model's shape; run prefill-decode and batching with --again"
        raise PlannerError(f"{folder} has no readings to calibrate from: {advice}.")
    last = max(measured, key=lambda record: record.date)
    if lacking := [key for key in NEEDED if key not in last.conditions]:
        raise PlannerError(f"The readings in {folder} do not say their {', '.join(lacking)}: measure again.")
    passes = tuple(found for record in measured if record.conditions == last.conditions for found in _passes(record))
    return profile_of(passes, last.conditions, _named_row(last), last.date)


def profile_of(
    passes: tuple[MeasuredPass, ...], conditions: Mapping[str, Any], row: Mapping[str, Any], date: str
) -> CalibrationProfile:
    """The profile of *passes*; *row* is one of theirs and says which model and attention they were of."""
    title, copy = str(conditions["device"]), " (a small copy)" if row["changes"] else ""
    return CalibrationProfile(
        title=f"{title}, {ENGINE} {conditions['transformers']}, {row['model']}{copy} in {conditions['dtype']}",
        subject=Subject(
            model="",
            engine=ENGINE,
            engine_version=".".join(str(conditions["transformers"]).split(".")[:2]),
            device=device_named(title) or title,
            memory_bytes=int(conditions["device_bytes"]),
            is_machine=True,
        ),
        conditions={
            "model": f"{row['model_name']}{copy}",
            SHAPE: str(row[SHAPE]),
            "kv_cache": str(conditions["dtype"]),
            "attention": str(row["attention"]),
            "date": date,
            **{key: str(conditions[key]) for key in KEPT if conditions.get(key) not in (None, "")},
        },
        items=measured_items(passes, f"measured on {title}, {date[:10]}"),
        passes=passes,
        speed=None if copy else measured_speed(passes),  # so little work stays in caches that a model leaves
    )


def disagreeing(folder: Path) -> list[dict[str, Any]]:
    """Exact items whose reading is not their prediction."""
    return [row for row in comparison(folder) if row["quantity"] in EXACT and row["predicted"] != row["measured"]]


def keep(profile: CalibrationProfile, name: str, file: Path | None = None) -> Path:
    """Writes *profile* under *name* among the user's own, or to *file*; raises PlannerError where that cannot be."""
    if file is None:
        return save_profile(profile, name or default_name(profile))
    write_profile(profile, file)
    return file


def default_name(profile: CalibrationProfile) -> str:
    """From the device and the engine.

    >>> re.sub(r"[^a-z0-9.]+", "-", "Intel(R) Xeon(R), 2 threads transformers 5.24".lower()).strip("-")
    'intel-r-xeon-r-2-threads-transformers-5.24'
    """
    subject = profile.subject
    words = f"{subject.device} {subject.engine} {subject.engine_version}".lower()
    return re.sub(r"[^a-z0-9.]+", "-", words).strip("-")[:MAX_NAME_CHARACTERS].rstrip("-.")


def profile_rows(profile: CalibrationProfile) -> list[tuple[str, str, str]]:
    """What was fitted, its value, and how far off readings were that the fit had not seen."""
    rows = []
    for item in profile.items:
        grows = f" + {format_rate(item.bytes_per_token)} a token computed at once" if item.bytes_per_token else ""
        rows.append((item.name, f"{format_bytes(item.bytes)}{grows}", _error(item.error)))
    if (speed := profile.speed) is not None:
        error = f"{speed.median_error:.1%} in the median, {speed.worst_error:.1%} at most"
        layer = f"{1e6 * speed.layer_s:,.1f} µs" if speed.layer_s else "no pass shows it"
        rows.append(("fixed time of a layer", layer, error))
        for what, rate, unit in (
            ("reading", speed.read_bytes_per_s, "GB/s"),
            ("computing", speed.operations_per_s, "billion operations a second"),
        ):
            rows.append((what, "no pass shows a limit" if rate is None else f"{rate / 1e9:,.1f} {unit}", error))
    return rows


def profile_note(profile: CalibrationProfile) -> str:
    """From how many passes; and that times scatter, where they do."""
    note = f"From {len(profile.passes)} passes; each error is of readings left out of the fit."
    if profile.speed is not None and (profile.speed.median_error > NOISY or profile.speed.worst_error > SCATTERED):
        note += " The times scatter, as they do beside other programs. Measure again when the machine is quiet."
    if profile.speed is None:
        note += " No times: a small copy's are not a model's, and fewer than five passes tell nothing."
    return note


def profile_text(profile: CalibrationProfile) -> str:
    """The same for a terminal."""
    lines = [
        f"  {what}: {value}{f' (off by {error})' if error else ''}" for what, value, error in profile_rows(profile)
    ]
    return "\n".join([profile.title, "", *lines, "", profile_note(profile)])


def _error(error: float | None) -> str:
    return "" if error is None else f"{error:.1%} at most"


def _named_row(record: Record) -> dict[str, Any]:
    return next(row for row in record.rows if all(key in row for key in NAMES))


def _passes(record: Record) -> Iterator[MeasuredPass]:
    for row in record.rows:
        if all(key in row for key in (*_KEYS, *NAMES)):
            yield validate(MeasuredPass, {key: row[key] for key in _KEYS}, f"A pass of {record.case}")
