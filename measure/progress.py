"""How far a measurement is: a bar with the time left on a terminal, JSON lines for another program, or nothing."""

import json
import sys
import time
from typing import TextIO

from tqdm import tqdm

from measure.records import Case, Record

FORMS = ("auto", "bar", "json", "none")


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
        if self._ended == self._bar.total:
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


class Silent:
    def begin(self, case: Case) -> None:
        """Nothing."""

    def share(self, share: float) -> None:
        """Nothing."""

    def end(self, record: Record) -> None:
        """Nothing."""


def watcher(form: str, total: int) -> Bar | Lines | Silent:
    """*form* ``auto`` is a bar on a terminal and nothing elsewhere."""
    if form == "json":
        return Lines(total, sys.stderr)
    return Bar(total) if form == "bar" or (form == "auto" and sys.stderr.isatty()) else Silent()
