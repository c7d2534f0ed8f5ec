"""Runs an experiment's cases in the test's own process."""

from typing import Any

from measure.experiments.base import Experiment, Report
from measure.records import Case, Outcome, Record
from measure.setup import Setup
from measure.worker import Progress


def record(experiment: Experiment, case: Case, setup: Setup) -> Record:
    rows = [row for row in experiment.run(case.settings, setup) if not isinstance(row, Progress)]
    return record_of(*rows, case=case)  # type: ignore[arg-type]


def record_of(*rows: dict[str, Any], case: Case | None = None) -> Record:
    """The record of a case with these rows."""
    case = case or Case(experiment="stand-in", name="case")
    return Record(
        experiment=case.experiment,
        case=case.name,
        settings=case.settings,
        conditions={},
        outcome=Outcome.MEASURED,
        date="2026-01-01T00:00:00+00:00",
        seconds=1.0,
        rows=rows,
    )


def trial(experiment: Experiment, cases: list[Case], setup: Setup) -> Report:
    """The report of *cases*; the guard must find room for each."""
    assert all(experiment.needed_bytes(case.settings, setup) < 2**32 for case in cases)
    return experiment.report([record(experiment, case, setup) for case in cases], setup)
