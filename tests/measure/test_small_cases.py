"""Models of one layer, steps slower than the clock's points, and experiments that a model does not suit."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from measure.experiments import activation_outliers, batching, cache_size, distillation, speculation
from measure.experiments.base import Report
from measure.models import load
from measure.records import Outcome, Record
from measure.session import Session, reported, with_ends
from measure.setup import Setup
from measure.worker import Progress
from planner.errors import PlannerError
from tests.measure.tiny import CONFIG
from tests.measure.trial import record_of


@pytest.fixture
def one_layer(tmp_path: Path) -> Setup:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": 1}), encoding="utf-8")
    return Setup(model=str(tmp_path), quick=True)


def test_one_layer_has_no_part_that_drafts(one_layer: Setup) -> None:
    drafts = {case.settings["draft"] for case in speculation.cases(one_layer)}
    assert drafts == set(speculation.QUICK_DRAFTS)
    with pytest.raises(PlannerError, match="has one layer, no part of which can draft: name a whole model"):
        speculation.cases(Setup(model=one_layer.model, draft="first-1"))


def test_one_layer_leaves_no_residual_stream(one_layer: Setup) -> None:
    with pytest.raises(PlannerError, match="has one layer, after which no residual stream is left"):
        list(activation_outliers.run({"tokens": 8}, one_layer))


def test_states_that_modules_keep_are_read() -> None:
    """RecurrentGemma, small: each of 4 recurrent layers keeps 2,560 numbers in fp32 and 3 times as many in bf16."""
    rows = list(cache_size.run({"model": "recurrentgemma-2b", "scale": "small"}, Setup(dtype="bf16")))
    assert [row["measured_bytes"] for row in rows] == [row["predicted_bytes"] for row in rows]
    assert rows[0]["measured_bytes"] > 4 * 2_560 * (4 + 3 * 2)


def test_a_type_that_the_library_lacks_is_one_sentence() -> None:
    with pytest.raises(PlannerError, match="has no model of type 'yuan', which Yuan2-2B is: what is measured has to"):
        load(Setup(model="yuan2-2b"))


def test_slow_steps_end_the_training_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that takes 7 of 20 s: points at 0, 7, 14 and 21 s, and not one a step for ten more."""
    clock = iter(range(0, 1_000, 7))
    monkeypatch.setattr(distillation, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    monkeypatch.setattr(distillation, "_tested", lambda *given: {"divergence": 1.0, "agreement": 0.5})
    rows = list(_trained(20))
    assert [row["seconds"] for row in rows] == [7, 14, 21]


def _trained(seconds: int) -> Iterator[dict[str, Any]]:
    import torch

    pupil = _Pupil()
    texts = torch.zeros((1, 3), dtype=torch.long)
    labels = torch.zeros((1, 2, 4)).log_softmax(-1)
    settings = {"labels": "soft", "seconds": seconds}
    for message in distillation._train(pupil, texts, labels, texts, labels[0], settings, "teacher"):
        if not isinstance(message, Progress):
            yield message  # type: ignore[misc]


class _Pupil:
    def __init__(self) -> None:
        import torch

        self.weight = torch.zeros((1, 3, 4), requires_grad=True)

    def parameters(self) -> list[Any]:
        return [self.weight]

    def __call__(self, input_ids: Any) -> Any:
        return type("Output", (), {"logits": self.weight * 1})


def record(outcome: Outcome, others_share: float | None = None) -> Record:
    return Record(
        experiment="batching", case="x", settings={}, conditions={}, outcome=outcome, date="2026-11-30", seconds=1.0,
        rows=({"tokens": 1},), others_share=others_share,
    )  # fmt: skip


def test_a_sentence_says_what_gave_no_reading_and_who_else_ran() -> None:
    report = Report(tables=(), lesson="So it is.")
    told = with_ends(report, "batching", [record(Outcome.MEASURED, 0.63), record(Outcome.FAILED)])
    assert told.lesson == (
        "So it is. 1 of 2 cases gave no reading; other programs took up to 63% of the processors meanwhile, so that "
        "times are a busy machine's."
    )
    assert with_ends(report, "peak", [record(Outcome.MEASURED, 0.63)]).lesson == "So it is."


def test_among_several_one_that_does_not_suit_the_model_stops_no_other(tmp_path: Path) -> None:
    """Drafts cannot be taken back from states."""
    session = Session(Setup(model="mamba-130m", scale="small", quick=True), tmp_path)
    found, other = session.measure(["speculation", "cache-size"])
    assert found.report.lesson.startswith("Not measured: Mamba-130M has layers with a state")
    assert other.report.lesson.startswith("The cache of 1 of 1 architectures")
    assert other.records[0].conditions["model_changes"].startswith("num_hidden_layers 24 → 6")


def test_rows_of_another_version_are_a_sentence() -> None:
    old = replace(record_of({"kind": "step"}), date="2026-11-01T08:00:00+00:00")
    with pytest.raises(PlannerError, match=r"kept of stand-in from 2026-11-01 has not all .* measure it with --again"):
        reported(batching, [old], Setup(), "2026-11-30T08:00:00+00:00")
    with pytest.raises(KeyError):  # what was measured now lacks nothing, but for a bug
        reported(batching, [old], Setup(), old.date)
