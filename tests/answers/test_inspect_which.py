"""Layer by layer, and the two inverse questions."""

import json
import re

import pytest

from planner import presets
from planner.answers.answer import answer
from planner.answers.inspection import inspect_model
from planner.budget import State
from planner.catalogue.model_facts import loaded_sum, role_facts
from planner.cli import main
from planner.finding.best_file import best_file
from planner.finding.which import files_for, formats_for, match_quality, models_for
from planner.inputs.choices import Choices, choose
from planner.presets import load_preset
from planner.text.inspection import inspection_text


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, object]]]:
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_layers_say_how_they_grow(capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "gemma-3-27b", "--json"])
    found = json.loads(capsys.readouterr().out)
    layers = found["layers"]
    assert len(layers) == 62
    full = [layer["index"] for layer in layers if layer["kind"] == "full_attention"]
    assert full == [5, 11, 17, 23, 29, 35, 41, 47, 53, 59]
    assert {layer["max_tokens"] for layer in layers} == {None, 1024}
    assert {layer["kv_bytes_per_token"] for layer in layers} == {2 * 16 * 128 * 2}
    text_roles = {"embedding", "head", "norm", "linear"}
    outside = sum(found["parameters_by_role"].get(role, 0) for role in text_roles)
    in_layers = sum(layer["parameters"] for layer in layers)
    # What is not in a layer: the embedding (262,208 × 5,376) and the final norm.
    assert outside - in_layers == 262_208 * 5_376 + 5_376


def test_roles_add_up_to_the_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    main(["inspect", "deepseek-v3", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["parameters"] == 671_026_419_200
    assert found["not_loaded_parameters"] == found["parameters_by_role"]["mtp"] == 13_463_426_304
    assert sum(found["parameters_by_role"].values()) == 671_026_419_200 + 13_463_426_304


def test_the_lines_of_every_model_add_up_to_what_is_printed() -> None:
    """Each count above the sum is one of its parts; what is not loaded stands below it."""
    for preset in presets.models():
        model = presets.load_preset(preset.name)
        shown = inspect_model(model, model.cache_format, model.cache_format)
        head, totals, *rest = inspection_text(shown).partition("  loaded to answer")
        parts = [int(line.split()[-1].replace(",", "")) for line in head.splitlines()[3:]]
        total, _, below = "".join(rest).partition("\n")
        assert sum(parts) == int(total.replace(",", "")) == shown.parameters, preset.name
        assert below.startswith("  mtp") == bool(shown.not_loaded_parameters), preset.name
        facts = role_facts(model, choose(Choices(model=preset.name, memory="1GiB"), model).deployment)
        assert loaded_sum(facts).parameters == shown.parameters, preset.name
        assert totals


def test_text_names_runs_of_equal_layers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "llama-3.1-8b"]) == 0
    out = capsys.readouterr().out
    # 2 × 4,096² + 2 × 1,024 × 4,096 of attention, 3 × 14,336 × 4,096 of the MLP, 2 × 4,096 of norms.
    assert "0 – 31       full_attention               218,112,000      4,096 B" in out


def test_devices_for_a_model_fit_and_come_smallest_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = printed(capsys, "which", "--model", "llama-3.1-8b", "--weights", "bf16", "--overhead", "1.5GiB")
    sizes = [int(row["memory_bytes"]) for row in rows]  # type: ignore[call-overload]
    assert code == 0
    assert sizes == sorted(sizes)
    # 14.96 GiB of weights, 1.5 of overhead and 1 of cache: no 16 GB card, every 24 GB card.
    assert min(sizes) > 16_060_522_496 + 1_610_612_736 + 1_073_741_824
    assert {"rtx-4090", "rtx-3090"} <= {row["device"] for row in rows}
    for row in rows[:3]:
        chosen = choose(Choices(model="llama-3.1-8b", device=str(row["device"]), weights="bf16", overhead="1.5GiB"))
        same = answer(chosen.architecture, chosen.deployment, chosen.workload)
        assert (same.fits, same.free_bytes, same.max_users) == (True, row["free_bytes"], row["max_users"])


def test_models_for_a_device_fit(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = printed(capsys, "which", "--memory", "8GiB", "--overhead", "1.5GiB", "--context", "4096", "--all")
    models = {(row["model"], row["weights"]) for row in rows}
    assert code == 0
    assert ("Llama-2-13B", "int4-g128") not in models
    assert ("Llama-3.1-8B", "int4-g128") in models
    weights = [int(row["weights_bytes"]) for row in rows]  # type: ignore[call-overload]
    assert weights == sorted(weights, reverse=True)
    assert all(int(row["max_context_tokens"]) >= 4096 for row in rows if row["max_context_tokens"] is not None)  # type: ignore[call-overload]


def test_nothing_that_fits_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["which", "--memory", "1MiB"]) == 1
    assert capsys.readouterr().out.startswith("Nothing in the presets does this")


def test_a_model_or_a_card_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["which"]) == 2
    assert "or both to list files" in capsys.readouterr().err


def test_model_and_card_together_say_which_file_to_take(capsys: pytest.CaptureFixture[str]) -> None:
    """The largest that fits 8 GiB beside 1 GiB of cache and 1.5 GiB of runtime."""
    words = ["which", "--model", "llama-3.1-8b", "--memory", "8GiB", "--overhead", "1.5GiB"]
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    best = next(row for row in rows if row["state"] == "fits")
    assert best["weights_bytes"] == max(row["weights_bytes"] for row in rows if row["state"] == "fits")
    assert main(words) == 0
    assert f"Take Llama-3.1-8B in {best['weights']}: the largest file that fits" in capsys.readouterr().out
    assert main([*words[:3], "--memory", "1GiB"]) == 1


