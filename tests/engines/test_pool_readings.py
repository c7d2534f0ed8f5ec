"""What real start-ups of SGLang, TensorRT-LLM and LMDeploy printed, run from model, flags and settings."""

from collections.abc import Callable, Iterable
from operator import attrgetter
from statistics import median

import pytest

from planner.answers.answer import Answer
from planner.answers.figures import room_bytes
from planner.engines.sglang.runtime import BESIDE
from planner.line_item import Kind
from planner.units import GIB
from tests.pool_readings import ROUNDING_GIB, Reading, readings

TOLERANCE = 0.003
"""For readings whose settings the report may leave out."""


is_predicted = attrgetter("is_predicted")


def rows(*names: str, exact: bool | None = None, failing: str = "disagrees") -> list[object]:
    """Readings that print all of *names*: those that say why they fail are expected to."""
    found = (each for each in readings() if all(name in each.printed for name in names))
    return marked((each for each in found if exact in (None, each.exact)), failing)


def marked(found: Iterable[Reading], failing: str) -> list[object]:
    return [
        pytest.param(reading, id=reading.id, marks=_expected(getattr(reading, failing) or reading.disagrees))
        for reading in found
    ]


def _expected(reason: str) -> pytest.MarkDecorator | tuple[()]:
    return pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True) if reason else ()


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


@pytest.mark.parametrize("reading", rows("weights_gib", failing="loads_more"))
def test_weights_are_close(reading: Reading) -> None:
    """The tensors, and what SGLang loads beside them: from the low end of its spread to the high one."""
    found = reading.run()
    counted = [item for item in found.items if item.kind is Kind.WEIGHTS or item.name == BESIDE]
    low, high = sum(item.low_bytes for item in counted) / GIB, sum(item.high_bytes for item in counted) / GIB
    assert low - ROUNDING_GIB <= reading.printed["weights_gib"] <= high + ROUNDING_GIB


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


@pytest.mark.parametrize("reading", marked(filter(is_predicted, readings()), "misses"))
def test_each_pool_is_predicted_within_three_parts_in_a_hundred(reading: Reading) -> None:
    """By the tokens where they are printed, which are not rounded."""
    found = reading.predicted()
    assert room_bytes(found) / reading.printed_bytes(found) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize(("engine", "starts", "error"), [("sglang", 26, 0.01), ("tensorrt_llm", 4, 0.05)])
def test_half_of_the_pools_are_predicted_as_closely_as_this(engine: str, starts: int, error: float) -> None:
    """The misses among them."""
    answers = [(each, each.predicted()) for each in readings() if each.is_predicted and each.engine == engine]
    errors = [abs(room_bytes(found) / each.printed_bytes(found) - 1) for each, found in answers]
    assert len(errors) == starts
    assert median(errors) <= error


def test_every_reading_is_run_or_says_why_not() -> None:
    assert len(readings()) == 70
    for reading in readings():
        assert reading.source
        assert bool(reading.skip) != bool(reading.printed)
    assert sum(bool(reading.skip) for reading in readings()) == 4
    assert sum(bool(reading.disagrees) for reading in readings()) == 1
    assert sum(reading.circular for reading in readings()) == 5
    assert sum(reading.exact for reading in readings()) == 55
