"""What real vLLM start-ups printed, run through the planner from model, flags and settings."""

from collections.abc import Callable
from math import ceil
from statistics import median

import pytest

from planner.answers.answer import Answer
from planner.units import GIB
from tests import pool_readings
from tests.predictions import PERCENTILE, percentile
from tests.readings import after_one_log, can_be_predicted, loaded_weights, prediction, refitted
from tests.vllm_readings import ROUNDING_BYTES, Reading, readings

TOLERANCE = 0.003
"""For readings whose settings the report may leave out, or whose ranks differ."""


def rows(wanted: Callable[[Reading], bool]) -> list[object]:
    """Readings as parameters: those that disagree are expected to fail, for the reason they give."""
    return [
        pytest.param(
            reading,
            id=reading.id,
            marks=pytest.mark.xfail(reason=reading.disagrees, raises=AssertionError) if reading.disagrees else (),
        )
        for reading in readings()
        if not reading.skip and not reading.pool_only and not reading.other_rank and wanted(reading)
    ]


def has(*names: str) -> Callable[[Reading], bool]:
    return lambda reading: all(name in reading.printed for name in names)


def within_rounding(reading: Reading, printed: str, value: Callable[[Answer], float]) -> bool:
    low, high = (value(reading.with_pool(shift)) for shift in (-ROUNDING_BYTES, ROUNDING_BYTES))
    return low <= reading.printed[printed] <= high


def concurrency(answer: Answer) -> float:
    """As it is printed."""
    assert answer.max_concurrency is not None
    return round(answer.max_concurrency, 2)


def tokens(answer: Answer) -> int:
    assert answer.pool_tokens is not None
    return answer.pool_tokens


def blocks(answer: Answer) -> int:
    assert answer.report is not None
    return answer.report.num_blocks


FIGURES = {"tokens": tokens, "concurrency": concurrency, "blocks": blocks}


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("reading", rows(lambda reading: reading.exact and "pool_gib" in reading.printed))
def test_figures_follow_from_the_printed_pool_to_the_last_digit(reading: Reading, figure: str) -> None:
    """The pool is printed to 0.01 GiB: the figure lies between those of its two ends."""
    if figure in reading.printed:
        assert within_rounding(reading, figure, FIGURES[figure])


@pytest.mark.parametrize("reading", rows(lambda reading: not reading.exact and "pool_gib" in reading.printed))
def test_figures_follow_from_the_printed_pool_within_three_thousandths(reading: Reading) -> None:
    for figure, value in FIGURES.items():
        if figure in reading.printed and not within_rounding(reading, figure, value):
            assert value(reading.with_pool()) == pytest.approx(reading.printed[figure], rel=TOLERANCE)


@pytest.mark.parametrize("reading", [reading for reading in readings() if reading.other_rank], ids=lambda r: r.id)
def test_the_rank_with_the_smallest_pool_decides(reading: Reading) -> None:
    """One rank's pool is printed, and blocks or tokens of another, which had up to a seventh less."""
    figure = "tokens" if "tokens" in reading.printed else "blocks"
    printed = reading.printed[figure]
    assert printed < FIGURES[figure](reading.with_pool()) < printed * 7 / 6


@pytest.mark.parametrize("reading", rows(lambda reading: has("blocks", "concurrency")(reading)))
def test_concurrency_follows_from_the_printed_blocks(reading: Reading) -> None:
    assert concurrency(reading.run(num_gpu_blocks_override=reading.printed["blocks"])) == pytest.approx(
        reading.printed["concurrency"], abs=0.0051
    )


@pytest.mark.parametrize("reading", rows(lambda r: "pool_gib" not in r.printed and "tokens" in r.printed))
def test_printed_tokens_are_those_of_a_whole_number_of_blocks(reading: Reading) -> None:
    """Without a pool there is only this: tokens come in steps of max_model_len / blocks of one request."""
    report = reading.run(num_gpu_blocks_override=2).report
    assert report is not None
    assert reading.context is not None
    number = ceil(reading.printed["tokens"] * report.blocks_per_request / reading.context)
    found = reading.run(num_gpu_blocks_override=number)
    assert found.pool_tokens == reading.printed["tokens"]
    if "concurrency" in reading.printed:
        assert concurrency(found) == reading.printed["concurrency"]


