"""One of a thing is singular, wherever a command counts: every text with 1 request, 1 user, 1 slot, 1 card."""

import re
from pathlib import Path

import pytest

from planner.cli import main

CARD = ["--model", "llama-3.1-8b", "--device", "rtx-4090"]
ONE = ["--requests", "1", "--slots", "1"]
RATED = ["cost", "--model", "llama-3.1-8b", "--prices", "{folder}/prices.toml"]
DRAFT = ["speculate", "--acceptance", "0.7", "--draft-tokens", "1"]
NOT_PLURAL = re.compile(
    r"(?<![\d.,])(?<!\+ )"
    r"1 (requests|users|tokens|slots|cards|replicas|blocks|rows|times|steps|seeds|layers|points|drafts)\b"
)
COMMANDS = {
    "simulate": ["simulate", *CARD, *ONE, "--rate", "1"],
    "simulate, stated": ["simulate", "--step-ms", "20", *ONE, "--prompt", "1", "--output", "1", "--sigma", "0"],
    "simulate, a trace": ["simulate", "--step-ms", "20", "--trace", "{folder}/one.csv", "--slots", "1"],
    "simulate, seeds": ["simulate", "--workload", "skewed-64", "--step-ms", "20", "--rate", "5", "--seeds", "1"],
    "capacity": ["capacity", *CARD, *ONE, "--max-ttft", "5"],
    "capacity, a node": ["capacity", *CARD, *ONE, "--max-ttft", "5", "--device-count", "2", "--node-devices", "1"],
    "cost": ["cost", *CARD, "--price", "1", "--users", "1", "--prompt", "1", "--output", "1"],
    "cost, a table": ["cost", *CARD[:2], "--users", "1", "--prices", "{folder}/prices.toml"],
    "cost, a rate": [*RATED, "--slots", "1", "--rate", "0.01", "--max-ttft", "30"],
    "speculate": ["speculate", "--acceptance", "0.7", "--draft-tokens", "1", "--draft-cost", "0.1"],
    "speculate, a server": [*DRAFT, *CARD, "--batch", "1", "--draft-model", "eagle"],
    "speculate, drafts": ["speculate", *CARD, "--batch", "1", "--draft", "eagle=0.7", "--draft-tokens", "1"],
    "speed": ["speed", *CARD, "--users", "1", "--prompt", "1"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_one_is_singular(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.csv").write_text("arrival,prompt,output\n0,1,1\n1,1,0\n", encoding="utf-8")
    (tmp_path / "prices.toml").write_text("h100-sxm = 2.5\n", encoding="utf-8")
    assert main([word.format(folder=tmp_path) for word in COMMANDS[name]]) in (0, 1)
    assert NOT_PLURAL.findall(capsys.readouterr().out) == []
