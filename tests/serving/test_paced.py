"""Whose speed a plan is asked with: a machine's own where its profile timed it, else an engine's on such cards."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.calibration import CalibrationProfile
from planner.cli import main
from planner.errors import PlannerError
from planner.export import to_json
from planner.inputs.choices import Choices, choose
from planner.paced import MeasuredRate, paced
from planner.serving.served import served
from planner.serving.shape import ShapeWish
from planner.speed.work import decode_work
from tests.test_calibration import LOCAL, MACHINE


def machine_file(folder: Path, profile: CalibrationProfile = MACHINE) -> str:
    path = folder / "machine.json"
    path.write_text(to_json(profile), encoding="utf-8")
    return str(path)


def test_without_a_profile_the_engines_constants_are_used() -> None:
    found = paced(choose(Choices(model="llama-3.1-8b", device="4090")), "vllm")
    assert not found.is_measured
    assert (found.constants.engine, found.model.deployment.device.name) == ("vllm", "rtx-4090")


def test_a_machine_that_was_timed_serves_as_fast_as_it_was(tmp_path: Path) -> None:
    """16 layers of a millisecond, bytes at 10 GB/s; whatever else is asked of the machine takes the same steps."""
    choices = replace(LOCAL, context=100, users=1, profile=machine_file(tmp_path))
    replica = served(choices, ShapeWish(slots=4), speed_engine="vllm")
    assert replica.constants.source == "measured on Xeon, 0 passes"
    work = decode_work(replica.model, 4, 0)
    assert replica.step_time.by_sequences[4] / 1e15 == pytest.approx(16 * 1e-3 + work.read_bytes / 10e9)


@pytest.mark.parametrize(("weights", "source"), [("fp32", "0 passes"), ("bf16", "0 passes in fp32, not bf16")])
def test_a_speed_says_in_which_format_it_was_timed(weights: str, source: str, tmp_path: Path) -> None:
    timed = replace(MACHINE, conditions={**MACHINE.conditions, "dtype": "fp32"})
    chosen = choose(replace(LOCAL, weights=weights, profile=machine_file(tmp_path, timed)))
    assert paced(chosen, "transformers").constants.source == f"measured on Xeon, {source}"


def test_cost_and_capacity_of_a_machine_follow_its_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = ["--model", "llama-3.2-1b", "--memory", "20GiB", "--engine", "transformers", "--weights", "fp32"]
    card += ["--profile", machine_file(tmp_path)]
    assert main(["cost", *card, "--price", "1", "--users", "1", "--prompt", "1", "--output", "100", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["energy"] is None
    # 1.24 · 10⁹ parameters in 32 bit, a tied head read once: 4.94 GB at 10 GB/s, and 16 ms
    assert 1 / printed["output_tokens_per_s"] == pytest.approx(16e-3 + 4 * 1_235_814_400 / 10e9, rel=0.02)
    words = ["capacity", *card, "--max-time-per-token", "0.6", "--slots", "2", "--requests", "20", "--output", "20"]
    assert main([*words, "--json"]) == 0
    assert 0.5 < json.loads(capsys.readouterr().out)[0]["token_s"] <= 0.6


def test_a_profile_and_a_measured_point_are_one_too_many(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speed", "--model", "llama-3.2-1b", "--memory", "20GiB", "--engine", "transformers", "--weights", "fp32"]
    assert main([*words, "--profile", machine_file(tmp_path), "--measured", "2"]) == 2
    assert "--measured has no effect with a --profile that timed the machine" in capsys.readouterr().err


def test_a_profile_stands_before_measured_points_in_the_library(tmp_path: Path) -> None:
    choices = replace(LOCAL, profile=machine_file(tmp_path))
    with pytest.raises(PlannerError, match="The profile says how fast this machine is"):
        paced(choose(choices), "vllm", [MeasuredRate(tokens_per_s=2.0)])


CARD = ["--model", "llama-3.1-8b", "--device", "rtx-4090", "--json"]
REQUESTS = ["--requests", "40", "--prompt", "200", "--output", "40"]
MEASURED = ["--measured", "48@8192"]


@pytest.mark.parametrize(
    ("words", "spread"),
    [
        (["speed"], lambda said: said["tokens_per_s"]["high"] / said["tokens_per_s"]["low"]),
        (
            ["simulate", *REQUESTS, "--rate", "5"],
            lambda said: said["slow"]["latency"]["mean_s"] / said["fast"]["latency"]["mean_s"],
        ),
        (
            ["capacity", *REQUESTS, "--max-ttft", "1", "--slots", "8"],
            lambda said: said[0]["rate_high_per_s"] / said[0]["rate_low_per_s"],
        ),
        (["cost", "--price", "1"], lambda said: said["energy"]["high_joules"] / said["energy"]["low_joules"]),
    ],
)
def test_one_measured_point_narrows_every_command(
    words: list[str], spread: Callable[[Any], float], capsys: pytest.CaptureFixture[str]
) -> None:
    found = []
    for more in ([], MEASURED):
        main([*words, *CARD, *more])
        found.append(spread(json.loads(capsys.readouterr().out)))
    assert 1 < found[1] < found[0]


def test_a_measured_point_moves_what_a_draft_is_worth(capsys: pytest.CaptureFixture[str]) -> None:
    """A step takes as long as was measured: 48 tokens a second of one user are 20.8 ms."""
    words = ["speculate", "--acceptance", "0.7", "--draft-tokens", "4", "--draft-cost", "0.1", "--batch", "1", *CARD]
    assert main([*words, "--context", "8192", *MEASURED]) == 0
    assert json.loads(capsys.readouterr().out)["step_s"] == pytest.approx(1 / 48)


@pytest.mark.parametrize(
    ("engine", "setting"),
    [("llama_cpp", "n_gpu_layers=4"), ("llama_cpp", "no_kv_offload=true"), ("vllm", "cpu_offload_gb=4")],
)
def test_what_lies_in_main_memory_has_no_planned_speed(engine: str, setting: str) -> None:
    chosen = choose(Choices(model="llama-3.1-8b", device="rtx-4090", engine=engine, set=(setting,)))
    with pytest.raises(PlannerError, match="lies in main memory"):
        paced(chosen, engine)
    assert paced(choose(Choices(model="llama-3.1-8b", device="rtx-4090", engine=engine)), engine).constants


def test_speed_follows_the_engine_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for engine, of in (("minimum", "vllm"), ("ollama", "llama_cpp"), ("sglang", "sglang")):
        main(["speed", *CARD, "--engine", engine])
        assert json.loads(capsys.readouterr().out)["engine"] == of


def test_more_than_the_model_was_made_for_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """131,072 tokens are Llama-3.1's limit."""
    card = ["--model", "llama-3.1-8b", "--device", "h200-sxm"]
    long = ["--prompt", "140000", "--output", "1000"]
    drawn = ["--requests", "20", "--sigma", "0", "--slots", "2"]
    for words in (
        ["speed", *card, "--context", "141000"],
        ["cost", *card, *long, "--users", "1", "--price", "1"],
        ["simulate", *card, *long, *drawn],
        ["capacity", *card, *long, *drawn, "--max-ttft", "600"],
    ):
        main(words)
        assert "141,000 tokens are more than Llama-3.1-8B was made for (131,072)" in capsys.readouterr().out, words


