"""requirements.txt and pyproject.toml name the same bounds; torch is never taken without an upper one."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [
    line for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"
]


def test_requirements_are_the_dependencies_and_every_extra() -> None:
    extras = PROJECT["optional-dependencies"].values()
    named = {*PROJECT["dependencies"], *(requirement for extra in extras for requirement in extra)}
    assert sorted(REQUIREMENTS) == sorted(named)


def test_every_requirement_has_a_lower_and_an_upper_bound() -> None:
    assert [line for line in REQUIREMENTS if not re.fullmatch(r"[\w-]+>=[\d.]+,<[\d.]+", line)] == []


def test_the_app_needs_no_torch() -> None:
    names = {re.split(r"\W", requirement)[0] for requirement in PROJECT["optional-dependencies"]["app"]}
    assert not names & {"torch", "transformers", "accelerate"}
