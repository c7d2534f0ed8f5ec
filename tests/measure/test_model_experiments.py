"""Experiments on a model's weights and activations, on a tiny model of random weights."""

import pytest
import torch

from measure.experiments import activation_outliers, capacity, distillation, tensor_parallel, weight_quantization
from measure.records import Case
from measure.setup import Setup
from planner.units import MIB
from tests.measure.tiny import LAYERS
from tests.measure.trial import trial


def test_every_scheme_is_measured_on_every_projection(tiny: Setup) -> None:
    report = trial(weight_quantization, weight_quantization.cases(tiny), tiny)
    schemes, matrices = report.tables
    assert report.disagreements == ()
    assert len(matrices.rows) == 7 * LAYERS
    assert {row["matrices"] for row in schemes.rows} == {7 * LAYERS}
    bits = {row["scheme"]: row["bits"] for row in schemes.rows}
    assert (bits["int8-tensor"], bits["int4-tensor"]) == (8, 4)
    # Rows of 64 or 96 weights do not fill a group of 128, which takes 66 B all the same.
    assert bits["int4-g128"] > 4.125
    # Random normal weights have no outliers: one scale does for a tensor nearly as well as for a row.
    error = {row["scheme"]: row["mean_error"] for row in schemes.rows}
    assert error["int4-row"] < error["int4-tensor"] < 0.3


@pytest.mark.parametrize("what", ["tokens", "users"])
def test_the_predicted_maximum_is_bracketed(what: str, tiny: Setup) -> None:
    case = Case(experiment="capacity", name=what, settings={"what": what, "limit_bytes": 4 * MIB})
    report = trial(capacity, [case], tiny)
    (row,) = report.tables[0].rows
    assert (row["below_fits"], row["above_fits"]) == (True, False)
    assert abs(row["measured_most"] - row["predicted_most"]) <= 0.01 * row["predicted_most"]
    assert report.lesson.startswith("Under 1 of 1 memory limits just below the predicted maximum fits and just")
    assert report.disagreements == ()


def test_one_large_dimension_takes_most_of_an_int8_scale() -> None:
    """Dimension 2 reaches 127: step 1. The others lie within ± 1 and get three levels; without it, all of theirs."""
    states = torch.linspace(-1, 1, 64).repeat(8, 1).T.contiguous()
    states[0, 2] = 127.0
    order = states.abs().amax(dim=0).argsort(descending=True)
    before, after = (activation_outliers.int8_levels(states, order, left_out) for left_out in (0, 1))
    assert (before["step"], before["median_dimension_levels"]) == (1.0, 3)
    assert (after["step"], after["median_dimension_levels"]) == (pytest.approx(1 / 127), 64)


def test_each_layer_has_its_largest_dimension(tiny: Setup) -> None:
    report = trial(activation_outliers, activation_outliers.cases(tiny), tiny)
    layers, octaves, scales = report.tables
    assert [row["layer"] for row in layers.rows] == list(range(LAYERS - 1))
    assert sum(row["dimensions"] for row in octaves.rows) == 64
    assert [row["left_out"] for row in scales.rows] == [0, 4]
    assert scales.rows[1]["step"] <= scales.rows[0]["step"]


def test_ranks_hold_what_the_split_predicts(tiny: Setup) -> None:
    """4 query and 2 key-value heads on 2 ranks: one key-value head each; norms are whole on both."""
    settings = {"model": tiny.model, "ranks": 2, "scale": "full"}
    report = trial(tensor_parallel, [Case(experiment="tensor-parallel", name="2", settings=settings)], tiny)
    rows = report.tables[0].rows
    assert [(row["rank"], row["backend"]) for row in rows] == [(0, "gloo"), (1, "gloo")]
    # batch 2 · 48 tokens · 2 · 1 head · 16 · 4 B · 3 layers
    assert {row["measured_cache_bytes"] for row in rows} == {2 * 48 * 2 * 16 * 4 * LAYERS}
    assert {row["measured_weights_bytes"] for row in rows} == {268_032}
    assert report.disagreements == ()


def test_a_single_rank_holds_the_whole(tiny: Setup) -> None:
    settings = {"model": tiny.model, "ranks": 1, "scale": "full"}
    report = trial(tensor_parallel, [Case(experiment="tensor-parallel", name="1", settings=settings)], tiny)
    (row,) = report.tables[0].rows
    assert row["measured_cache_bytes"] == 2 * 48 * 2 * 2 * 16 * 4 * LAYERS
    assert report.disagreements == ()


def test_a_students_soft_labels_bring_it_closer_to_its_teacher(tiny: Setup) -> None:
    settings = [{"kind": "student", "labels": labels, "seconds": 2} for labels in distillation.LABELS]
    settings.append({"kind": "temperature"})
    cases = [Case(experiment="distillation", name=str(each), settings=each) for each in settings]
    report = trial(distillation, cases, tiny)
    students, warm = (table.rows for table in report.tables)
    first = {row["labels"]: row["divergence"] for row in students if row["steps"] == 0}
    best = {labels: min(row["divergence"] for row in students if row["labels"] == labels) for labels in first}
    assert best["soft"] < first["soft"]
    assert best["soft"] <= best["hard"]
    assert warm[1]["measured_ratio"] == pytest.approx(warm[0]["measured_ratio"] ** 0.5)
    assert report.disagreements == ()
