"""The documented effects: each holds on readings that show it, fails on readings that do not, and waits without any."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measure.effects import CHECKS, FAILS, HOLDS, NOT_YET, effects, effects_markdown
from tests.measure.kept import keep

Readings = dict[str, list[dict[str, Any]]]
SHAPE = {"attention": "eager", "logits": "all", "batch": 1, "prompt_tokens": 40}
ERRORS = {"int8-row": 0.009, "nf4": 0.094, "int4-g128": 0.125, "int4-row": 0.154, "int4-tensor": 0.488}
AGREED = {"int8-row": 373, "nf4": 265, "int4-g128": 211, "int4-row": 180, "int4-tensor": 4}
PERPLEXITY = {"full precision": 29.9, "int8-row": 30.2, "int4-tensor": 397_464.0}
ACCEPTED = {"int8-row": 48, "nf4": 40, "int4-row": 20}

SHOWN: Readings = {
    "cache-size": [{"model": "a", "predicted_bytes": 10, "measured_bytes": 10}],
    "cache-exactness": [
        {"kind": "generation", "tokens": 48, "same_tokens": 48, "ratio": 5.5},
        {"kind": "generation", "tokens": 16, "same_tokens": 16, "ratio": 2.1},
        {"kind": "head", "tokens": 256, "ratio": 4.0},
        {"kind": "head", "tokens": 2_048, "ratio": 154.0},
    ],
    "peak": [
        SHAPE | {"cached": cached, "generated_tokens": tokens, "measured_peak_bytes": size}
        for tokens, cached, size in ((16, True, 100), (16, False, 140), (64, True, 100), (64, False, 260))
    ],
    "prefill-decode": [
        {"phase": "prefill", "tokens": 40, "seconds_per_token": 0.002},
        {"phase": "decode", "tokens": 16, "seconds_per_token": 0.05},
    ],
    "batching": [
        {"kind": "step", "requests": 1, "tokens_per_s": 20.0, "step_s": 0.05},
        {"kind": "step", "requests": 32, "tokens_per_s": 320.0, "step_s": 0.1},
    ],
    "weight-quantization": [{"kind": "scheme", "scheme": n, "mean_error": error} for n, error in ERRORS.items()],
    "quality": [
        {"scheme": n, "perplexity": PERPLEXITY.get(n, 40.0), "agreed": AGREED.get(n, 384), "positions": 384,
         "agreement": AGREED.get(n, 384) / 384}
        for n in ("full precision", *ERRORS)
    ],
    "speculation": [
        *({"kind": "run", "how": "greedy", "draft": n, "accepted": hits, "drafted": 50, "acceptance": hits / 50}
          for n, hits in ACCEPTED.items()),
        {"kind": "test", "draft": "int4-row", "p_value": 0.6},
    ],
}  # fmt: skip


def verdicts(folder: Path, readings: Readings) -> list[str]:
    for experiment, rows in readings.items():
        keep(folder, experiment, *rows)
    return [one.verdict for one in effects(folder)]


def test_without_readings_nothing_is_said(tmp_path: Path) -> None:
    assert verdicts(tmp_path, {}) == [NOT_YET] * len(CHECKS)


def test_each_effect_holds_with_its_figures(tmp_path: Path) -> None:
    assert verdicts(tmp_path, SHOWN) == [HOLDS] * len(CHECKS)
    figures = [one.figures for one in effects(tmp_path)]
    assert "the model 2.1 × at 16, 5.5 × at 48; one head 4.0 × at 256, 154.0 × at 2,048" in figures
    assert "1.4 × for 16 tokens, 2.6 × for 64 tokens" in figures
    assert "1 → 32 requests: throughput 16.0 ×, latency 2.0 ×" in figures
    assert "perplexity 397,464 against 29.9" in figures
    assert "error 0.488, 0.154, 0.125, 0.094; agreement 1%, 47%, 55%, 69%" in figures
    assert "perplexity +1.0%, agreement 97%" in figures
    assert "int8-row 96% (97%), nf4 80% (69%), int4-row 40% (47%)" in figures
    assert effects_markdown(tmp_path).count("| holds |") == len(CHECKS)


def _set(experiment: str, key: str, value: Any, **where: Any) -> Callable[[Readings], None]:
    def change(readings: Readings) -> None:
        rows = [row for row in readings[experiment] if all(row.get(k) == v for k, v in where.items())]
        assert rows
        for row in rows:
            row[key] = value

    return change


OTHERWISE = [
    _set("cache-size", "measured_bytes", 11),
    _set("cache-exactness", "same_tokens", 15, tokens=16),
    _set("cache-exactness", "ratio", 3.9, kind="head", tokens=2_048),
    _set("peak", "measured_peak_bytes", 130, generated_tokens=64, cached=False),
    _set("prefill-decode", "seconds_per_token", 0.06, phase="prefill"),
    _set("batching", "tokens_per_s", 19.0, requests=32),
    _set("quality", "perplexity", 290.0, scheme="int4-tensor"),
    _set("weight-quantization", "mean_error", 0.1541, scheme="int4-g128"),
    _set("quality", "perplexity", 30.9, scheme="int8-row"),
    _set("quality", "agreed", 60, scheme="int8-row"),
    _set("speculation", "accepted", 49, draft="int4-row"),
    _set("speculation", "p_value", 1e-6, kind="test"),
]
"""For each effect a reading that contradicts it."""


@pytest.mark.parametrize("number", range(len(CHECKS)), ids=[check.__name__.strip("_") for check in CHECKS.values()])
def test_each_effect_fails_where_a_reading_contradicts_it(number: int, tmp_path: Path) -> None:
    readings = copy.deepcopy(SHOWN)
    OTHERWISE[number](readings)
    found = verdicts(tmp_path, readings)
    assert found[number] == FAILS
    assert found.count(FAILS) == 1


def test_noise_within_the_intervals_contradicts_nothing(tmp_path: Path) -> None:
    """Two shares of 384 that are six apart are the same for all that anyone can tell."""
    readings = copy.deepcopy(SHOWN)
    _set("quality", "agreed", 379, scheme="full precision")(readings)
    _set("quality", "agreed", 186, scheme="int4-row")(readings)
    _set("quality", "agreed", 184, scheme="int4-g128")(readings)
    _set("quality", "agreement", 184 / 384, scheme="int4-g128")(readings)
    _set("quality", "agreement", 186 / 384, scheme="int4-row")(readings)
    found = verdicts(tmp_path, readings)
    names = [check.__name__ for check in CHECKS.values()]
    assert found[names.index("_agreement_falls")] == HOLDS
    assert found[names.index("_recovery")] == FAILS  # an order is an order


def test_one_length_or_batch_decides_nothing(tmp_path: Path) -> None:
    few = {
        "batching": SHOWN["batching"][:1],
        "cache-exactness": SHOWN["cache-exactness"][:1],
        "peak": SHOWN["peak"][:2],
    }
    assert verdicts(tmp_path, few).count(NOT_YET) == len(CHECKS) - 1
