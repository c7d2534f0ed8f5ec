"""Records, results and states that somebody has edited: one sentence, or as if they were not there."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.chapter import chapter
from measure.compare import comparison, comparison_text
from measure.effects import effects
from measure.experiments import EXPERIMENTS
from measure.results import RESULTS, results
from planner.errors import PlannerError
from tests.measure.kept import keep
from tests.measure.test_effects import SHOWN
from ui import measure_run

DEEP = "[" * 100_000
ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.lists(st.none(), max_size=1)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(SHOWN)), st.integers(0, 50), st.integers(0, 50), ODD)
def test_any_value_in_a_row_leaves_every_reader_standing(experiment: str, row: int, key: int, value: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in SHOWN.items():
            rows = [dict(one) for one in rows]
            if name == experiment:
                changed = rows[row % len(rows)]
                changed[sorted(changed)[key % len(changed)]] = value
            keep(Path(folder), name, *rows)
        for reader in (effects, chapter, lambda place: comparison_text(comparison(place))):
            try:
                assert reader(Path(folder))
            except PlannerError as error:
                assert str(error).endswith(".")


@pytest.mark.parametrize(
    "changes",
    [{"lesson": 1}, {"tables": "x"}, {"tables": [1]}, {"tables": [{"name": "", "rows": 3, "chart": None}]},
     {"disagreements": [2]}, {"without_reading": [{}]}],
)  # fmt: skip
def test_an_edited_result_is_left_out(changes: dict[str, Any], tmp_path: Path) -> None:
    name = next(iter(EXPERIMENTS))
    whole = {"experiment": name, "lesson": "So.", "disagreements": [], "tables": [], "without_reading": []}
    (tmp_path / RESULTS).mkdir()
    file = tmp_path / RESULTS / f"{name}.json"
    file.write_text(json.dumps(whole), encoding="utf-8")
    assert results(tmp_path) == [whole]
    file.write_text(json.dumps(whole | changes), encoding="utf-8")
    assert results(tmp_path) == []
    file.write_text(DEEP, encoding="utf-8")
    assert results(tmp_path) == []


@pytest.mark.parametrize("text", ["", "7", "{}", '{"words": 3}', '{"words": [], "pid": 1}', "\x00", DEEP])
def test_an_edited_state_is_no_run(text: str, tmp_path: Path) -> None:
    (tmp_path / measure_run.STATE).write_text(text, encoding="utf-8")
    assert measure_run.newest(tmp_path) is None
