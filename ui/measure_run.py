"""A measurement as a process of its own, which outlives the tab and the app that started it.

What runs stands in a file beside the records, so that every tab, and the app after a restart, shows the same run. Only
one measurement runs on a machine; the command itself holds the lock.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure.lock import is_alive, measuring
from planner.errors import BadFile, PlannerError
from planner.units import shorten_path

ROOT = Path(__file__).resolve().parents[1]
STATE, PROGRESS, SAID = "run.json", "run.progress", "run.out"
START_S = 90
"""How long a process may take to load its libraries before it holds the lock."""
LOOK_S = 600
"""After this long, what is free is looked at again."""
_one_start = threading.Lock()
_awaited: set[int] = set()
"""Processes that were started here and whose end is not noted yet."""
_background = ThreadPoolExecutor(1)
_looked: "tuple[Future[Any], float] | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The newest run that was started here. *exit_code* is ``None`` while it runs, and where nobody saw its end."""

    pid: int
    words: tuple[str, ...]
    started_s: float
    exit_code: int | None = None

    @property
    def is_running(self) -> bool:
        if self.pid in _awaited:  # it gives the lock back a moment before it ends
            return True
        if self.exit_code is not None or not is_alive(self.pid):
            return False
        return measuring() == self.pid or time.time() - self.started_s < START_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is: the case at work, *done* of *total* cases, and the seconds left where they can be told."""

    case: str = ""
    done: float = 0.0
    total: int = 0
    seconds_left: int | None = None


def start(words: Sequence[str], folder: Path) -> Run:
    """Starts ``python -m measure`` with *words*; raises PlannerError where a measurement runs already."""
    with _one_start:
        if (other := busy(folder)) is not None:
            raise PlannerError(f"A measurement runs on this machine already (process {other}): wait, or stop it.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / SAID).open("wb") as said, (folder / PROGRESS).open("wb") as progress:
                process = subprocess.Popen(
                    [*command(), *words, "--progress", "json", "--output", str(folder.resolve())],
                    cwd=ROOT, stdin=subprocess.DEVNULL, stdout=said, stderr=progress, start_new_session=True,
                )  # fmt: skip
        except OSError as error:
            raise BadFile(f"{shorten_path(folder)} cannot be written: {error.strerror or error}.") from error
        _awaited.add(process.pid)
        run = Run(pid=process.pid, words=tuple(words), started_s=time.time())
        _write(run, folder)
    threading.Thread(target=_wait, args=(process, run, folder), daemon=True).start()
    return run


def newest(folder: Path) -> Run | None:
    """The run that was started last, running or not; ``None`` where none ever was."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        values = json.loads((folder / STATE).read_text(encoding="utf-8"))
        return Run(**values | {"words": tuple(values["words"])})
    return None


def busy(folder: Path) -> int | None:
    """The process that measures: one started here, or anywhere else on this machine."""
    run = newest(folder)
    return run.pid if run is not None and run.is_running else measuring()


def stop(run: Run) -> None:
    """Asks *run* to end; what it has finished is kept."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(run.pid, signal.SIGTERM)


def progress(folder: Path) -> Progress:
    """The newest progress line; libraries write other lines there too."""
    for line in reversed(_lines(folder)):
        with suppress(ValueError, TypeError, RecursionError):
            return Progress(**json.loads(line))
    return Progress()


def last_words(folder: Path) -> str:
    """What a run that did not end well said last, no progress."""
    for line in reversed(_lines(folder)):
        if line.strip() and not line.startswith("{"):
            return line.strip()
    return ""


def ask(*words: str, timeout_s: float = 120) -> Any:
    """The JSON that ``python -m measure`` with *words* answers; raises PlannerError with its sentence otherwise."""
    try:
        ended = subprocess.run(
            [*command(), *words, "--json"], cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        return json.loads(ended.stdout)
    except subprocess.TimeoutExpired:
        raise PlannerError(f"'python -m measure {' '.join(words)}' gave no answer in {timeout_s:g} s.") from None
    except ValueError:
        said = ended.stderr.strip().splitlines()
        raise PlannerError(said[-1] if said else f"'python -m measure {' '.join(words)}' said nothing.") from None


def look(again: bool = False) -> "Future[Any]":
    """What ``hardware`` answers, asked in the background: loading its libraries takes seconds. All tabs share it."""
    global _looked
    with _one_start:
        if _looked is None or again or time.monotonic() - _looked[1] > LOOK_S:
            _looked = _background.submit(ask, "hardware"), time.monotonic()
        return _looked[0]


def command() -> list[str]:
    return [sys.executable, "-m", "measure"]


def _lines(folder: Path) -> list[str]:
    try:
        return (folder / PROGRESS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _wait(process: "subprocess.Popen[bytes]", run: Run, folder: Path) -> None:
    """Notes how the run ended, unless another one was started since."""
    code = process.wait()
    with _one_start:
        current = newest(folder)
        if current is not None and current.pid == run.pid:
            _write(Run(**asdict(run) | {"exit_code": code}), folder)
        _awaited.discard(run.pid)


def _write(run: Run, folder: Path) -> None:
    """At once, so that no tab reads half of it."""
    with suppress(OSError):  # a full disk loses the state, not the readings
        part = folder / f"{STATE}.part"
        part.write_text(json.dumps(asdict(run)), encoding="utf-8")
        part.replace(folder / STATE)
