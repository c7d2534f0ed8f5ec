"""Experiments on what a cache costs and saves, on a tiny model: bytes to the byte, effects by direction."""

import pytest

from measure.activations import pass_bytes, shape_of
from measure.experiments import batching, cache_exactness, peak, prefill_decode
from measure.models import find_source
from measure.records import Case
from measure.setup import Setup
from tests.measure.tiny import HEADS, HIDDEN, INTERMEDIATE, KV_HEADS, LAYERS
from tests.measure.trial import record, record_of, trial


def test_with_and_without_a_cache_the_tokens_are_the_same(tiny: Setup) -> None:
    case = Case(experiment="cache-exactness", name="g", settings={"kind": "generation", "tokens": 12})
    report = trial(cache_exactness, [case], tiny)
    (row,) = report.tables[0].rows
    assert row["same_tokens"] == row["tokens"] == 12
    assert report.lesson.startswith("With and without a cache the tokens are the same, and 12 of them take ")


def test_one_heads_scores_and_sums_are_the_planners(tiny: Setup) -> None:
    settings = [{"kind": "head", "tokens": 64}, {"kind": "head", "tokens": 512}, {"kind": "sum", "tokens": 32}]
    cases = [Case(experiment="cache-exactness", name=str(each), settings=each) for each in settings]
    report = trial(cache_exactness, cases, tiny)
    assert report.disagreements == ()
    _, heads, sums = report.tables
    assert [row["measured_score_bytes"] for row in heads.rows] == [4 * 64 * 64, 4 * 512 * 512]
    assert [row["measured_cached_score_bytes"] for row in heads.rows] == [4 * 64, 4 * 512]
    # Σ 2·t·d and Σ 2·t²·d for t = 1 … 32, d = 64
    assert sums.rows[0]["measured_cached"] == 128 * 32 * 33 // 2
    assert sums.rows[0]["measured_recomputed"] == 128 * 32 * 33 * 65 // 6


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("logits", ["last", "all"])
@pytest.mark.parametrize(("batch", "prompt"), [(1, 40), (3, 120)])
def test_the_peak_is_the_formulas(
    attention: str, cached: bool, logits: str, batch: int, prompt: int, tiny: Setup
) -> None:
    settings = {"attention": attention, "batch": batch, "prompt_tokens": prompt, "generated_tokens": 8}
    case = Case(experiment="peak", name="p", settings=settings | {"cached": cached, "logits": logits})
    (row,) = record(peak, case, tiny).rows
    assert row["predicted_peak_bytes"] == row["measured_peak_bytes"]
    if attention == "eager" or cached:
        assert row["fake_peak_bytes"] == row["measured_peak_bytes"]


def test_what_tensors_without_memory_say_otherwise_is_named_with_its_size() -> None:
    row = {"attention": "sdpa", "batch": 1, "prompt_tokens": 40, "generated_tokens": 64, "cached": False,
           "logits": "all", "predicted_peak_bytes": 1_000, "measured_peak_bytes": 1_000,
           "fake_peak_bytes": 1_011}  # fmt: skip
    report = peak.report([record_of(row)], Setup())
    assert report.disagreements == ("sdpa 1 × 40 + 64 uncached, all logits: -11 B, FakeTensorMode +1.1%",)


def test_without_a_generation_nothing_is_said_of_its_tokens() -> None:
    rows = [{"kind": "head", "tokens": 256, "ratio": 12.0, "cached_s": 1.0, "recomputed_s": 12.0}]
    assert cache_exactness.report([record_of(*rows)], Setup()).lesson == (
        "A step of one attention head takes 12 times as long at 256 tokens without a cache, and 12 times at 256."
    )
    assert cache_exactness.report([], Setup()).lesson == "Too few cases gave a reading to learn from."


def test_the_score_matrix_is_eager_attentions_alone(tiny: Setup) -> None:
    source = find_source(tiny)
    shape = shape_of(source.architecture, source.config, 4)
    assert shape is not None
    assert (shape.layers, shape.heads, shape.kv_heads) == (LAYERS, HEADS, KV_HEADS)
    eager, sdpa = (
        [pass_bytes(shape, 1, n, n, eager=eager, cached=False) for n in (2_000, 4_000)] for eager in (True, False)
    )
    assert eager[1] / eager[0] > 3.8  # n²
    assert sdpa[1] == 2 * sdpa[0]
    # A token more under SDPA: residual and normed 64 each, 3 · 96 in the feed-forward. Eager attention: normed 64,
    # queries 64, keys and values 64, both repeated 128, and for each other token the mask and two scores a head.
    feed_forward, attention = 2 * HIDDEN + 3 * INTERMEDIATE, 64 + 64 + 64 + 128
    assert eager[1] - sdpa[1] == 4_000 * (4_000 * (1 + 2 * HEADS) + attention - feed_forward) * 4


