"""The classes in presets/class_defaults/ against the library's own: shallow shapes with other widths, biases and ties.

``tests/data/class_totals.json`` holds what transformers counts for each, and what its cache keeps where that
was read, so that no torch is needed here.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.oracle import our_reading
from tests.readers.knowledge import KNOWLEDGE, NAMES, find_family

DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "class_totals.json").read_text(encoding="utf-8")
)


def _model_type(case: dict[str, Any]) -> str:
    return str(case["config"]["model_type"])


@pytest.mark.parametrize("case", DATA["totals"], ids=_model_type)
def test_parameters_are_those_of_the_librarys_class(case: dict[str, Any]) -> None:
    assert parameters(read_config(case["config"], KNOWLEDGE)) == case["parameters"]


@pytest.mark.parametrize("case", [case for case in DATA["totals"] if "cache_bytes" in case], ids=_model_type)
def test_cache_is_the_librarys(case: dict[str, Any]) -> None:
    expected = {int(tokens): size for tokens, size in case["cache_bytes"].items()}
    assert our_reading(read_config(case["config"], KNOWLEDGE), tuple(expected)).cache_bytes == expected


def test_every_case_is_of_a_family_in_presets() -> None:
    assert {case["config"]["model_type"] for case in DATA["totals"]} <= NAMES


@pytest.mark.parametrize("model_type", sorted(NAMES))
def test_every_family_can_be_parsed_and_leads_to_families_that_exist(model_type: str) -> None:
    family = find_family(model_type)
    assert family is not None
    named = {family.same_as, family.nested_model_type, *family.classes.values()} - {""}
    assert named <= NAMES
