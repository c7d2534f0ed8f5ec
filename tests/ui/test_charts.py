"""Charts from rows: what is drawn where, and nothing that is not in the rows."""

from typing import Any

import altair as alt
import pytest

from planner.answers.answer import Answer, answer
from planner.answers.card import segments
from planner.budget import prepare
from planner.frontier import Frontier, frontier
from planner.inputs.choices import Choices, Chosen, choose
from planner.units import GIB
from ui.charts import colours
from ui.charts.plan import card_bar, frontier_chart

TIGHT = Choices(model="13b-class-mha", memory="8GiB", weights="int4-g128", overhead="1.5GiB", context=2_048, users=1)
FITS = Choices(model="llama-3.1-8b", device="rtx-4090", overhead="1.5GiB", context=8_192, users=4)


def asked(choices: Choices) -> tuple[Chosen, Answer]:
    chosen = choose(choices)
    return chosen, answer(chosen.architecture, chosen.deployment, chosen.workload)


def values(chart: alt.LayerChart) -> list[dict[str, Any]]:
    """The rows of every layer, each once; where all layers share theirs, they belong to the chart."""
    spec = chart.to_dict()
    rows = [row for part in (spec, *spec["layer"]) for row in part.get("data", {}).get("values", [])]
    return [row for index, row in enumerate(rows) if row not in rows[:index]]


def bar(choices: Choices) -> list[dict[str, Any]]:
    chosen, result = asked(choices)
    return values(card_bar(segments(result, chosen.deployment.device), result.memory_bytes))


def border(choices: Choices) -> tuple[Frontier, Answer]:
    chosen, result = asked(choices)
    found = frontier(prepare(chosen.architecture, chosen.deployment), chosen.workload, result.model_limit_tokens)
    return found, result


def test_the_bar_shows_each_part_where_it_lies() -> None:
    parts = {row["what"]: row for row in bar(FITS) if "what" in row}
    assert list(parts) == [
        "Weights",
        "Runtime, one figure",
        "Cache for your users",
        "Free for more cache",
        "Kept by the driver",
    ]
    assert [row["label"] for row in parts.values()] == ["14.96", "1.50", "4.00", "3.18", "0.35"]
    assert parts["Weights"]["start"] == 0
    assert parts["Cache for your users"]["fill"] == colours.CACHE
    assert parts["Free for more cache"]["end"] == pytest.approx(25_382_879_232 / GIB)
    assert next(row["label"] for row in bar(FITS) if "at" in row) == "usable 23.64 GiB"


def test_what_is_too_much_lies_beyond_the_rule_on_the_cache() -> None:
    rows = bar(TIGHT)
    assert next(row["label"] for row in rows if "at" in row) == "usable 8.00 GiB · 1.31 GiB too much"
    cache = next(row for row in rows if row.get("what") == "Cache for your users")
    excess = next(row for row in rows if "what" not in row and "at" not in row)
    assert (excess["start"], excess["end"]) == (8.0, cache["end"])
    assert cache["start"] < 8.0 < cache["end"]


def test_the_frontier_marks_plan_and_limit() -> None:
    found, result = border(FITS)
    labels = [row["label"] for row in values(frontier_chart(found, 8_192, 4, result.fits)) if "label" in row]
    assert labels == ["limit: 7 users at 8,192", "your plan: 4 × 8,192"]
    found, result = border(TIGHT)
    labels = [row["label"] for row in values(frontier_chart(found, 2_048, 1, result.fits)) if "label" in row]
    assert labels == ["1 × 2,048: too much"]


def test_text_follows_the_theme_on_a_page_and_is_fixed_in_a_file() -> None:
    chosen, result = asked(FITS)
    parts = segments(result, chosen.deployment.device)
    assert "currentColor" in str(card_bar(parts, result.memory_bytes).to_dict())
    assert "currentColor" not in str(card_bar(parts, result.memory_bytes, colours.PRINT_INK).to_dict())
