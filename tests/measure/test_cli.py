"""The command: what it prints, writes and returns."""

import json
import re
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from measure import libraries, trained
from measure.cli import main
from measure.experiments import EXPERIMENTS
from measure.experiments.base import Report, Table
from measure.pictures import lines
from measure.records import Outcome, Record, append, read
from measure.session import Result, report_markdown
from measure.setup import Setup
from planner.inputs.profile_files import load_profile

CACHE_SIZE = ["run", "cache-size", "--model", "smollm-135m", "--scale", "small", "--device", "cpu", "--dtype", "bf16"]


def test_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    assert [entry["name"] for entry in json.loads(capsys.readouterr().out)] == list(EXPERIMENTS)


def test_a_run_prints_json_and_leaves_records_table_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*CACHE_SIZE, "--output", str(tmp_path), "--json"]) == 0
    (printed,) = json.loads(capsys.readouterr().out)
    assert printed["lesson"] == "The cache of 1 of 1 architectures is what its formula says, to the byte."
    assert printed["conditions"]["torch"]
    # 6 layers · 2 · 3 heads · 64 · 2 B = 4,608 B a token
    assert [row["measured_bytes"] for row in printed["tables"][0]["rows"]] == [
        4_608,
        48 * 4_608,
        96 * 4_608,
        99 * 4_608,
    ]
    assert sorted(path.suffix for path in tmp_path.glob("cache-size.*")) == [
        ".csv", ".json", ".jsonl", ".md", ".png", ".svg",
    ]  # fmt: skip
    (record,) = read(tmp_path / "cache-size.jsonl")
    assert record.settings == {"model": "smollm-135m", "scale": "small"}

    assert main(["compare", "--output", str(tmp_path)]) == 0
    assert "All 4 predictions are exact on " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "nothing"], "Experiment 'nothing' is not known; choose one of: cache-size"),
        (["run", "cache-size", "--device", "tpu"], "Device 'tpu' is not known"),
        (["run", "cache-size", "--model", "no-such-model"], "Model 'no-such-model' is not known"),
        (["run", "cache-size", "--model", "7b-class"], "is nominal: it has no layers that could run"),
        (["run", "cache-size", "--model", "nobody/has-this"], "add --online to fetch it"),
        (["run", "cache-size", "--model", "./nothing"], "'./nothing' is no folder here with a config.json, and no id"),
        (["run", "cache-size", "--model", __file__], "a GGUF file is for the experiment engine alone"),
        (["run", "cache-size", "--device", "cpu", "--output", __file__], "test_cli.py cannot be written: File exists"),
        (["run", "cache-size", "--model", ""], "Argument --model: nothing stands there"),
        (["run", "cache-size", "--output", " "], "Argument --output: nothing stands there"),
        (["calibrate", "--name", ""], "Argument --name: nothing stands there"),
        (["run", "cache-size", "--seed", "9" * 20], f"Argument --seed: '{'9' * 20}' is no whole number from 0 to 9,2"),
        (["run", "cache-size", "--seed=-1"], "Argument --seed: '-1' is no whole number"),
        (["measure"], "Argument COMMAND: invalid choice"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--output", str(tmp_path)] if words[0] == "run" and "--output" not in words else []
    assert main([*words, *output]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_without_pytorch_or_room_for_it_there_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = ["--output", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(libraries, "NEEDS", ("torch", "no_such_library"))
        assert [main(words) for words in (["run", "peak", *output], ["hardware"])] == [2, 2]
    said = "Measuring needs no_such_library: run pip install -e '.[measure]' in KV Budget's folder (about 1.6 GB).\n"
    assert capsys.readouterr().err == 2 * said
    limit = 250 * 2**20  # of address space, for the process alone: the system refuses what is beyond
    ended = subprocess.run(
        [sys.executable, "-m", "measure", "run", "peak", *output], cwd=Path(__file__).parents[2], capture_output=True,
        text=True, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr.startswith("PyTorch cannot be loaded, for which memory may be short: ")
    assert ended.stderr.count("\n") == 1


def test_a_trained_model_that_cannot_be_kept_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(trained, "_version", lambda: "0")
    assert main(["run", "peak", "--model", trained.NAME, "--scale", "small", "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("SmolLM2-135M-Instruct cannot be kept in ")
    assert said.endswith("Not a directory. XDG_CACHE_HOME names another place, with 1.2 GB free.\n")


def test_a_log_gets_a_line_a_case(tmp_path: Path, capsys: pytest.CaptureFixture[str], tiny: Setup) -> None:
    words = ["run", "cache-size", "--model", tiny.model, "--device", "cpu", "--output", str(tmp_path)]
    assert main(words) == 0
    assert re.fullmatch(rf"1 of 1: cache-size {tiny.model}, measured, \d+ s\n", capsys.readouterr().err)


def test_what_a_library_cannot_load_is_one_sentence(
    tiny: Setup, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cut"
    folder.mkdir()
    (folder / "config.json").write_bytes((Path(tiny.model) / "config.json").read_bytes())
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    words = ["run", "cache-size", "--model", str(folder), "--device", "cpu", "--output", str(tmp_path / "out")]
    assert main(words) == 1
    said = capsys.readouterr().out
    assert f"{folder}: failed. transformers cannot load cut: SafetensorError: " in said
    assert "No case gave a reading." in said
    assert "Traceback" not in said


def test_a_report_has_every_sentence_table_and_picture() -> None:
    row = {"tokens": 8_192, "measured_bytes": 1_024}
    chart = lines([row], ("tokens", "tokens"), ("measured_bytes", "bytes"))
    report = Report(tables=(Table(rows=[row], chart=chart), Table(name="more", rows=[row])), lesson="It is so.")
    failed = Record(
        experiment="x",
        case="large",
        settings={},
        conditions={},
        outcome=Outcome.DOES_NOT_FIT,
        reason="Too large.",
        date="2026-01-01T00:00:00+00:00",
        seconds=1.0,
    )
    text = report_markdown([Result(name="x", report=report, records=(failed,))], {"torch": "2.13", "driver": ""})
    assert "* torch: 2.13\n" in text
    assert "driver" not in text
    assert "## x\n\nIt is so.\n" in text
    assert "* large: does not fit. Too large." in text
    assert text.count("| 8,192 | 1,024 |") == 2
    assert "![x](x.png)" in text


def test_nothing_measured_yet_says_how_to_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "Nothing is measured yet: python -m measure run cache-size is a start.\n"


def test_a_profile_comes_from_records_of_the_newest_conditions(
    tiny: Setup, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", "--output", str(tmp_path)]) == 2
    assert "has no readings to calibrate from" in capsys.readouterr().err
    common = ["--model", tiny.model, "--device", "cpu", "--output", str(tmp_path), "--quick"]
    assert main(["run", "batching", *common]) == 0
    file = tmp_path / "profile.json"
    assert main(["calibrate", "--output", str(tmp_path), "--save", str(file)]) == 0
    assert f"--engine transformers --profile {file}" in capsys.readouterr().out
    kept = load_profile(file)
    assert [(one.requests, one.new_tokens) for one in kept.passes] == [
        (batch, tokens) for batch in (1, 2, 4, 8, 16, 32) for tokens in (64, 1)
    ]
    assert [item.name for item in kept.items] == ["context and libraries", "activations"]
    assert kept.conditions["kv_cache"] == "fp32"
    assert kept.subject.engine == "transformers"

    (first, *_) = read(tmp_path / "batching.jsonl")
    later = replace(first, case="other", date="2999-01-01T00:00:00", conditions=first.conditions | {"dtype": "bf16"})
    append(later, tmp_path / "batching.jsonl")
    assert main(["calibrate", "--output", str(tmp_path), "--save", str(file)]) == 0
    assert load_profile(file).conditions["kv_cache"] == "bf16"
    assert len(load_profile(file).passes) == 2
