"""Which model to take for a device: few, most useful first, each with the way to its file."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest

from planner import presets
from planner.answers.answer import answer
from planner.budget import State
from planner.catalogue.downloads import OF_THE_HUB, of_the_hub, pulled
from planner.cli import main
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.finding.picks import LARGER, SHOWN, Pick, larger_for, longer_context, picks_for, placed
from planner.finding.which import models_for, on_its_device, prepared
from planner.inputs.choices import Choices, choose
from planner.launch import launch
from planner.presets import load_preset
from planner.text.picks import context_hint, get_command
from planner.tried_formats import default_weights, engines_on, how_to_get, runs_on

LAPTOP = Choices(model="", device="rtx-4060-laptop", engine="ollama", context=8_192)
WEIGHTS = default_weights("ollama")


@pytest.fixture(scope="module")
def picks() -> list[Pick]:
    return picks_for(LAPTOP, WEIGHTS)


def plan(pick: Pick, context: int) -> Choices:
    settings = (pick.setting,) if pick.setting else ()
    return Choices(
        model=pick.match.name,
        device=LAPTOP.device,
        engine="ollama",
        weights=pick.match.weights,
        context=context,
        set=settings,
    )


def state(choices: Choices) -> State:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload).state


def test_every_pick_fits_and_its_context_is_the_longest_that_stays_on_the_card(picks: list[Pick]) -> None:
    assert len(picks) == SHOWN
    for pick in picks:
        limit, longest = pick.match.model_limit_tokens, pick.context_tokens
        assert longest is not None
        assert state(plan(pick, 8_192)) is State.FITS
        assert state(plan(pick, longest)) is State.FITS
        assert longest == limit or state(plan(pick, longest + 256)) is not State.FITS


def answer_fits(choices: Choices) -> bool:
    chosen = choose(choices)
    return answer(chosen.architecture, chosen.deployment, chosen.workload).fits


def test_every_pick_can_be_pulled_in_four_bits_or_more(picks: list[Pick]) -> None:
    for pick in picks:
        assert pulled(pick.get) == (pick.match.name, pick.match.weights)
        assert pick.match.matrix_bits >= 4


def test_ollama_s_own_library_comes_first_and_both_questions_have_one_answer(
    picks: list[Pick], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not of_the_hub(picks[0].get)
    names = [of_the_hub(pick.get) for pick in picks]
    assert names == sorted(names)
    for pick in picks[:3]:
        main(["which", "--device", "rtx-4060-laptop", "--engine", "ollama", "--model", pick.match.name])
        assert capsys.readouterr().out.startswith(f"Take {pick.match.model} in {pick.match.weights}: ")
        written = launch(plan(pick, 8_192), choose(plan(pick, 8_192)))
        assert written is not None
        assert f"\nFROM {pick.get}\n" in written.text


def test_what_only_the_hub_has_comes_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    """The library has q8_0 and q4_k_m: 8.71 and 5.55 GiB are too much for what the card offers a model."""
    main(["which", "--device", "rtx-4060-laptop", "--engine", "ollama", "--model", "qwen3.5-9b"])
    printed = capsys.readouterr().out
    assert "in iq4_xs: the largest file of the Hub that fits" in printed
    assert f"Note: {OF_THE_HUB}" in printed


def test_the_largest_of_two_years_come_first(picks: list[Pick]) -> None:
    releases = [presets.find_model(pick.match.name).release for pick in picks]
    newest = max(preset.release for preset in presets.models() if preset.release)
    recent = [(newest - release).days <= 730 for release in releases]
    assert recent == sorted(recent, reverse=True)
    sizes = [presets.find_model(pick.match.name).published_parameters or 0 for pick in picks]
    first = recent.count(True)
    assert sizes[:first] == sorted(sizes[:first], reverse=True)


def test_larger_ones_put_what_fit_would_choose_into_main_memory(picks: list[Pick]) -> None:
    larger = larger_for(LAPTOP, WEIGHTS, picks[0].match)
    assert 1 <= len(larger) <= LARGER
    for pick in larger:
        assert pick.setting.startswith(("n_cpu_moe=", "n_gpu_layers="))
        assert pick.match.host_bytes > 2**30
        assert answer_fits(plan(pick, 8_192))
        assert not answer_fits(replace(plan(pick, 8_192), set=()))


def test_what_lies_in_main_memory_is_in_words_where_the_engine_has_no_setting_for_it(picks: list[Pick]) -> None:
    experts = next(pick for pick in larger_for(LAPTOP, WEIGHTS, picks[0].match) if "n_cpu_moe=" in pick.setting)
    number = experts.setting.partition("=")[2]
    assert placed(experts, "ollama") == f"experts of {number} layers in main memory"
    assert placed(experts, "llama_cpp") == experts.setting


def test_a_longer_context_puts_more_into_main_memory(picks: list[Pick]) -> None:
    first = next(pick for pick in picks if (pick.context_tokens or 0) < 4 * 8_192)
    longer = longer_context(LAPTOP, first)
    assert longer is not None
    tokens, host_bytes = longer
    assert tokens == 4 * 8_192
    assert host_bytes > first.match.host_bytes
    assert longer_context(Choices(model="", device="rtx-4090", engine="vllm"), picks[0]) is None


@pytest.mark.parametrize(
    ("engine", "weights", "command"),
    [
        ("minimum", "checkpoint", "hf download Qwen/Qwen3-8B"),
        ("minimum", "int4-g128-asym", "hf download Qwen/Qwen3-8B-AWQ"),
        ("minimum", "q6_k", "ollama pull hf.co/bartowski/Qwen_Qwen3-8B-GGUF:Q6_K"),
        ("ollama", "q8_0", "ollama pull qwen3:8b-q8_0"),
        ("llama_cpp", "q6_k", "llama-server --hf-repo bartowski/Qwen_Qwen3-8B-GGUF:Q6_K"),
        ("vllm", "int4-g128-asym", "hf download Qwen/Qwen3-8B-AWQ"),
    ],
)
def test_each_file_is_had_from_where_it_is(engine: str, weights: str, command: str) -> None:
    """A checkpoint is no file of Ollama's, whatever asks for it."""
    asked = Choices(model="qwen3-8b", memory="24GiB", engine=engine, weights=weights)
    match = on_its_device(*prepared(asked, load_preset("qwen3-8b")))
    assert (
        get_command(Pick(match=match, get=how_to_get(engine, "qwen3-8b", weights), context_tokens=1), asked) == command
    )


