"""A start that names no release ran on its card: none whose builds are not for that."""

import json

import pytest

from planner.cli import main
from planner.inputs.choices import Choices
from planner.logs.read import read_log
from planner.startups.report import report_log

LOG = "vllm serve Qwen/Qwen2.5-7B-Instruct\nValueError: No available memory for the cache blocks.\n"


@pytest.mark.parametrize(
    ("device", "stated", "version"),
    [
        ("v100-32gb", None, "0.19.1"),  # 0.20 is the first for 7.5 and later
        ("v100-32gb", "0.10.0", "0.10.0"),
        ("t4", None, None),
        ("rx-7900-xtx", None, None),
    ],
)
def test_the_newest_release_for_the_card(device: str, stated: str | None, version: str | None) -> None:
    given = Choices(model="", engine="vllm", device=device, engine_version=stated)
    found = report_log(read_log(LOG), given)
    assert found.choices is not None
    assert found.choices.engine_version == version
    assert any("none after 0.19.1 runs on this card" in note for note in found.notes) is (version == "0.19.1")


def test_cards_that_the_newest_release_has_no_build_for_are_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    def devices(*options: str) -> set[str]:
        main(["which", "--model", "qwen2.5-7b", "--engine", "vllm", "--all", "--json", *options])
        return {row["device"] for row in json.loads(capsys.readouterr().out)}

    newest, before = devices(), devices("--engine-version", "0.19")
    assert "t4" in newest
    assert {name for name in before - newest if name.startswith("v100")} == {"v100-16gb", "v100-32gb"}
    assert main(["which", "--device", "v100-32gb", "--engine", "vllm"]) == 2
    assert "V100 SXM2 32 GB in its newest release: give an earlier --engine-version, or" in capsys.readouterr().err
