"""The share of the arithmetic rate that whole prompts reach, where llama-bench measured them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from statistics import median

from planner.speed.constants import SpeedConstants, parts
from tests.speed_readings.bench import bench_readings, prefill_readings
from tests.speed_readings.fitting import START, fitted_to
from tests.speed_readings.reading import Reading, error, quantile

FEW = 5
"""Fewer errors than this say nothing of nine in ten."""


def prefill_efficiency(engine: str, family: str, constants: SpeedConstants) -> tuple[float, float] | None:
    """The median share of the arithmetic rate that prompts reach, and the error of nine in ten.

    Few readings lie on their own median: the error is then that of all the engine's cards by their families' others.
    """
    rows = [r for r in prefill_readings() if (r.engine, r.family) == (engine, family)]
    share = _prompt_share(rows, constants)
    if share is None:
        return None
    own = replace(constants, arithmetic_efficiency=share)
    errors = [error(reading, own) for reading in rows]
    return share, quantile(errors if len(errors) >= FEW else _prompts_unseen(engine), 0.9)


def _prompt_share(rows: Iterable[Reading], constants: SpeedConstants) -> float | None:
    shares = []
    for reading in rows:
        known = parts(reading.measured.work, constants)
        rest = reading.measured.seconds - (known.total_s - known.arithmetic_s)
        if rest > 0:
            shares.append(min(1.0, reading.measured.work.arithmetic_s / rest))
    return median(shares) if shares else None


@cache
def _prompts_unseen(engine: str) -> list[float]:
    """Errors of *engine*'s prompts with the share of the family's other cards, or of other families without any."""
    rows = [r for r in prefill_readings() if r.engine == engine]
    constants = fitted_to([r for r in bench_readings() if r.engine == engine and r.is_possible], START)
    kin = _prompts_without(rows, constants, lambda one, other: one.family == other.family and one.card != other.card)
    return kin or _prompts_without(rows, constants, lambda one, other: one.family != other.family)


def _prompts_without(
    rows: Sequence[Reading], constants: SpeedConstants, counts: Callable[[Reading, Reading], bool]
) -> list[float]:
    """Errors of each of *rows* that has others which *counts* takes, with the share of these."""
    errors = []
    for reading in rows:
        share = _prompt_share([other for other in rows if counts(reading, other)], constants)
        if share is not None:
            errors.append(error(reading, replace(constants, arithmetic_efficiency=share)))
    return errors