def test_no_formula_is_claimed_for_other_layers() -> None:
    for name in ("gemma-3-270m", "mamba-130m", "olmoe-1b-7b", "pythia-160m"):
        source = find_source(Setup(model=name, scale="small"))
        assert shape_of(source.architecture, source.config, 2) is None


def test_two_phases_and_their_units(tiny: Setup) -> None:
    settings = [
        {"phase": "prefill", "tokens": 256},
        {"phase": "decode", "tokens": 16},
        {"phase": "decode", "tokens": 64},
    ]
    cases = [Case(experiment="prefill-decode", name=str(each), settings=each) for each in settings]
    report = trial(prefill_decode, cases, tiny)
    prefill, decode, _ = report.tables[0].rows
    assert min(prefill["seconds_per_token"], decode["seconds_per_token"]) > 0
    assert prefill["tokens_per_s"] == pytest.approx(1 / prefill["seconds_per_token"])
    assert [row["time_to_first_token_s"] for row in report.tables[0].rows] == [prefill["seconds"], None, None]
    assert report.lesson.startswith("A prompt's token costs ")
    assert report.tables[1].rows == []  # three passes do not tell three constants


def test_the_speed_models_constants_are_fitted_to_both_phases() -> None:
    """Passes that take 1 ms a layer, 10 GB/s and 100 GFLOP/s, to the microsecond."""
    passes = [(8, 10**8, 10**9), (64, 10**8, 8 * 10**9), (512, 10**8, 64 * 10**9), (1, 10**8, 10**8), (1, 4 * 10**8, 0)]
    rows = [
        {"phase": "prefill" if new > 1 else "decode", "tokens": new, "seconds_per_token": 1.0, "requests": 1,
         "new_tokens": new, "cached_tokens": 0, "layers": 10, "read_bytes": read, "operations": operations,
         "seconds": 0.01 + read / 1e10 + operations / 1e11, "peak_bytes": None, "cache_bytes": None,
         "slack_bytes": None, "outside_bytes": None}
        for new, read, operations in passes
    ]  # fmt: skip
    phases, constants = prefill_decode.report([record_of(*rows)], Setup()).tables
    (fitted,) = constants.rows
    assert fitted["layer_s"] == pytest.approx(1e-3, rel=0.01)
    assert fitted["read_bytes_per_s"] == pytest.approx(1e10, rel=0.01)
    assert fitted["operations_per_s"] == pytest.approx(1e11, rel=0.01)
    for row in phases.rows:
        assert row["fitted_s"] == pytest.approx(row["seconds"], rel=0.01)


def test_more_requests_hold_more_cache_exactly(tiny: Setup) -> None:
    cases = [Case(experiment="batching", name=str(n), settings={"batch": n}) for n in (1, 64)]
    report = trial(batching, cases, tiny)
    one, many = report.tables[0].rows
    assert many["throughput_ratio"] == pytest.approx(many["tokens_per_s"] / one["tokens_per_s"])
    assert many["measured_cache_bytes"] == many["predicted_cache_bytes"] == 64 * one["measured_cache_bytes"]
    assert report.disagreements == ()


def test_the_knee_is_where_doubling_gains_little() -> None:
    """A dip before more gains is noise, not the knee."""
    speeds = ((1, 10), (2, 11), (4, 30), (8, 33), (16, 36))
    rows = [{"requests": n, "tokens_per_s": speed, "step_s": n / speed} for n, speed in speeds]
    assert batching._knee(rows).startswith(
        "the knee is at 4: from there on twice the requests gain less than 25%, next 10%"
    )
    assert batching._knee(rows[:3]).endswith("so the knee lies beyond")


def test_a_batchs_picture_shows_how_its_repetitions_spread() -> None:
    row = {"requests": 4, "step_s": 0.2, "fastest_step_s": 0.1, "slowest_step_s": 0.4, "throughput_ratio": 2.0,
           "latency_ratio": 2.0}  # fmt: skip
    values = batching._chart([row]).to_dict()["data"]["values"]
    assert [(value["low"], value["high"]) for value in values] == [(1, 4), (1, 4)]
