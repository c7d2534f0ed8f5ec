"""The README's examples print what it says they print."""

import re
import shlex
from pathlib import Path

import pytest

from planner.cli import main

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```console\n\$ kvbudget (.+)\n((?:.*\n)*?)```$", README, flags=re.MULTILINE)


def test_there_are_examples() -> None:
    assert README.count("$ kvbudget ") == len(EXAMPLES) >= 1


@pytest.mark.parametrize(("arguments", "printed"), EXAMPLES)
def test_example(arguments: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(shlex.split(arguments))
    assert capsys.readouterr().out == printed
