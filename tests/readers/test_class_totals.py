"""The classes in presets/class_defaults/ against the library's own: shallow shapes with other widths, biases and ties.

``tests/data/class_totals.json`` holds what transformers counts for each, so that no torch is needed here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.readers.knowledge import KNOWLEDGE, NAMES, find_family

DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "class_totals.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", DATA["totals"], ids=lambda case: case["config"]["model_type"])
def test_parameters_are_those_of_the_librarys_class(case: dict[str, Any]) -> None:
    assert parameters(read_config(case["config"], KNOWLEDGE)) == case["parameters"]


def test_every_case_is_of_a_family_in_presets() -> None:
    assert {case["config"]["model_type"] for case in DATA["totals"]} <= NAMES


@pytest.mark.parametrize("model_type", sorted(NAMES))
def test_every_family_can_be_parsed_and_leads_to_families_that_exist(model_type: str) -> None:
    family = find_family(model_type)
    assert family is not None
    named = {family.same_as, family.nested_model_type, *family.classes.values()} - {""}
    assert named <= NAMES
