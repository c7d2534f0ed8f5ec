"""One or two measured points: they are met, and a point that fits what is known never widens a range."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalogue import performance_presets
from planner.cli import main
from planner.errors import PlannerError
from planner.speed.answer import step_seconds
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, calibrate, predicted_s
from planner.speed.work import decode_work
from tests.speed.test_speed import CONSTANTS, SPARSE, dense, prepared

TABLES = st.sampled_from(list(performance_presets.speed_constants().values()))
WORKS = [decode_work(prepared(model), users, 1_000) for model in (dense(40), SPARSE) for users in (1, 32)]


def test_one_measured_point_is_met_and_narrows_the_range() -> None:
    work = decode_work(prepared(dense(40)), 1, 1_000)
    seconds = 1.1 * predicted_s(work, CONSTANTS)
    own = calibrate(CONSTANTS, [Measured(work=work, seconds=seconds)])
    before, after = step_seconds(work, CONSTANTS), step_seconds(work, own)
    assert after.value_s == pytest.approx(seconds)
    assert after.high_s / after.low_s < before.high_s / before.low_s
    assert own.note == ""


@given(TABLES, st.sampled_from(WORKS), st.floats(-1, 1))
def test_a_point_within_the_range_never_widens_it(constants: SpeedConstants, work: object, place: float) -> None:
    """For every table, wherever in its range the point lies; and it is met."""
    range_ = step_seconds(work, constants)  # type: ignore[arg-type]
    seconds = range_.value_s * (1 + constants.p90_error) ** place
    if seconds < range_.ceiling_s:
        return
    own = calibrate(constants, [Measured(work=work, seconds=seconds)])  # type: ignore[arg-type]
    assert own.p90_error <= constants.p90_error
    assert own.median_error <= constants.median_error
    assert own.note == ""
    after = step_seconds(work, own)  # type: ignore[arg-type]
    assert after.low_s * (1 - 1e-9) <= seconds <= after.high_s * (1 + 1e-9)


@given(TABLES, st.sampled_from(WORKS), st.floats(1.01, 20))
def test_a_point_beyond_the_range_is_met_and_said_to_be_odd(
    constants: SpeedConstants, work: object, times: float
) -> None:
    """It never widens the range either: the machine is another than was thought, and now it is known."""
    seconds = predicted_s(work, constants) * (1 + constants.p90_error) * times  # type: ignore[arg-type]
    own = calibrate(constants, [Measured(work=work, seconds=seconds)])  # type: ignore[arg-type]
    assert "longer than is known" in own.note or "times as long as is known of such machines" in own.note
    assert "main memory" in own.note
    assert own.p90_error <= constants.p90_error
    assert predicted_s(work, own) == pytest.approx(seconds)  # type: ignore[arg-type]


def test_a_point_changes_what_is_uncertain_most() -> None:
    """Fixed time and reading take half each: c, twice as uncertain, takes four fifths of what is longer."""
    work = decode_work(prepared(dense(40)), 1, 1_000)
    fixed_s = work.read_s / 0.8
    constants = replace(CONSTANTS, layer_s=fixed_s / 40, arithmetic_efficiency=1.0)
    longer_s = 0.1 * fixed_s
    own = calibrate(constants, [Measured(work=work, seconds=predicted_s(work, constants) + longer_s)])
    assert 40 * own.layer_s - fixed_s == pytest.approx(0.8 * longer_s, rel=0.01)
    assert work.read_s / own.read_efficiency - fixed_s == pytest.approx(0.2 * longer_s, rel=0.01)


def test_two_measured_points_are_both_met() -> None:
    truth = replace(CONSTANTS, layer_s=80e-6, read_efficiency=0.6)
    works = [decode_work(prepared(dense(40)), 1, context) for context in (100, 50_000)]
    own = calibrate(CONSTANTS, [Measured(work=work, seconds=predicted_s(work, truth)) for work in works])
    assert (own.layer_s, own.read_efficiency) == pytest.approx((80e-6, 0.6))


@pytest.mark.parametrize(("context", "tokens_per_s"), [(8_192, 60), (1_024, 30)])
def test_two_points_that_contradict_each_other_stay_within_the_range(
    context: int, tokens_per_s: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A card that is quicker after more tokens cannot be; which of the two was wrong is not known."""
    words = ["speed", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--context", str(context), "--json"]
    assert main([*words, "--measured", "60@8192", "--measured", "30@1024"]) == 0
    printed = json.loads(capsys.readouterr().out)
    found = printed["tokens_per_s_user"]
    assert found["low"] - 0.01 <= tokens_per_s <= found["high"] + 0.01
    assert any("contradict each other" in warning for warning in printed["warnings"])


def test_a_point_above_the_ceiling_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    work = decode_work(prepared(dense(40)), 1, 1_000)
    with pytest.raises(PlannerError, match="is impossible: reading its bytes alone takes"):
        calibrate(CONSTANTS, [Measured(work=work, seconds=work.ceiling_s / 2)])
    words = ["speed", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--weights", "fp8", "--measured", "195"]
    assert main(words) == 2
    assert "is impossible: reading its bytes alone takes" in capsys.readouterr().err


def test_a_measured_point_is_not_asked_for_again(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["speed", "--model", "llama-3.1-8b", "--device", "gaudi-3"]
    main(words)
    assert "so the range is wide. One measured point narrows it." in capsys.readouterr().out
    assert main([*words, "--measured", "90"]) == 0
    text = capsys.readouterr().out
    assert "is taken from other kinds and from what was measured here." in text
    assert "One measured point" not in text


def test_few_tokens_a_second_are_not_written_as_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--measured", "0.02"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("One user gets 0.02 (")
    assert " 0.0 " not in text
    assert "(0.0 " not in text
