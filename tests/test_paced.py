"""Whose speed a plan is asked with: a machine's own where its profile timed it, else an engine's on such cards."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from planner.choices import Choices, choose
from planner.cli import main
from planner.export import to_json
from planner.paced import paced
from planner.served import served
from planner.speed.work import decode_work
from tests.test_calibration import LOCAL, MACHINE


def machine_file(folder: Path) -> str:
    path = folder / "machine.json"
    path.write_text(to_json(MACHINE), encoding="utf-8")
    return str(path)


def test_without_a_profile_the_engines_constants_are_used() -> None:
    found = paced(choose(Choices(model="llama-3.1-8b", device="4090")), "vllm")
    assert not found.is_measured
    assert (found.constants.engine, found.model.deployment.device.name) == ("vllm", "rtx-4090")


def test_a_machine_that_was_timed_serves_as_fast_as_it_was(tmp_path: Path) -> None:
    """16 layers of a millisecond, bytes at 10 GB/s; whatever else is asked of the machine takes the same steps."""
    choices = replace(LOCAL, context=100, users=1, profile=machine_file(tmp_path))
    replica = served(choices, slots=4, block_tokens=16, speed_engine="vllm")
    assert replica.constants.source == "measured on Xeon, 0 passes"
    work = decode_work(replica.model, 4, 0)
    assert replica.step_time.by_sequences[4] / 1e15 == pytest.approx(16 * 1e-3 + work.read_bytes / 10e9)


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
    assert "leave --measured out" in capsys.readouterr().err