def test_the_command_is_short_and_says_what_to_pull(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["which", "--device", "rtx-4060-laptop", "--engine", "ollama"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 30
    assert lines[0].startswith("Take ")
    assert ": ollama pull " in lines[0]
    assert "stay on it" in lines[1]
    main(["which", "--device", "rtx-4060-laptop", "--engine", "ollama", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) <= SHOWN + LARGER
    assert lines[0].endswith(rows[0]["get"])
    assert [row["setting"] for row in rows[:SHOWN]] == [None] * SHOWN


def test_cards_for_a_model_are_few_unless_all_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    main(["which", "--model", "llama-3.1-8b", "--weights", "q4_k_m", "--engine", "ollama"])
    short = capsys.readouterr().out.splitlines()
    main(["which", "--model", "llama-3.1-8b", "--weights", "q4_k_m", "--engine", "ollama", "--all"])
    every = capsys.readouterr().out.splitlines()
    assert len(short) == 1 + 15 + 1
    assert short[-1] == f"{len(every) - 16} larger ones do it too: --all lists them."


def test_only_what_runs_on_the_device_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """No checkpoint in a CUDA kernel's format on a Mac, and no engine that has no build for it."""
    mac, radeon, geforce = (presets.find_device(name) for name in ("apple-m2-24gb", "rx-6800-xt", "rtx-4090"))
    assert engines_on(mac) == ("transformers", "llama_cpp", "ollama")
    assert not runs_on("vllm", radeon)
    assert set(engines_on(geforce)) == {*ENGINES} - {"minimum"}
    assert not {"int8", "int4-g128"} & set(default_weights("minimum", mac))
    assert {"int8", "int4-g128"} <= set(default_weights("minimum", geforce))
    assert main(["which", "--device", "apple-m2-24gb", "--engine", "vllm"]) == 2
    assert capsys.readouterr().err == (
        "vllm does not run on Apple M2 (10-core GPU) 24 GB: choose one of: transformers, llama_cpp, ollama.\n"
    )
    main(["which", "--model", "llama-3.1-8b", "--overhead", "1.5GiB", "--all", "--json"])
    macs = [row for row in json.loads(capsys.readouterr().out) if presets.find_device(row["device"]).vendor == "apple"]
    assert macs
    assert not {"int8", "int4-g128"} & {row["weights"] for row in macs}
    main(["which", "--model", "llama-3.1-8b", "--engine", "vllm", "--all", "--json"])
    makers = {presets.find_device(row["device"]).vendor for row in json.loads(capsys.readouterr().out)}
    assert makers == {"nvidia", "amd", "intel", "google"}


def test_a_format_that_the_engine_makes_needs_no_file_of_its_own() -> None:
    """vLLM quantises to FP8 while it loads, so that the publisher's checkpoint is named; of 4 bits another is."""
    asked = Choices(model="", device="rtx-4090", engine="vllm", context=8_192)
    found = picks_for(asked, default_weights("vllm"))
    assert all("/" in pick.get for pick in found)
    by_format = {pick.match.weights: pick.get for pick in found}
    assert {"checkpoint", "fp8"} < by_format.keys() <= {"checkpoint", "fp8", "int4-g128", "int4-g128-asym"}
    assert found[0].match.parameters > 12e9


def test_a_small_card_is_told_which_quantised_checkpoint_to_load() -> None:
    """Qwen3-8B takes 15.3 GiB as published and 7.6 in FP8: on 8 GB vLLM needs its 4 bits, which Qwen publishes."""
    asked = Choices(model="", device="rtx-4060", engine="vllm", context=4_096)
    gets = {pick.match.name: pick.get for pick in picks_for(asked, default_weights("vllm"))}
    assert any(get.endswith(("-AWQ", "-GPTQ-Int4", ".w4a16")) for get in gets.values())


def test_a_plan_on_a_device_without_a_build_has_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "--model", "llama-3.1-8b", "--device", "apple-m4-32gb", "--engine", "vllm"])
    out = capsys.readouterr().out
    assert "No command: vllm does not run on Apple M4" in out
    assert "vllm serve" not in out


def test_leaving_hopeless_plans_out_changes_nothing() -> None:
    """What weighs too much in the format's fewest bits never fits: the short cut finds what planning each finds."""
    asked = Choices(model="", memory="6GiB", engine="llama_cpp")
    found = {match.name for match in models_for(asked, ("q8_0",))}
    for preset in presets.models():
        if preset.config.get("nominal_parameters") or preset.name in found:
            continue
        # A model that the engine or the format refuses fits nowhere.
        with suppress(PlannerError):
            assert state(replace(asked, model=preset.name, weights="q8_0")) is not State.FITS


def test_ollama_s_context_is_to_be_asked_for(picks: list[Pick], capsys: pytest.CaptureFixture[str]) -> None:
    """It takes a shorter one by itself; other engines are told by their command."""
    hint = context_hint(picks[0], LAPTOP)
    assert f"/set parameter num_ctx {picks[0].context_tokens} in ollama run" in hint
    assert not context_hint(picks[0], replace(LAPTOP, engine="llama_cpp"))
    main(["which", "--device", "cpu-8gb", "--engine", "ollama"])
    printed = capsys.readouterr().out
    assert "the longest that stays in main memory" in printed
    assert "/set parameter num_ctx " in printed.splitlines()[2]