@pytest.mark.parametrize("engine", ["minimum", "llama_cpp", "ollama"])
@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen3-8b", "llama-3.1-70b"])
def test_no_smaller_file_has_a_better_published_quality_than_the_one_to_take(model: str, engine: str) -> None:
    """At every size of card; Llama-3-8B loses 7.2% in q4_1 and 2.4% in q4_k_m, which is smaller."""
    loss = re.compile(r"perplexity \+([\d.,]+)%")
    every = files_for(Choices(model=model, memory="1TiB", engine=engine), load_preset(model))
    for largest in range(len(every)):
        fitting = every[largest:]
        best = best_file(fitting)
        assert best is not None
        words, table = match_quality(best)
        for other in fitting:
            its_words, its_table = match_quality(other)
            mine, its = loss.match(words), loss.match(its_words)
            if other.weights_bytes < best.weights_bytes and mine and its and table == its_table:
                assert float(its[1].replace(",", "")) >= float(mine[1].replace(",", ""))


def test_a_larger_file_that_loses_more_is_named_and_not_taken(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["which", "--model", "llama-3.1-8b", "--memory", "8GiB", "--weights", "q4_1,q4_k_m", "--overhead", "1GiB"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "Take Llama-3.1-8B in q4_k_m: no smaller file that fits loses less" in printed
    assert "It costs perplexity +2.4%, read on Llama-3-8B, WikiText-2. q4_1 is larger and loses more." in printed


@pytest.mark.parametrize(
    "words",
    [
        ("which", "--model", "llama-3.1-8b"),
        ("which", "--model", "llama-3.1-8b", "--device", "h100-sxm"),
        ("cache", "llama-3.1-8b"),
        ("table", "--models", "llama-3.1-8b"),
        ("table", "--models", "llama-3.1-8b", "--format", "markdown"),
        ("table", "--models", "llama-3.1-8b", "--format", "csv"),
    ],
)
def test_what_a_plan_warns_of_is_said_everywhere(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    main([*words, "--context", "500000"])
    printed = capsys.readouterr().out
    assert "more than Llama-3.1-8B was made for (131,072)" in printed
    assert words[0] == "cache" or "Only weights and cache are counted" in printed


def test_formats_for_one_model_on_one_device_whether_they_fit_or_not() -> None:
    """Llama-3.1-8B, 8 GiB, 1.5 GiB of runtime: 6.5 GiB hold the weights and 1 GiB for 8,192 tokens, or not."""
    asked = Choices(model="llama-3.1-8b", memory="8GiB", overhead="1.5GiB")
    found = formats_for(asked, load_preset("llama-3.1-8b"), ("checkpoint", "q8_0", "q4_k_m", "iq2_m"))
    states = {match.weights: match.state for match in found}
    assert states == {"checkpoint": State.NO, "q8_0": State.NO, "q4_k_m": State.FITS, "iq2_m": State.FITS}
    assert 8 * 2**30 - found[2].weights_bytes - 3 * 2**29 - 2**30 == found[2].free_bytes


def test_the_first_fitting_format_of_each_model() -> None:
    asked = Choices(model="", memory="8GiB", overhead="1.5GiB")
    found = models_for(asked, ("checkpoint", "q8_0", "q4_k_m"), first_only=True)
    by_model = {match.model: match.weights for match in found}
    assert len(by_model) == len(found)
    assert by_model["Qwen2.5-0.5B"] == "checkpoint"
    assert by_model["Llama-3.1-8B"] == "q4_k_m"
    every = models_for(asked, ("checkpoint", "q8_0", "q4_k_m"))
    assert {match.model for match in every} == set(by_model)


def test_a_nominal_class_is_not_tried_in_types_that_decide_by_tensor(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows = printed(capsys, "which", "--model", "7b-class", "--overhead", "1.5GiB")
    assert code == 0
    assert not {row["weights"] for row in rows} & {"q5_k_m", "q4_k_m", "q3_k_m", "iq2_m"}


@pytest.mark.parametrize(
    "words", [("--device", "no-such-card"), ("--model", "7b-class", "--weights", "q4_k_m"), ("--memory", "lots")]
)
def test_what_cannot_be_asked_is_said(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["which", *words]) == 2
    assert words[-1].split("_")[0] in capsys.readouterr().err.lower()


@pytest.mark.parametrize("figure", [("--context", "0"), ("--context", "-5"), ("--users", "0"), ("--users", "-1")])
@pytest.mark.parametrize(
    "question",
    [
        ("which", "--device", "rtx-4060"),
        ("which", "--device", "rtx-4060", "--all"),
        ("which", "--model", "qwen3-8b"),
        ("which", "--model", "qwen3-8b", "--device", "rtx-4060"),
        ("plan", "--model", "qwen3-8b", "--device", "rtx-4060"),
    ],
)
def test_an_impossible_figure_is_refused_by_every_question(
    question: tuple[str, ...], figure: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*question, *figure]) == 2
    name, value = figure
    assert capsys.readouterr().err.startswith(f"{name.removeprefix('--')} = {value} is not possible: ")
