"""Cache tensors equal the planner's ``transformers`` engine, to the byte, for every kind of cache in the library."""

from collections.abc import Iterable

import pytest

from measure.experiments import cache_size
from measure.experiments.cache_size import attention_kinds
from measure.models import find_source
from measure.records import Outcome, Record
from measure.setup import Setup
from planner import presets
from planner.weights import parameters

SETUP = Setup(dtype="bf16")
FEW_PARAMETERS = 112_000_000
"""Random weights of so many are drawn in about a second."""


def is_fast(name: str) -> bool:
    """Whether the fast suite runs it: a small copy with few parameters, or a model of the quick run."""
    if name in cache_size.QUICK:
        return True
    return parameters(find_source(Setup(model=name, scale="small")).architecture) <= FEW_PARAMETERS


NAMES = [pytest.param(name, marks=[] if is_fast(name) else [pytest.mark.slow]) for name in cache_size.MODELS]


@pytest.mark.parametrize("name", NAMES)
def test_the_cache_is_what_the_planner_says(name: str) -> None:
    rows = list(cache_size.run({"model": name, "scale": "small"}, SETUP))
    assert [(row["batch"], row["tokens"]) for row in rows] == list(cache_size.SHAPES)
    assert [row["measured_bytes"] for row in rows] == [row["predicted_bytes"] for row in rows]
    assert all(row["storage_bytes"] >= row["measured_bytes"] for row in rows)


def test_25_architectures_are_compared_in_the_fast_suite() -> None:
    assert sum(map(is_fast, cache_size.MODELS)) >= 25


@pytest.mark.slow
def test_every_kind_of_cache_is_read_or_has_a_reason() -> None:
    """Over all presets that have layers; the kinds of a small copy are the whole model's."""

    def kinds(names: Iterable[str]) -> set[str]:
        return {kind for name in names for kind in attention_kinds(presets.load_preset(name)).split(" + ")}

    has_layers = [preset.name for preset in presets.models() if "model_type" in preset.config]
    read, reasoned = kinds(cache_size.MODELS), kinds(cache_size.NOT_READ)
    assert kinds(has_layers) == read | reasoned
    assert all(kinds([name]) - read for name in cache_size.NOT_READ)


def test_the_report_says_what_is_not_read_and_why() -> None:
    _, not_read = cache_size.report([], SETUP).tables
    assert [row["model"] for row in not_read.rows] == ["Llama-3.2-11B-Vision", "Yuan2-2B"]
    assert [row["kinds"] for row in not_read.rows] == [
        "grouped + cross", "multi-head + localized filtering",
    ]  # fmt: skip
    assert all(row["reason"] for row in not_read.rows)


def test_a_window_keeps_the_prompts_storage_behind_a_view() -> None:
    """Gemma-3 270M, small: 5 sliding layers of window 64 and 1 full one, 1 head of 256, bf16; one counter a window.

    96 tokens: full 96 · 1,024 B, sliding 63 · 1,024 B each, while the storages still hold all 96.
    """
    rows = list(cache_size.run({"model": "gemma-3-270m", "scale": "small"}, SETUP))
    long = next(row for row in rows if (row["batch"], row["tokens"]) == (1, 96))
    assert long["measured_bytes"] == (96 + 5 * 63) * 1_024 + 5 * 8
    assert long["storage_bytes"] == 6 * 96 * 1_024 + 5 * 8


def test_the_report_counts_what_is_exact_and_names_what_is_not() -> None:
    row = {"model": "A", "batch": 1, "tokens": 8, "predicted_bytes": 100, "measured_bytes": 100, "storage_bytes": 100}
    other = row | {"model": "B", "measured_bytes": 90, "storage_bytes": 180}
    records = [
        Record(
            experiment="cache-size",
            case="x",
            settings={},
            conditions={},
            outcome=Outcome.MEASURED,
            date="2026-01-01T00:00:00+00:00",
            seconds=1.0,
            rows=(row, other),
        )
    ]
    report = cache_size.report(records, SETUP)
    assert report.lesson.startswith("The cache of 1 of 2 architectures is what its formula says, to the byte; ")
    assert "up to 2.0 times as much (B)" in report.lesson
    assert report.disagreements == ("B, 1 × 8 tokens: -10 B",)
