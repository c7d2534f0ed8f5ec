"""Every case in a process of its own: however it ends there is a record, and nothing measured is lost."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from measure import lock, worker
from measure.instruments.base import DeviceMemory
from measure.memory_ends import memory_ends
from measure.progress import Lines, Silent
from measure.records import Case, Outcome, Record, append, cut_short, newest, read
from measure.runner import run_cases
from measure.setup import Setup
from planner.errors import PlannerError
from tests.measure import stand_in_experiment
from tests.measure.stand_in_experiment import case

GIB = 2**30
CONDITIONS = {"device": "test", "torch": "2"}


RECORD = Record(
    experiment="stand-in", case="rows", settings={}, conditions=CONDITIONS, outcome=Outcome.MEASURED,
    date="2026-11-30T08:00:00+00:00", seconds=1.0, rows=({"tokens": 1},),
)  # fmt: skip


def run(*cases: Case, file: Path, conditions: dict[str, str] = CONDITIONS, **options: object) -> list[Record]:
    return run_cases(
        stand_in_experiment,
        cases,
        Setup(),
        conditions,
        file,
        options.pop("watcher", Silent()),
        memory=lambda: DeviceMemory(total_bytes=16 * GIB, free_bytes=8 * GIB, host_bytes=0),
        **options,
    )


def test_rows_come_from_another_process_and_are_kept(tmp_path: Path) -> None:
    (record,) = run(case("rows"), file=tmp_path / "a.jsonl")
    assert record.outcome is Outcome.MEASURED
    assert [row["tokens"] for row in record.rows] == [1, 2]
    assert record.rows[0]["process"] != os.getpid()
    assert read(tmp_path / "a.jsonl") == [record]


@pytest.mark.parametrize(
    ("end", "outcome", "words"),
    [
        ("killed", Outcome.FAILED, "The process was killed, perhaps for want of memory (SIGKILL)."),
        ("huge", Outcome.DOES_NOT_FIT, "allocate"),
        ("bug", Outcome.FAILED, "KeyError: 'a bug'"),
        ("bad", Outcome.FAILED, "One sentence."),
        ("silent", Outcome.FAILED, "exit code 3"),
    ],
)
def test_every_end_is_a_record(end: str, outcome: Outcome, words: str, tmp_path: Path) -> None:
    first, after = run(case(end), case("rows"), file=tmp_path / "a.jsonl")
    assert (first.outcome, len(first.rows)) == (outcome, 1)
    assert words in first.reason
    assert after.outcome is Outcome.MEASURED


def test_the_systems_own_limit_is_where_it_does_not_fit(tmp_path: Path) -> None:
    """What ``ulimit -v`` sets: the system refuses memory beyond it, and the case says so."""
    within, beyond = run(
        *(case("limited", bytes=size * stand_in_experiment.MIB) for size in (16, 96)), file=tmp_path / "a.jsonl"
    )
    assert [within.outcome, beyond.outcome] == [Outcome.MEASURED, Outcome.DOES_NOT_FIT]
    assert "you tried to allocate 100663296 bytes" in beyond.reason


def test_the_guard_refuses_with_the_figures(tmp_path: Path) -> None:
    (record,) = run(case("rows", needed_bytes=7 * GIB + 1), file=tmp_path / "a.jsonl")
    assert (record.outcome, record.rows) == (Outcome.REFUSED, ())
    assert "needs about 7.00 GiB; 8.00 GiB of 16.00 GiB are free" in record.reason


def test_what_has_a_reading_is_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    first = run(case("rows"), case("bug"), file=file)
    second = run(case("rows"), case("bug"), file=file)
    assert second[0] == first[0]
    assert second[1] != first[1]  # a failure is no reading
    other = run(case("rows"), file=file, conditions=CONDITIONS | {"torch": "3"})
    again = run(case("rows"), file=file, again=True)
    assert len({record.rows[0]["process"] for record in (first[0], other[0], again[0])}) == 3
    assert newest(read(file))[0] == again[0]


def test_an_interrupt_ends_the_case_and_keeps_the_others(tmp_path: Path) -> None:
    file, started = tmp_path / "a.jsonl", tmp_path / "started"

    def interrupt() -> None:
        while not started.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    thread.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(case("rows"), case("slow", started=str(started)), case("rows", more=1), file=file)
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert time.monotonic() - begin < 30  # the slow case sleeps for 60 s
    assert [record.case for record in read(file)] == ["rows"]


def test_a_runner_that_is_killed_takes_its_case_along(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from measure.setup import Setup\nfrom measure.worker import run_case\n"
        "from tests.measure import stand_in_experiment\n"
        f"slow = stand_in_experiment.case('slow', started={str(started)!r})\n"
        "for row in run_case(stand_in_experiment.__name__, slow, Setup()):\n    print(row, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        child = int(runner.stdout.readline().partition("'process': ")[2].partition(",")[0])
        while not started.exists():
            time.sleep(0.01)
        runner.kill()
        runner.stdout.close()
    end = time.monotonic() + 30
    while lock.is_alive(child):
        assert time.monotonic() < end, "the case outlived its runner by 30 s"
        time.sleep(0.05)


def test_a_line_cut_short_is_passed_over_and_closed(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    (record,) = run(case("rows"), file=file)
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"experiment": "stand-in", "ca')
    assert read(file) == [record]
    append(record, file)
    assert read(file) == [record, record]


@pytest.mark.parametrize(
    "line",
    [
        '{"rows": [], "outcome": "measured"}',
        "[]",
        "7",
        '"text"',
        json.dumps(asdict(RECORD) | {"rows": [1]}),
        json.dumps(asdict(RECORD) | {"date": None}),
        json.dumps(asdict(RECORD) | {"date": "yesterday"}),
        *(json.dumps(asdict(RECORD) | {"rows": [{"peak_bytes": odd}]}) for odd in (10**400, float("nan"), "9", [9])),
        json.dumps(asdict(RECORD) | {"outcome": "maybe"}),
        json.dumps(asdict(RECORD) | {"more": 1}),
        json.dumps(asdict(RECORD) | {"seconds": -1.0}),
        json.dumps(asdict(RECORD) | {"conditions": {"device_bytes": "abc"}}),
        json.dumps(asdict(RECORD) | {"conditions": {"device": 7}}),
        *(json.dumps(asdict(RECORD) | {"rows": [{key: -1}]}) for key in ("peak_bytes", "seconds", "measured_most")),
        "garbage",
        "[" * 100_000,
        '{"rows": ' + "[" * 100_000,
    ],
)
def test_a_foreign_line_is_one_sentence(tmp_path: Path, line: str) -> None:
    (tmp_path / "a.jsonl").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(PlannerError, match=r"line 1 is not a record of a measurement: .+\. Take that line out"):
        read(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[]", "it is no object"),
        ("{}", "it has no experiment"),
        ("garbage", "it is no JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        (json.dumps(asdict(RECORD) | {"rows": [{"peak_bytes": float("nan")}]}), "peak_bytes is nan"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_in_words(line: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(PlannerError, match=f"measurement: {why}\\. Take"):
        read(tmp_path / "a.jsonl")


def test_what_is_no_number_is_no_reading() -> None:
    sent: list[object] = []
    ended = worker.run_to_end(lambda: iter([{"divergence": 0.5}, {"divergence": float("nan")}]), sent.append)
    assert sent == [{"divergence": 0.5}]
    assert (ended.outcome, ended.reason) == (Outcome.FAILED, "divergence is nan, which is no reading.")


def test_what_is_no_file_of_records_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "wide.jsonl").write_text(json.dumps(asdict(RECORD)), encoding="utf-16")
    with pytest.raises(PlannerError, match=r"wide\.jsonl, line 1 is not a record"):
        read(tmp_path / "wide.jsonl")
    with pytest.raises(PlannerError, match=r"wide\.jsonl is no folder, as one of records is"):
        read(tmp_path / "wide.jsonl" / "a.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(PlannerError, match=r"folder\.jsonl cannot be read: Is a directory"):
        read(tmp_path / "folder.jsonl")


def test_lines_cut_short_are_counted(tmp_path: Path) -> None:
    append(RECORD, tmp_path / "a.jsonl")
    for name in ("a", "b"):
        with (tmp_path / f"{name}.jsonl").open("a", encoding="utf-8") as stream:
            stream.write('{"experiment": "stand-in", "ca')
    assert cut_short(tmp_path) == 2
    assert read(tmp_path / "b.jsonl") == []


def test_records_of_two_subjects_are_both_the_newest() -> None:
    other = replace(RECORD, conditions=CONDITIONS | {"dtype": "bf16"})
    again = replace(RECORD, seconds=2.0, conditions=CONDITIONS | {"torch": "3"})
    assert newest([RECORD, other, again]) == [again, other]


def test_only_the_systems_own_count_makes_a_kill_a_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = tmp_path / "vmstat"
    counter.write_text("pgfault 3\noom_kill 7\n", encoding="ascii")
    assert memory_ends((counter, tmp_path / "none")) == 7
    counts = iter([7, 8])
    monkeypatch.setattr(worker, "memory_ends", lambda: next(counts))
    (record,) = run(case("killed"), file=tmp_path / "a.jsonl")
    assert record.outcome is Outcome.DOES_NOT_FIT
    assert record.reason == "The system ended the process for want of memory (SIGKILL)."


def test_a_kill_is_tried_again_whoever_wrote_it_down(tmp_path: Path) -> None:
    """Records from before the system's count was asked call every kill a reading."""
    file = tmp_path / "a.jsonl"
    old = replace(
        RECORD, settings=case("rows").settings, outcome=Outcome.DOES_NOT_FIT, rows=(),
        reason="The system ended the process for want of memory (SIGKILL).",
    )  # fmt: skip
    append(old, file)
    (again,) = run(case("rows"), file=file)
    assert again.outcome is Outcome.MEASURED
    append(replace(old, reason="not enough memory"), file)
    (kept,) = run(case("rows"), file=file)
    assert kept.reason == "not enough memory"


