"""What the comparison with a folder of published configs says of one model."""

import pytest

from planner import presets
from planner.weights import parameters
from tests.truth import compare

LLAMA = presets.load_preset("llama-3.1-8b")
TOTAL = parameters(LLAMA)


@pytest.mark.parametrize(
    ("exact", "published", "verdict", "reason"),
    [
        (str(TOTAL), "", "equal", "8,030,261,248"),
        ("", str(TOTAL), "equal", "8,030,261,248, as published"),
        ("", str(TOTAL + 1_184), "unknown", "8,030,261,248 is -1,184 from the published 8,030,262,432 (why)"),
        ("", "", "unknown", "8,030,261,248; nothing to compare with (why)"),
        (str(TOTAL - 2_048), "", "wrong", "8,030,261,248 is +2,048 from 8,030,259,200"),
    ],
)
def test_a_difference_is_printed_wherever_there_is_a_total(
    exact: str, published: str, verdict: str, reason: str
) -> None:
    row = {"params_exact": exact, "params_published_hf": published, "params_note": "why", "params_exact_status": ""}
    assert compare(LLAMA, row) == (verdict, reason)
