"""The README's examples print what it says they print."""

import re
import shlex
from pathlib import Path

import pytest

from planner.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```console\n\$ kvbudget (.+)\n((?:.*\n)*?)```$", README, flags=re.MULTILINE)


def test_there_are_examples() -> None:
    assert README.count("$ kvbudget ") == len(EXAMPLES) >= 1


@pytest.mark.parametrize(("arguments", "printed"), EXAMPLES)
def test_example(arguments: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(shlex.split(arguments))
    assert capsys.readouterr().out == printed


def test_every_file_of_presets_is_explained() -> None:
    explained = (ROOT / "presets" / "README.md").read_text(encoding="utf-8")
    assert [file.name for file in (ROOT / "presets").glob("*.toml") if f"`{file.name}`" not in explained] == []


@pytest.mark.parametrize("folder", ["", "measure", "presets"])
def test_links_lead_somewhere(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / folder / link).exists()] == []