@pytest.mark.parametrize("command", ["speed", "simulate", "cost", "speculate"])
def test_a_split_that_the_engine_cannot_make_has_no_speed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Llama-3.1-8B has 8 key-value heads; memory alone would divide them by three."""
    more = {
        "speed": [],
        "simulate": ["--requests", "20"],
        "cost": ["--price", "1"],
        "speculate": ["--batch", "1", "--acceptance", "0.7", "--draft-tokens", "4", "--draft-cost", "0.1"],
    }
    words = [command, "--model", "llama-3.1-8b", "--device", "h100-sxm", *more[command], "--tensor-parallel"]
    assert main([*words, "3"]) == 2
    assert "tensor_parallel = 3 does not go with 8 key-value heads: vLLM" in capsys.readouterr().err
    assert main([*words, "16"]) in (0, 1)


@pytest.mark.parametrize("engine", ["llama_cpp", "llama_cpp_2024", "llama_cpp_vulkan", "llamafile"])
def test_cards_with_whole_layers_take_turns(engine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Two RTX 4090 of May 2024 gave Llama-3-70B 19.2 tokens a second; shared layers would be planned twice as fast."""
    words = ["speed", "--model", "llama-3-70b", "--device", "rtx-4090", "--weights", "q4_k_m", "--context", "512"]
    words += ["--speed-engine", engine, "--json"]
    assert main([*words, "--tensor-parallel", "2"]) == 2
    assert "with whole layers on each card, which take turns" in capsys.readouterr().err
    assert main([*words, "--pipeline-parallel", "2"]) == 0
    pace = json.loads(capsys.readouterr().out)["tokens_per_s_user"]
    assert pace["low"] < 19.2 < pace["high"]