@pytest.mark.parametrize("reading", rows(has("request_gib", "longest_start")))
def test_refusals_name_the_need_and_the_longest_start(reading: Reading) -> None:
    low, high = reading.with_pool(-ROUNDING_BYTES), reading.with_pool(ROUNDING_BYTES)
    assert low.report is not None
    assert high.report is not None
    assert round(low.kv_request_bytes / GIB, 2) == reading.printed["request_gib"]
    assert low.report.longest_start_tokens <= reading.printed["longest_start"] <= high.report.longest_start_tokens
    assert f"needs {reading.printed['request_gib']:.2f} GiB of cache" in low.report.refusals[0]
    assert not low.fits


@pytest.mark.parametrize("reading", rows(has("state_blocks")))
def test_too_many_sequences_for_the_states_are_refused(reading: Reading) -> None:
    found = reading.with_pool().report
    assert found is not None
    assert found.num_blocks == reading.printed["state_blocks"]
    assert found.refusals == (
        "vLLM would refuse to start: max_num_seqs = 256 is more than the 184 blocks there are for recurrent states; "
        "--set max_num_seqs=184 starts.",
    )


def test_weights_are_those_that_are_loaded() -> None:
    """Half within 0.15%, nine in ten within 1.5%, all within 6%."""
    errors = {one.name: abs(one.error) for one in loaded_weights()}
    assert len(errors) == 112
    assert median(errors.values()) < 0.0015
    assert percentile(list(errors.values()), PERCENTILE) < 0.015
    assert max(errors.values()) < 0.06


def test_every_reading_is_run_or_says_why_not() -> None:
    assert len(readings()) == 208
    for reading in readings():
        assert reading.source
        assert bool(reading.skip) != bool(reading.model)
        assert {key for key in reading.printed if "derived" in key} == set()


def test_no_start_of_the_first_154_is_lost() -> None:
    """128 of vLLM and 26 of other servers, and 34 of these that were found later and are fitted to.

    Others that were found later are marked, since they were predicted first.
    """
    assert [sum(not one.held_out for one in found) for found in (readings(), pool_readings.readings())] == [128, 60]


def test_skipped_readings_are_few_and_named() -> None:
    """The count is here so that a reading cannot quietly stop being run."""
    assert sum(bool(reading.skip) for reading in readings()) == 58
    assert sum(bool(reading.disagrees) for reading in readings()) == 2
    assert sum(reading.exact for reading in readings()) == 32


def test_pools_are_predicted_from_model_card_and_flags() -> None:
    """Half within 1%, nine in ten within 15%; those that are off by more say why."""
    found = {reading.id: prediction(reading) for reading in readings() if can_be_predicted(reading)}
    errors = {name: abs(one.error) for name, one in found.items()}
    assert len(errors) == 122
    assert median(errors.values()) < 0.01
    assert percentile(list(errors.values()), PERCENTILE) < 0.15
    assert {name for name, error in errors.items() if error > 0.15} == {r.id for r in readings() if r.far}
    assert sum(one.is_covered for one in found.values()) >= 0.9 * len(found)


def test_pools_of_commands_that_are_shown_are_nearer() -> None:
    """What is left out of a report is most of the error: with the whole command, nine in ten lie within 4%."""
    errors = [abs(prediction(one).error) for one in readings() if can_be_predicted(one) and one.complete]
    assert len(errors) == 80
    assert median(errors) < 0.005
    assert percentile(errors, PERCENTILE) < 0.04


def test_pools_of_other_cards_predict_a_card_as_well() -> None:
    """The fitted figures without any start-up of the same card."""
    errors = [abs(refitted(reading).error) for reading in readings() if can_be_predicted(reading)]
    assert median(errors) < 0.01
    assert percentile(errors, PERCENTILE) < 0.15


def test_a_log_of_the_same_model_and_card_brings_pools_nearer() -> None:
    errors = [abs(one.error) for one in after_one_log([reading for reading in readings() if can_be_predicted(reading)])]
    assert len(errors) == 62
    assert median(errors) < 0.005
    assert percentile(errors, PERCENTILE) < 0.02
