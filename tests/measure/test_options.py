"""Every option changes what is measured, or is refused: none is passed over."""

import json
from pathlib import Path

import pytest

from measure.cli import main
from measure.experiments import EXPERIMENTS
from measure.models import find_source
from measure.options import OF_A_MODEL, TAKES, setup_for
from measure.setup import TRAINED, Setup
from planner import presets
from planner.weights import shape
from tests.measure.tiny import CONFIG

GIVEN = {
    "model": "qwen2.5-0.5b", "scale": "small", "device": "cpu", "dtype": "bf16", "attention": "eager", "seed": "7",
    "draft": "first-2",
}  # fmt: skip
FLAGS = ("online",)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_option_of_every_experiment_is_taken_or_refused(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []
    monkeypatch.setattr("measure.session.Session.measure", lambda self, names: measured.append(names[0]) or [])
    for option in OF_A_MODEL | {"draft"}:
        words = [f"--{option}"] if option in FLAGS else [f"--{option}", GIVEN[option]]
        measured.clear()
        code = main(["run", name, *words])
        said = capsys.readouterr().err
        assert (code, measured) == ((0, [name]) if option in TAKES[name] else (2, []))
        assert (f"--{option} changes nothing in {name}, since " in said) == (option not in TAKES[name])


def test_the_flags_and_values_are_all_options_of_a_model() -> None:
    assert set(GIVEN) | set(FLAGS) == OF_A_MODEL | {"draft"}


@pytest.mark.parametrize("model", ["qwen2.5-0.5b", "/any/file", "tiny"])
def test_an_engine_takes_a_file_and_no_other_model(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "engine", "--model", model]) == 2
    assert capsys.readouterr().err.startswith(f"{model!r} is no file here: engine takes a GGUF file as --model")


def test_among_all_an_engine_keeps_its_own_model(tmp_path: Path) -> None:
    chosen = Setup(model="qwen2.5-0.5b", scale="small", dtype="bf16", quick=True)
    assert setup_for("peak", chosen, 13) == chosen
    assert setup_for("engine", chosen, 13) == Setup(quick=True)
    file = tmp_path / "model.bin"
    file.touch()
    assert setup_for("engine", Setup(model=str(file)), 13).model == str(file)


def test_a_small_copy_of_a_folder_is_one_with_random_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": 30}), encoding="utf-8")
    (tmp_path / "model.safetensors").touch()
    whole, small = (find_source(Setup(model=str(tmp_path), scale=scale)) for scale in ("full", "small"))
    assert (whole.is_trained, len(whole.architecture.layers), whole.changes) == (True, 30, "")
    assert (small.is_trained, len(small.architecture.layers)) == (False, 6)
    assert "num_hidden_layers 30 → 6" in small.changes


def test_a_name_means_the_same_model_as_in_a_plan() -> None:
    """The trained model has the shapes of the preset that its name finds; every preset's name is that preset."""
    assert presets.find_model(TRAINED) == presets.find_model("smollm2-135m")
    assert find_source(Setup(model="smollm2", scale="small")).title == presets.find_model("smollm2").title


def test_a_shape_tells_a_small_copy_and_not_a_spelling() -> None:
    whole, same, small = (
        shape(find_source(Setup(model=name, scale=scale)).architecture)
        for name, scale in (("smollm2-135m", "full"), ("smollm-135m", "full"), ("smollm2-135m", "small"))
    )
    assert whole == same == "30 layers, 134,515,008 parameters"
    assert small != whole
