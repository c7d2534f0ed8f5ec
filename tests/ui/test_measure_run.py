"""A measurement is one process on a machine: seen from every tab, stopped from any, started twice from none."""

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from measure.lock import LOCK_VARIABLE
from planner.errors import PlannerError
from ui import measure_run

pytest.importorskip("filelock")

# Holds the lock as the command does, and says how far it is until it is stopped.
STAND_IN = """
import signal, sys, time
sys.path.insert(0, {root!r})
from measure.lock import only_one
def stop(*_): sys.exit(130)
signal.signal(signal.SIGTERM, stop)
with only_one():
    print("a library's own words", file=sys.stderr)
    print('{{"case": "peak one", "done": 1.5, "total": 4, "seconds_left": 20}}', file=sys.stderr, flush=True)
    if "quick" in sys.argv:
        sys.exit(0)
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    script = STAND_IN.format(root=str(measure_run.ROOT))
    monkeypatch.setattr(measure_run, "command", lambda: [sys.executable, "-c", script])
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "measure.lock"))
    return tmp_path / "measurements"


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not until():
        assert time.monotonic() < end, "nothing happened for 30 s"
        time.sleep(0.05)


def test_a_run_is_seen_stopped_and_never_doubled(folder: Path) -> None:
    assert measure_run.newest(folder) is None
    run = measure_run.start(["all"], folder)
    wait(lambda: measure_run.progress(folder).total == 4)
    try:
        assert measure_run.progress(folder) == measure_run.Progress(case="peak one", done=1.5, total=4, seconds_left=20)
        other_tab = measure_run.newest(folder)
        assert other_tab == run
        assert other_tab.is_running
        with pytest.raises(PlannerError, match=rf"runs on this machine already \(process {run.pid}\)"):
            measure_run.start(["all"], folder)
        # From another folder it is another's run, and as busy.
        assert measure_run.busy(folder / "elsewhere") == run.pid
    finally:
        measure_run.stop(run)
    wait(lambda: measure_run.busy(folder) is None)
    wait(lambda: measure_run.newest(folder).exit_code == 130)
    assert measure_run.last_words(folder) == "a library's own words"


def test_a_run_that_ended_makes_room_for_the_next(folder: Path) -> None:
    measure_run.start(["quick"], folder)
    wait(lambda: measure_run.newest(folder).exit_code == 0)
    assert not measure_run.newest(folder).is_running
    second = measure_run.start(["quick"], folder)
    wait(lambda: measure_run.newest(folder).exit_code == 0)
    assert measure_run.newest(folder).pid == second.pid


def test_a_process_that_is_gone_is_no_run(folder: Path) -> None:
    run = measure_run.start(["all"], folder)
    wait(lambda: measure_run.progress(folder).total == 4)
    measure_run.os.kill(run.pid, signal.SIGKILL)
    wait(lambda: measure_run.busy(folder) is None)
    assert not measure_run.newest(folder).is_running


def test_a_folder_that_cannot_be_made_is_one_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlannerError, match="cannot be written"):
        measure_run.start(["all"], tmp_path / "file" / "measurements")


def test_what_the_command_refuses_is_its_own_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; print('No such thing.', file=sys.stderr); sys.exit(2)"
    monkeypatch.setattr(measure_run, "command", lambda: [sys.executable, "-c", script])
    with pytest.raises(PlannerError, match=r"^No such thing\.$"):
        measure_run.ask("hardware")