@pytest.mark.parametrize(
    "words", ["speed --users 8", "cost --price 1 --users 8", "speculate --draft eagle=0.7 --batch 8"]
)
def test_no_more_decode_at_once_than_the_engine_was_told_to_run(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = "--model llama-3.1-8b --device l4 --context 2048 --engine vllm --set max_num_seqs=2"
    plan = plan.replace("--context 2048 ", "") if words.startswith("cost") else plan
    assert main([*f"{words} {plan}".split(), "--json"]) == 0
    eight = json.loads(capsys.readouterr().out)
    assert main([*f"{words} {plan}".replace("8 --model", "2 --model").split(), "--json"]) == 0
    assert _paces(eight) == _paces(json.loads(capsys.readouterr().out))


def _paces(found: Any) -> list[Any]:
    """What does not depend on who waits."""
    rows = found if isinstance(found, list) else [found]
    return [
        {key: row[key] for key in row if "tokens_per_s" in key or key in ("curve", "output_per_million")}
        for row in rows
    ]


@pytest.mark.parametrize(
    ("engine", "setting"),
    [
        ("vllm", "max_num_seqs"),
        ("sglang", "max_running_requests"),
        ("tensorrt_llm", "max_batch_size"),
        ("llama_cpp", "n_parallel"),
        ("ollama", "n_parallel"),
    ],
)
def test_the_first_sentence_says_who_waits(engine: str, setting: str, capsys: pytest.CaptureFixture[str]) -> None:
    plan = f"speed --model llama-3.1-8b --device h100-sxm --context 2048 --users 8 --engine {engine}"
    assert main(f"{plan} --set {setting}=2".split()) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"2 of 8 users at once ({setting} = 2), the other 6 wait: each of the 2 gets")
    assert main(plan.split()) == 0
    assert capsys.readouterr().out.startswith("Each of 8 users gets")


def test_a_plan_says_that_its_engine_runs_fewer_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    plan = "plan --model llama-3.1-8b --device h100-sxm --context 2048 --users 8"
    main(f"{plan} --engine vllm --set max_num_seqs=7".split())
    assert "Note: 7 of 8 users at once (max_num_seqs = 7), the other one waits; room is" in capsys.readouterr().out
    main(f"{plan} --engine llama_cpp --set n_parallel=2".split())  # counted with as many slots as users
    assert "the other 6 wait" not in capsys.readouterr().out


def test_ollama_is_said_to_be_another_engines_benchmark(capsys: pytest.CaptureFixture[str]) -> None:
    main(["speed", "--model", "llama-3.2-3b", "--device", "rtx-4070", "--engine", "ollama", "--weights", "q4_k_m"])
    assert "Measured was the benchmark of llama.cpp, which neither samples nor serves" in capsys.readouterr().out
