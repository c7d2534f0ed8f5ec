"""Experiments on a model's weights and activations, on a tiny model of random weights."""

import pytest
import torch

from measure.experiments import activation_outliers, capacity, weight_quantization
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
    assert report.lesson.startswith("In 1 of 1 limits just below the predicted maximum fits and just above does not")
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
