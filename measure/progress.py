"""How far a measurement is: a bar with the time left on a terminal, a line a case elsewhere, JSON lines, or nothing."""

import json
import sys
import time
from typing import TextIO

from tqdm import tqdm

from measure.records import Case, Record

FORMS = ("auto", "bar", "words", "json", "none")


_BAR = "{l_bar}{bar}| {n:.1f}/{total} {elapsed}, {remaining} left"


class Bar:
    """tqdm's bar over all cases of a call; fractions of a case count."""

    def __init__(self, total: int) -> None:
        self._bar = tqdm(total=total, unit="run", bar_format=_BAR)
        self._ended = 0

    def begin(self, case: Case) -> None:
        self._bar.set_description(f"{case.experiment} {case.name}")

    def share(self, share: float) -> None:
        self._bar.n = self._ended + share
        self._bar.refresh()

    def end(self, record: Record) -> None:
        self._ended += 1
        self.share(0)

    def close(self) -> None:
        self._bar.close()


class Lines:
    """A JSON object a line on *stream*: what runs, how much is done, the seconds left (``null`` until one is done)."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total, self._stream = total, stream
        self._ended, self._case, self._start = 0, "", time.monotonic()

    def begin(self, case: Case) -> None:
        self._case = f"{case.experiment} {case.name}"
        self.share(0)

    def share(self, share: float) -> None:
        done = self._ended + share
        left = None if done == 0 else round((time.monotonic() - self._start) * (self._total - done) / done)
        line = {"case": self._case, "done": round(done, 3), "total": self._total, "seconds_left": left}
        print(json.dumps(line), file=self._stream, flush=True)

    def end(self, record: Record) -> None:
        self._ended += 1
        self.share(0)

    def close(self) -> None:
        """Nothing."""


class Words:
    """A line on *stream* for each case that ended, for a log that somebody reads while it grows."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total, self._stream, self._ended = total, stream, 0

    def begin(self, case: Case) -> None:
        """Nothing."""

    def share(self, share: float) -> None:
        """Nothing."""

    def end(self, record: Record) -> None:
        self._ended += 1
        outcome = record.outcome.replace("_", " ")
        print(
            f"{self._ended} of {self._total}: {record.experiment} {record.case}, {outcome}, {record.seconds:.0f} s",
            file=self._stream, flush=True,
        )  # fmt: skip

    def close(self) -> None:
        """Nothing."""


class Silent:
    def begin(self, case: Case) -> None:
        """Nothing."""

    def share(self, share: float) -> None:
        """Nothing."""

    def end(self, record: Record) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def watcher(form: str, total: int) -> Bar | Lines | Words | Silent:
    """*form* ``auto`` is a bar on a terminal and a line a case elsewhere."""
    if form == "auto":
        form = "bar" if sys.stderr.isatty() else "words"
    match form:
        case "bar":
            return Bar(total)
        case "words":
            return Words(total, sys.stderr)
        case "json":
            return Lines(total, sys.stderr)
        case _:
            return Silent()
