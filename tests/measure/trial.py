"""Runs an experiment's cases in the test's own process."""

from measure.experiments.base import Experiment, Report
from measure.records import Case, Outcome, Record
from measure.setup import Setup
from measure.worker import Progress


def record(experiment: Experiment, case: Case, setup: Setup) -> Record:
    rows = [row for row in experiment.run(case.settings, setup) if not isinstance(row, Progress)]
    return Record(
        experiment=case.experiment,
        case=case.name,
        settings=case.settings,
        conditions={},
        outcome=Outcome.MEASURED,
        date="2026-01-01T00:00:00+00:00",
        seconds=1.0,
        rows=tuple(rows),  # type: ignore[arg-type]
    )


def trial(experiment: Experiment, cases: list[Case], setup: Setup) -> Report:
    """The report of *cases*; the guard must find room for each."""
    assert all(experiment.needed_bytes(case.settings, setup) < 2**32 for case in cases)
    return experiment.report([record(experiment, case, setup) for case in cases], setup)
