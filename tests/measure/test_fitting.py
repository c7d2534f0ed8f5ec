"""What is fitted to measured passes comes out as it was put in, exact items stay out, and kept profiles refit."""

import math
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.calibrate import calibrate, default_name, keep, profile_of
from measure.fitting import LEAST_TIMED, line, measured_items, measured_speed
from measure.records import Outcome, Record, append
from planner.errors import PlannerError
from planner.inputs.profile_files import SHIPPED, find_profile, load_profile
from planner.measurements import MeasuredPass
from planner.preset_files import PRESETS
from planner.units import GIB

CONDITIONS = {
    "device": "Intel(R) Xeon(R), 2 threads",
    "device_bytes": 24 * GIB,
    "transformers": "5.24.0",
    "torch": "2.13.0",
    "dtype": "fp32",
    "driver": "",
}
ROW = {
    "model": "Tiny",
    "model_name": "tiny",
    "shape": "30 layers, 134,515,008 parameters",
    "changes": "",
    "attention": "sdpa",
}
DATE = "2026-11-30T08:00:00+00:00"


def passes(layer_s: float = 2e-4, read_bytes_per_s: float = 8e9, operations_per_s: float = 60e9) -> list[MeasuredPass]:
    """Of a model of 30 layers, half a GB and 135 M parameters, on a machine that takes exactly these times."""
    found = []
    for requests, new in [(1, 8), (1, 40), (1, 256), (16, 64), (1, 1), (4, 1), (16, 1), (64, 1)]:
        read, operations = 538_000_000 + requests * 3_000_000, requests * new * 270_000_000
        seconds = 30 * layer_s + read / read_bytes_per_s + operations / operations_per_s
        cache = requests * new * 46_080
        memory = {
            "peak_bytes": cache + 200_000 + 23_040 * requests * new,
            "cache_bytes": cache,
            "slack_bytes": 1_000_000 + 512 * requests * new,
            "outside_bytes": 400_000_000,
        }
        found.append(
            MeasuredPass(
                requests=requests, new_tokens=new, cached_tokens=0 if new > 1 else 64, seconds=seconds, layers=30,
                read_bytes=read, operations=operations, **(memory if new > 1 else {}),
            )
        )  # fmt: skip
    return found


def test_memory_comes_out_as_it_was_put_in() -> None:
    context, activations, slack = measured_items(passes(), "test")
    assert (context.name, context.bytes, context.error) == ("context and libraries", 400_000_000, 0)
    assert (activations.bytes, activations.bytes_per_token) == (200_000, 23_040)
    assert (slack.bytes, slack.bytes_per_token) == (1_000_000, 512)
    assert activations.error == pytest.approx(0, abs=1e-9)
    assert context.depends_on == ()
    assert activations.depends_on == ("shape", "kv_cache")


def test_times_come_out_as_they_were_put_in() -> None:
    found = measured_speed(passes())
    assert found is not None
    assert found.layer_s == pytest.approx(2e-4, rel=0.05)
    assert found.read_bytes_per_s == pytest.approx(8e9, rel=0.05)
    assert found.operations_per_s == pytest.approx(60e9, rel=0.01)
    assert found.median_error < 0.01


def test_a_held_out_reading_tells_a_bad_fit() -> None:
    """One time ten times as long as its work asks is found by the error, and hardly moves the rates."""
    found = passes()
    found[4] = replace(found[4], seconds=10 * found[4].seconds)
    speed = measured_speed(found)
    assert speed is not None
    assert speed.worst_error == pytest.approx(0.9, abs=0.02)
    assert speed.operations_per_s == pytest.approx(60e9, rel=0.05)


def test_too_few_readings_give_no_error_and_no_speed() -> None:
    context, activations = measured_items([replace(one, slack_bytes=None) for one in passes()[:2]], "test")
    assert (context.error, activations.error) == (None, None)
    assert measured_speed(passes()[:4]) is None
    assert measured_items(passes()[4:], "test") == ()


@given(st.floats(0, 1e9), st.floats(0, 1e6), st.lists(st.integers(1, 10_000), min_size=2, max_size=8, unique=True))
def test_any_line_is_found_again(constant: float, slope: float, xs: list[int]) -> None:
    points = [(float(x), constant + slope * x) for x in xs]
    found, rise = line(points)
    assert all(math.isclose(found + rise * x, y, rel_tol=1e-6, abs_tol=1) for x, y in points)


def test_a_profile_is_kept_and_found_by_name(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    profile = profile_of(tuple(passes()), CONDITIONS, ROW, DATE)
    assert default_name(profile) == "intel-r-xeon-r-2-threads-transformers-5.24"
    assert keep(profile, "").parent == tmp_path / "kvbudget" / "profiles"
    assert find_profile(default_name(profile)) == profile
    assert profile.conditions["model"] == "tiny"
    assert "driver" not in profile.conditions
    with pytest.raises(PlannerError, match=r"'\.\./x' is no name for a profile"):
        keep(profile, "../x")
    (tmp_path / "file").touch()
    with pytest.raises(PlannerError, match=r"a\.json cannot be written"):
        keep(profile, "a", tmp_path / "file" / "a.json")


def test_an_unknown_name_says_what_is_kept() -> None:
    with pytest.raises(PlannerError, match="Profile 'nobody' is neither a file nor a kept one"):
        find_profile("nobody")


STORED = sorted(SHIPPED.glob("*.json"))


@pytest.mark.parametrize("path", STORED, ids=[path.stem for path in STORED])
def test_stored_readings_give_the_stored_profile_again(path: Path) -> None:
    stored = load_profile(path)
    assert len(stored.passes) >= LEAST_TIMED
    assert measured_items(stored.passes, stored.items[0].source) == stored.items
    assert measured_speed(stored.passes) == stored.speed


def test_stored_readings_are_the_ones_that_are_described() -> None:
    said = (PRESETS / "README.md").read_text(encoding="utf-8")
    assert STORED
    assert all(f"| `{path.stem}` |" in said for path in STORED)
    kinds = {load_profile(path).conditions["device_kind"] for path in STORED}
    assert (kinds == {"cpu"}) == ("no reading was taken on a GPU" in said)


def test_readings_that_are_no_numbers_are_refused_by_name(tmp_path: Path) -> None:
    rows = tuple(asdict(one) | ROW for one in passes())
    record = Record(
        experiment="batching", case="32 requests", settings={}, conditions=CONDITIONS, outcome=Outcome.MEASURED,
        date=DATE, seconds=1.0, rows=(*rows, rows[0] | {"seconds": "long"}),
    )  # fmt: skip
    append(record, tmp_path / "batching.jsonl")
    with pytest.raises(PlannerError, match="A pass of 32 requests is not valid: seconds"):
        calibrate(tmp_path)
    other = tmp_path / "other"
    append(replace(record, rows=rows, conditions={"torch": "2"}), other / "batching.jsonl")
    with pytest.raises(PlannerError, match="do not say their device, device_bytes, transformers, dtype"):
        calibrate(other)


def test_a_small_copy_gives_no_times_and_holds_for_itself_alone() -> None:
    small = profile_of(tuple(passes()), CONDITIONS, ROW | {"changes": "num_hidden_layers 30 → 6"}, DATE)
    whole = profile_of(tuple(passes()), CONDITIONS, ROW, DATE)
    assert (small.speed, small.conditions["model"]) == (None, "tiny (a small copy)")
    assert "(a small copy)" in small.title
    assert whole.speed is not None
    assert "(a small copy)" not in whole.title
