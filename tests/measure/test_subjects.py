"""Figures are one model's, named: records of two models, number formats or machines never stand for each other."""

from pathlib import Path
from typing import Any

from measure.chapter import chapter, chapter_markdown
from measure.compare import comparison
from measure.effects import HOLDS, NOT_YET, effects
from measure.findings import Closeness, findings, sentence, size, title, worst_first
from measure.records import Outcome, Record, append
from measure.rows import PREFERRED, Rows
from measure.trained import TITLE
from tests.measure.kept import keep

HERE = {"device": "EPYC, 2 threads", "dtype": "fp32"}


def step(requests: int, rate: float, model: str) -> dict[str, Any]:
    return {
        "kind": "step", "model": model, "requests": requests, "tokens_per_s": rate, "step_s": requests / rate,
        "predicted_cache_bytes": 100 * requests, "measured_cache_bytes": 100 * requests,
    }  # fmt: skip


def batches(folder: Path, named: str, rate: float, **conditions: Any) -> None:
    keep(folder, "batching", step(1, 10.0, named), step(16, rate, named), **HERE | conditions)


def verdict(folder: Path) -> tuple[str, str]:
    return next((one.verdict, one.figures) for one in effects(folder) if one.effect.startswith("A larger batch"))


def test_the_preferred_model_is_the_trained_one() -> None:
    assert PREFERRED == TITLE


def test_a_later_record_of_another_model_changes_no_figure_of_the_trained_one(tmp_path: Path) -> None:
    batches(tmp_path, TITLE, 60.0)
    before = verdict(tmp_path)
    assert before == (HOLDS, "1 → 16 requests: throughput 6.0 ×, latency 2.7 ×")
    batches(tmp_path, "Other", 5.0, model="other")
    batches(tmp_path, TITLE, 5.0, model="smollm2-135m", model_changes="num_hidden_layers 30 → 6")
    assert verdict(tmp_path) == before
    assert Rows(tmp_path).said() == f"Readings of {TITLE}, fp32 on EPYC, 2 threads."
    assert Rows(tmp_path).said() in chapter_markdown(tmp_path)
    assert any(row["here"] == "6.00 ×, 2.67 ×" for row in chapter(tmp_path))


def test_without_the_trained_one_the_most_measured_is_shown_and_named(tmp_path: Path) -> None:
    batches(tmp_path, "Little", 60.0, model="little")
    batches(tmp_path, "Other", 5.0, model="other", dtype="bf16")
    keep(tmp_path, "prefill-decode", {"phase": "prefill", "model": "Little"}, model="little", **HERE)
    assert verdict(tmp_path)[0] == HOLDS
    assert Rows(tmp_path).said() == "Readings of Little, fp32 on EPYC, 2 threads."
    copy = {"model": "little", "model_changes": "num_hidden_layers 30 → 6"}
    for name in ("quality", "batching", "peak"):
        keep(tmp_path, name, {"kind": "x", "model": "Little"}, **HERE | copy)
    assert "Little (a small copy, random weights), fp32" in Rows(tmp_path).said()
    assert verdict(tmp_path)[0] == NOT_YET


def test_a_busy_machine_is_named_beside_its_times(tmp_path: Path) -> None:
    for share, case in ((0.1, "one"), (0.63, "two")):
        record = Record(
            experiment="batching", case=case, settings={}, conditions=HERE, outcome=Outcome.MEASURED, date="2026-11-30",
            seconds=9.0, rows=(step(1, 10.0, TITLE),), others_share=share,
        )  # fmt: skip
        append(record, tmp_path / "batching.jsonl")
        assert ("took up to 63% of the processors" in Rows(tmp_path).said()) == (share > 0.2)


def test_pairs_of_one_case_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    shape = {"predicted_bytes": 4, "measured_bytes": 4, "batch": 1, "model": "A"}
    keep(tmp_path, "cache-size", *(shape | {"tokens": tokens} for tokens in (1, 48)), case="a", **HERE)
    assert [one.name for one in findings(comparison(tmp_path))] == ["cache, a, 1 × 1 tokens", "cache, a, 1 × 48 tokens"]
    keep(tmp_path, "peak", {"predicted_peak_bytes": 1, "measured_peak_bytes": 1, "model": "A"}, case="b", **HERE)
    keep(
        tmp_path, "peak", {"predicted_peak_bytes": 1, "measured_peak_bytes": 2, "model": "A"}, case="b",
        device="H100", dtype="fp32",
    )  # fmt: skip
    found = findings(comparison(tmp_path))
    assert [one.name for one in found[2:]] == ["peak, b, EPYC, 2 threads", "peak, b, H100"]
    assert title(found) == "3 of 4 predictions are exact on 2 devices"
    assert title(found[:3]) == "All 3 predictions are exact on EPYC, 2 threads"


def test_what_agrees_as_printed_or_within_a_range_is_said_so(tmp_path: Path) -> None:
    """28.12 MiB printed, 29,491,200 B planned; a compute buffer within its range is not off, whoever asks."""
    row = {
        "predicted_cache_bytes": 29_491_200, "measured_cache_bytes": 29_485_957, "cache_as_printed": True,
        "predicted_compute_bytes": 100, "measured_compute_bytes": 117, "compute_within": True,
        "predicted_weights_bytes": 1_000, "measured_weights_bytes": 1_200, "weights_as_printed": False,
        "predicted_output_bytes": 100_000, "measured_output_bytes": 100_017,
    }  # fmt: skip
    keep(tmp_path, "engine", row, case="llama.cpp", **HERE)
    found = findings(comparison(tmp_path))
    assert [one.closeness for one in found] == [Closeness.PRINTED, Closeness.RANGE, Closeness.OFF, Closeness.NEAR]
    assert [size(one) for one in found] == [
        "equal as printed", "within its range", "17% too low", "0.017% too low",
    ]  # fmt: skip
    assert [one.measured for one in worst_first(found[1:])] == [1_200, 117, 100_017]
    assert title(found) == "1 of 4 predictions are exact on EPYC, 2 threads"
    said = sentence(found)
    assert said.startswith("One is exact once rounded to the digits that an engine prints. One is within the range")
    assert "One is off: **weights, llama.cpp**, 17% too low." in said
