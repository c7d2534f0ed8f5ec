"""What formats cost in quality: published readings, found by format and size, and said with their limits."""

import json

import pytest

from planner.catalogue.quality import (
    CACHE,
    LIMITS,
    NEAR,
    is_yardstick,
    quality_of,
    quality_sentence,
    quality_series,
    quality_words,
    short_words,
    unlike,
)
from planner.cli import main

EIGHT_B = 8_030_261_248


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        # Llama-3-8B on WikiText-2: 6.382937, 6.407115 and 8.600799 instead of 6.231636.
        ("q4_k_m", EIGHT_B, "perplexity +2.4%"),
        ("q8_0", EIGHT_B, "perplexity +0.04%"),
        ("iq2_m", EIGHT_B, "perplexity +38%"),
        # Llama-3-70B: 2.9674 instead of 2.8308.
        ("q4_k_m", 70 * 10**9, "perplexity +4.8%"),
        ("int4-g128", EIGHT_B, "score −2.8 points"),
        ("nf4-s16", EIGHT_B, "perplexity +6.4%"),
        ("int4", EIGHT_B, "perplexity × 15,814,558"),
        ("int8-row", EIGHT_B, "perplexity −0.52%"),
    ],
)
def test_the_nearest_reading_in_few_words(name: str, parameters: int, words: str) -> None:
    assert short_words(quality_of(name, parameters=parameters)[0]) == words


def test_readings_of_models_near_in_size_come_first() -> None:
    large, small = (quality_of("int4-g128", parameters=size)[0].series for size in (70 * 10**9, 10**9))
    assert (large.model, small.model) == ("Qwen2-72B-Instruct", "Qwen2-1.5B-Instruct")


@pytest.mark.parametrize(
    ("weights", "parameters", "words"),
    [
        ("q4_k_m", EIGHT_B, ("perplexity +2.4%", "Llama-3-8B, WikiText-2")),
        ("int4-g128", EIGHT_B, ("score −2.8 points", "Qwen2-7B-Instruct, the average of MMLU, C-Eval and IFEval")),
        ("int4", EIGHT_B, ("no reading near its size", "")),  # read on a model of half a billion
        ("q4_k_m", 671 * 10**9, ("no reading near its size", "")),
        ("nvfp4", EIGHT_B, ("no published reading", "")),
        ("bf16", EIGHT_B, ("none", "")),
    ],
)
def test_a_figure_stands_only_beside_models_of_its_size(weights: str, parameters: int, words: tuple[str, str]) -> None:
    assert quality_words(weights, parameters) == words


@pytest.mark.parametrize("parameters", [10**8, 10**9, 3 * 10**9, EIGHT_B, 3 * 10**10, 10**11, 10**12])
def test_every_figure_names_a_series_near_in_size(parameters: int) -> None:
    by_place = {f"{series.model}, {series.text}": series.parameters for series in quality_series().values()}
    names = {reading.format for series in quality_series().values() for reading in series.readings}
    said = {quality_words(name, parameters) for name in names}
    assert all(parameters / NEAR <= by_place[place] <= NEAR * parameters for _, place in said if place)
    assert "up to three times its size" in LIMITS


def test_a_calibrated_file_comes_before_the_same_without() -> None:
    first, second = quality_of("q4_k_m", parameters=EIGHT_B)[:2]
    assert (first.reading.calibrated, second.reading.calibrated) == (True, False)


def test_a_sentence_says_model_figures_and_text() -> None:
    sentence = quality_sentence(quality_of("q4_k_m", parameters=EIGHT_B)[1])
    assert sentence == (
        "Llama-3-8B, q4_k_m: **perplexity +2.8%** (6.407 instead of 6.232), KL divergence 0.0313 nats, "
        "the same first choice for 91.9% of tokens. Measured on WikiText-2."
    )


def test_small_models_with_few_heads_break_first_when_their_cache_shrinks() -> None:
    small, large = (quality_of("q4_0", CACHE, size)[0] for size in (6 * 10**8, EIGHT_B))
    assert (short_words(small), short_words(large)) == ("perplexity +254%", "perplexity +2.2%")


def test_weights_and_cache_are_kept_apart() -> None:
    assert {cost.series.use for cost in quality_of("q8_0")} == {"weights"}
    assert {cost.series.use for cost in quality_of("q8_0", CACHE)} == {"cache"}


def test_where_nothing_was_published_nothing_is_said() -> None:
    assert quality_of("nvfp4", parameters=EIGHT_B) == ()
    assert [is_yardstick(name) for name in ("bf16", "q8_0")] == [True, False]


@pytest.mark.parametrize("series", quality_series().values(), ids=lambda series: series.name)
def test_every_reading_has_something_to_compare_with(series) -> None:
    for reading in series.readings:
        assert (reading.perplexity is None) or (series.perplexity is not None)
        assert (reading.score is None) == (series.score is None)
        assert reading.kl_divergence is not None or reading.perplexity is not None or reading.score is not None


def test_fewer_bits_cost_more_within_one_table() -> None:
    costs = {cost.reading.format: cost.perplexity_percent for cost in _uncalibrated("llama-3-8b-gguf")}
    order = ["q8_0", "q6_k", "q5_k_m", "q5_k_s", "q4_k_m", "q4_k_s", "q3_k_l", "q3_k_m", "q3_k_s", "q2_k"]
    values = [costs[name] for name in order]
    assert values == sorted(values)


def _uncalibrated(name: str):
    formats = dict.fromkeys(reading.format for reading in quality_series()[name].readings)
    found = [cost for each in formats for cost in quality_of(each) if cost.series.name == name]
    return [cost for cost in found if not cost.reading.calibrated]


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quality", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    row = next(row for row in rows if (row["model"], row["format"], row["method"]) == ("Llama-3-8B", "q4_k_m", ""))
    assert (row["perplexity"], row["perplexity_16_bit"], row["kl_divergence_nats"]) == (6.407115, 6.231636, 0.031273)
    assert row["source"].startswith("https://github.com/ggml-org/llama.cpp/")


def test_every_figure_names_its_measure_and_unit() -> None:
    costs = [
        cost for series in quality_series().values() for reading in series.readings for cost in _costs(series, reading)
    ]
    endings = {"perplexity": "%", "score": " points", "KL": " nats"}
    for cost in costs:
        words = short_words(cost)
        measure, _, _ = words.partition(" ")
        assert words.endswith(endings[measure]) or words.startswith("perplexity × ")


def _costs(series, reading):
    return [cost for cost in quality_of(reading.format, series.use) if (cost.series, cost.reading) == (series, reading)]


def test_figures_that_cannot_be_compared_are_said_to_be_so() -> None:
    said = [quality_words(name, EIGHT_B) for name in ("q4_k_m", "q8_0", "int4-g128")]
    assert unlike(said[:2]) == ""
    assert unlike([*said[:2], ("no published reading", "")]) == ""
    assert unlike(said).startswith("Costs in quality: 2 kinds of readings stand in this column.")


def test_formats_of_one_model_are_read_in_one_table_where_it_has_them() -> None:
    """Of 32 billion parameters both Llama-2-70B and Llama-3-70B are near; the second was read in more formats."""
    said = {quality_words(name, 32 * 10**9)[1] for name in ("q8_0", "q6_k", "q4_k_m", "iq4_xs", "q3_k_m", "iq2_m")}
    assert said == {"Llama-3-70B, WikiText-2"}
