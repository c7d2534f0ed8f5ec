"""Runs cases one after another, each in a process of its own, and keeps every record as soon as there is one."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from measure.experiments.base import Experiment
from measure.guard import refusal
from measure.instruments.base import DeviceMemory
from measure.records import Case, Outcome, Record, append, read
from measure.setup import Setup
from measure.worker import Ended, Message, Progress, run_case


class Watcher(Protocol):
    """Is told how far the runs have come."""

    def begin(self, case: Case) -> None:
        """A case starts, or is skipped because its record is there."""
        ...

    def share(self, share: float) -> None:
        """The running case is so far, 0 to 1."""
        ...

    def end(self, record: Record) -> None:
        """The case ended, or ended before."""
        ...

    def close(self) -> None:
        """No case follows: all are done, or the call was interrupted."""
        ...


def run_cases(
    experiment: Experiment,
    cases: Iterable[Case],
    setup: Setup,
    conditions: dict[str, Any],
    file: Path,
    watcher: Watcher,
    *,
    memory: Callable[[], DeviceMemory],
    again: bool = False,
) -> list[Record]:
    """The record of each case, from *file* where it has a reading under the same conditions, else measured now.

    *memory* is asked before each case, for the guard. *again* measures what is there already too.
    """
    known = [] if again else read(file)
    records = []
    for case in cases:
        watcher.begin(case)
        record = next((old for old in reversed(known) if old.answers(case, conditions)), None)
        if record is None:
            refused = refusal(case.name, experiment.needed_bytes(case.settings, setup), memory())
            messages = iter(()) if refused else run_case(experiment.__name__, case, setup)
            record = _record(case, conditions, messages, refused or "", watcher)
            append(record, file)
        watcher.end(record)
        records.append(record)
    return records


def _record(
    case: Case, conditions: dict[str, Any], messages: Iterator[Message], refused: str, watcher: Watcher
) -> Record:
    date, start = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    rows: list[dict[str, Any]] = []
    ended = Ended(outcome=Outcome.REFUSED, reason=refused)
    try:
        for message in messages:
            ended = _take(message, rows, watcher) or ended
    finally:
        if isinstance(messages, Generator):
            messages.close()  # ends the process, also when an interrupt came
    return Record(
        experiment=case.experiment,
        case=case.name,
        settings=case.settings,
        conditions=conditions,
        outcome=ended.outcome,
        reason=ended.reason,
        others_share=ended.others_share,
        date=date,
        seconds=round(time.perf_counter() - start, 3),
        rows=tuple(rows),
    )


def _take(message: Message, rows: list[dict[str, Any]], watcher: Watcher) -> Ended | None:
    match message:
        case Ended():
            return message
        case Progress():
            watcher.share(message.share)
        case _:
            rows.append(message)
    return None
