"""The Measure page: what it found, what it says of readings, and that it never stands in the way of the app."""

import importlib.util
import json
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from measure.lock import LOCK_VARIABLE
from measure.records import FOLDER_VARIABLE, Outcome, Record, append
from planner.units import GIB
from tests.measure import kept
from tests.measure.test_fitting import CONDITIONS, DATE, ROW, passes
from tests.ui.conftest import OpenApp, words
from ui import measure_run

PAGE = "ui/pages/measure.py"
MACHINE = {
    "title": "AMD EPYC, 2 threads",
    "kind": "cpu",
    "preset": None,
    "cores": 2,
    "cards": 1,
    "total_bytes": 24 * GIB,
    "free_bytes": 20 * GIB,
    "others": [{"name": "browser", "bytes": GIB}],
    "driver": "",
    "torch": "2.13.0+cpu",
    "transformers": "5.24.0",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of records, a machine that is found at once, and every library there."""
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: name == "torch" or there(name, *more))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "measure.lock"))
    looked: Future[Any] = Future()
    looked.set_result(MACHINE)
    monkeypatch.setattr(measure_run, "look", lambda again=False: looked)
    return tmp_path


def keep(folder: Path, case: str, **rows: Any) -> None:
    record = Record(
        experiment="peak",
        case=case,
        settings={},
        conditions={},
        outcome=Outcome.MEASURED,
        date="2026-11-30T08:00:00+00:00",
        seconds=1.0,
        rows=(rows,),
    )
    append(record, folder / "peak.jsonl")


def test_before_anything_is_measured_it_says_what_it_found_and_how_long_it_takes(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert "Check the predictions on this machine" in app.title[0].value
    said = words(app)
    assert "**AMD EPYC, 2 cores, no GPU** · 24.0 GiB, 20.0 free now · torch 2.13.0" in said
    assert "Also there: browser 1.00 GiB." in said
    assert "run of everything took 10 minutes on two quiet cores" in said
    app.selectbox(key="experiment").select("cache-size").run()
    assert app.button(key="run").label == "Run, about 20 s"


def test_exact_near_and_off_are_told_apart(open_app: OpenApp, folder: Path) -> None:
    keep(folder, "one", predicted_peak_bytes=1_000_000, measured_peak_bytes=1_000_000)
    keep(folder, "two", predicted_peak_bytes=1_000_000, measured_peak_bytes=1_060_000)
    keep(folder, "three", predicted_peak_bytes=1_000_000, measured_peak_bytes=2_200_000)
    app = open_app(PAGE)
    assert "1 of 3 predictions are exact" in app.title[0].value
    said = words(app)
    assert "One is within 10%: **peak, two**, 5.7% too low." in said
    assert "One is off: **peak, three**, 2.2 times too low." in said
    assert "▲ 2.2 times too low" in said


def test_this_machine_fills_the_card_with_what_is_free(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    app.button(key="use_machine").click().run()
    assert app.selectbox(key="device").value == "Another size"
    assert app.text_input(key="memory").value == "20.00GiB"


def test_a_profile_is_kept_and_the_plan_says_where_it_was_measured(
    open_app: OpenApp, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    rows = tuple(asdict(one) | ROW for one in passes())
    record = Record(
        experiment="batching", case="all", settings={}, conditions=CONDITIONS, outcome=Outcome.MEASURED, date=DATE,
        seconds=1.0, rows=rows,
    )  # fmt: skip
    append(record, folder / "batching.jsonl")
    app = open_app(PAGE)
    assert 'context and libraries</td><td class="kv-text">0.37 GiB' in words(app)
    before = app.selectbox(key="device").value
    assert "used, the plan has its 20.00 GiB in place of " in words(app)
    app.button(key="keep_profile").click().run()
    assert "Kept as **intel-r-xeon-r-2-threads-transformers-5.24**" in words(app)
    assert app.selectbox(key="device").value == before
    app.button(key="save_profile").click().run()
    assert "Kept as **intel-r-xeon-r-2-threads-transformers-5.24**, and the plan uses it." in words(app)
    app.switch_page("ui/pages/plan.py").run()
    said = words(app)
    assert "**Measured on this machine** with Hugging Face transformers 5.24" in said
    assert "context and libraries, allocator" not in said  # activations and slack are another model's
    assert "The profile measured activations with model = tiny; with llama-3.1-8b this is assumed again." in said


def test_without_torch_one_sentence_says_what_to_install(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "torch" else there(name))
    app = open_app(PAGE)
    assert "Measuring needs torch, which the app does without: `pip install -e '.[measure]'`" in words(app)
    assert not [button for button in app.button if button.key == "run"]


def test_a_broken_file_of_records_is_a_sentence(open_app: OpenApp, folder: Path) -> None:
    (folder / "peak.jsonl").write_text('{"rows": [], "outcome": "measured"}\n', encoding="utf-8")
    app = open_app(PAGE)
    assert "line 1 is not a record of a measurement" in words(app)
    assert app.button(key="run")


def test_a_run_is_what_was_chosen(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(measure_run, "start", lambda words, folder: started.append(words))
    app = open_app(PAGE, model="qwen2.5-0.5b")
    app.selectbox(key="experiment").select("cache-size").run()
    app.selectbox(key="on").select("your model, small").run()
    app.button(key="run").click().run()
    assert started == [["run", "cache-size", "--model=qwen2.5-0.5b", "--scale=small", "--quick"]]


def test_a_draft_is_asked_for_speculation_alone(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(measure_run, "start", lambda words, folder: started.append(words))
    app = open_app(PAGE)
    assert not [box for box in app.text_input if box.key == "on_draft"]
    app.selectbox(key="experiment").select("speculation").run()
    app.text_input(key="on_draft").input(" first-20 ").run()
    app.button(key="run").click().run()
    assert started == [["run", "speculation", "--draft=first-20", "--quick"]]


def test_a_result_shows_its_sentence_disagreements_and_what_gave_no_reading(open_app: OpenApp, folder: Path) -> None:
    (folder / "results").mkdir()
    result = {
        "experiment": "peak",
        "title": "the peak",
        "lesson": "Without a cache it takes 8.3 times more.",
        "disagreements": ["one: predicted +3.0%"],
        "tables": [],
        "without_reading": [{"case": "huge", "outcome": "does_not_fit", "reason": "Too large."}],
    }
    (folder / "results" / "peak.json").write_text(json.dumps(result), encoding="utf-8")
    said = words(open_app(PAGE))
    assert "Learned: Without a cache it takes 8.3 times more." in said
    assert "Disagrees: one: predicted +3.0%" in said
    assert "huge: does not fit. Too large." in said


def test_known_effects_are_told_apart_by_whether_they_show(open_app: OpenApp, folder: Path) -> None:
    keep(folder, "one", predicted_peak_bytes=1, measured_peak_bytes=1)
    assert "known effects show" not in words(open_app(PAGE))
    (folder / "results").mkdir()
    result = {"experiment": "batching", "lesson": "", "disagreements": [], "tables": [], "without_reading": []}
    (folder / "results" / "batching.json").write_text(json.dumps(result), encoding="utf-8")
    steps = [
        {"kind": "step", "requests": 1, "tokens_per_s": 20.0, "step_s": 0.05},
        {"kind": "step", "requests": 32, "tokens_per_s": 19.0, "step_s": 0.1},
    ]
    kept.keep(folder, "batching", *steps)
    app = open_app(PAGE)
    assert "0 of 1 known effects show" in [header.value for header in app.header]
    assert "✗ does not hold" in words(app)