def test_a_place_that_takes_no_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlannerError, match=r"a\.jsonl cannot be written"):
        append(RECORD, tmp_path / "file" / "a.jsonl")
    with pytest.raises(PlannerError, match="cannot be written: No space left on device"):
        append(RECORD, Path("/dev/full"))


def test_progress_as_json_counts_parts_of_a_case(tmp_path: Path) -> None:
    with (tmp_path / "progress").open("w+", encoding="utf-8") as stream:
        run(case("rows"), case("rows", more=1), file=tmp_path / "a.jsonl", watcher=Lines(2, stream))
        stream.seek(0)
        lines = [json.loads(line) for line in stream]
    assert [line["done"] for line in lines] == [0, 0.5, 1, 1, 1.5, 2]
    assert lines[0]["seconds_left"] is None
    assert lines[-1]["seconds_left"] == 0


def test_one_measurement_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "measure.lock"
    script = f"import sys, time; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); from pathlib import Path; " + (
        f"from measure.lock import only_one\nwith only_one(Path({str(file)!r})):\n print('held', flush=True); input()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(PlannerError, match=f"process {holder.pid}"),
            lock.only_one(file),
        ):
            pytest.fail("two at once")
        assert _measuring(file, monkeypatch) == holder.pid
        holder.communicate("\n")
    with lock.only_one(file):
        assert _measuring(file, monkeypatch) == os.getpid()
    # A process that was killed leaves its number, which another has by now.
    file.with_suffix(".pid").write_text(str(os.getpid()), encoding="utf-8")
    assert _measuring(file, monkeypatch) is None


def _measuring(file: Path, monkeypatch: pytest.MonkeyPatch) -> int | None:
    monkeypatch.setenv(lock.LOCK_VARIABLE, str(file))
    return lock.measuring()


def test_the_machines_lock_is_in_no_folder_of_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(lock.LOCK_VARIABLE)
    before = lock.lock_file()
    for name in ("TMPDIR", "HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    assert lock.lock_file() == before
