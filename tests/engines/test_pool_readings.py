"""What real start-ups of SGLang, TensorRT-LLM and LMDeploy printed, run from model, flags and settings."""

from collections.abc import Callable

import pytest

from planner.answers.answer import Answer
from planner.answers.figures import room_bytes
from planner.line_item import Kind
from planner.units import GIB
from tests.pool_readings import ROUNDING_GIB, Reading, readings

TOLERANCE = 0.003
"""For readings whose settings the report may leave out."""


def rows(*names: str, exact: bool | None = None) -> list[object]:
    """Readings that print all of *names*: those that disagree are expected to fail, for the reason they give."""
    return [
        pytest.param(
            reading,
            id=reading.id,
            marks=pytest.mark.xfail(reason=reading.disagrees, raises=AssertionError, strict=True)
            if reading.disagrees
            else (),
        )
        for reading in readings()
        if all(name in reading.printed for name in names) and exact in (None, reading.exact)
    ]


def tokens(found: Answer) -> int:
    assert found.pool_tokens is not None
    return found.pool_tokens


def blocks(found: Answer) -> int:
    assert found.report is not None
    return found.report.num_blocks


@pytest.mark.parametrize(("name", "figure"), [("tokens", tokens), ("blocks", blocks)])
@pytest.mark.parametrize("reading", rows("pool_gib", "tokens", exact=True))
def test_figures_follow_from_the_printed_pool_to_the_last_digit(
    reading: Reading, name: str, figure: Callable[[Answer], int]
) -> None:
    """The pool is printed to 0.01 GiB: the figure lies between those of its two ends."""
    if name in reading.printed:
        low, high = (figure(reading.with_pool(shift)) for shift in (-reading.rounding_gib, reading.rounding_gib))
        assert low <= reading.printed[name] <= high


@pytest.mark.parametrize("reading", rows("pool_gib", "tokens", exact=False))
def test_figures_follow_from_the_printed_pool_within_three_thousandths(reading: Reading) -> None:
    assert tokens(reading.with_pool()) == pytest.approx(reading.printed["tokens"], rel=TOLERANCE)


@pytest.mark.parametrize(
    "reading", [row for row in rows("pool_gib", "free_gib") if row.values[0].engine == "tensorrt_llm"]
)
def test_the_pool_is_a_share_of_what_is_printed_free(reading: Reading) -> None:
    """A card of just that memory, with weights and runtime of nothing: 0.9 of it, or as the report says."""
    weights = reading.run(overhead="0").weights_bytes
    pools = []
    for shift in (-ROUNDING_GIB, ROUNDING_GIB):
        free_bytes = round((reading.printed["free_gib"] + shift) * GIB)
        pools.append(room_bytes(reading.run(overhead="0", device=None, memory=f"{free_bytes + weights}B")) / GIB)
    assert pools[0] - ROUNDING_GIB <= reading.printed["pool_gib"] <= pools[1] + ROUNDING_GIB


@pytest.mark.parametrize("reading", rows("states_gib"))
def test_states_are_as_large_as_printed(reading: Reading) -> None:
    """SGLang allocates a state more than it counts, for padding; two sizes are printed, each rounded."""
    states = reading.set["max_mamba_cache_size"]
    counted = next(item.bytes for item in reading.run().items if item.name == "state pool")
    per_state = counted / (states + _drafted(reading, states))
    assert per_state * (states + 1) / GIB == pytest.approx(reading.printed["states_gib"], abs=2 * ROUNDING_GIB + 1e-9)


def _drafted(reading: Reading, states: int) -> int:
    """States of drafted tokens that the plan counts beside: of every request that three states each leave room for."""
    return reading.set.get("speculative_num_draft_tokens", 0) * min(48, states // 3)


@pytest.mark.parametrize("reading", rows("requests"))
def test_as_many_requests_run_as_printed(reading: Reading) -> None:
    found = reading.with_pool()
    assert f"It would run at most {reading.printed['requests']} requests at once." in found.warnings


@pytest.mark.parametrize("reading", rows("weights_gib"))
def test_weights_are_close(reading: Reading) -> None:
    """What is loaded also has scales, rotary tables and what the allocator rounds: within two parts in a hundred."""
    found = reading.run()
    weights = sum(item.bytes for item in found.items if item.kind is Kind.WEIGHTS)
    assert weights / GIB == pytest.approx(reading.printed["weights_gib"], rel=0.02)


@pytest.mark.parametrize(
    ("id", "error"),
    [
        ("sgl-13023", 0.005),
        ("sgl-4826", 0.002),
        ("idx-18084549501", 0.002),
        ("idx-47376055009", 0.01),
        ("trt-26725295630", 0.025),
    ],
)
def test_the_pool_is_predicted_from_model_card_and_flags(id: str, error: float) -> None:
    """The start-ups that say all three, or let the card be concluded.

    TensorRT-LLM's is one of the two that its runtime was read from.
    """
    reading = next(reading for reading in readings() if reading.id == id)
    found = reading.run()
    printed, predicted = reading.printed["pool_gib"] * GIB, room_bytes(found)
    assert predicted / printed == pytest.approx(1, abs=error)


def test_every_reading_is_run_or_says_why_not() -> None:
    assert len(readings()) == 37
    for reading in readings():
        assert reading.source
        assert bool(reading.skip) != bool(reading.printed)
    assert sum(bool(reading.skip) for reading in readings()) == 4
    assert sum(bool(reading.disagrees) for reading in readings()) == 1
    assert sum(reading.circular for reading in readings()) == 4
    assert sum(reading.exact for reading in readings()) == 29
