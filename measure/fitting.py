"""From measured passes to what no formula gives: memory beside tensors, activations, times. Each with held-out error.

A fit is tried on every reading in turn that it was not shown. Tensors of weights and caches are never fitted: they are
known to the byte, and one that disagrees is a wrong formula.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from planner.calibration import SHAPE
from planner.engines.transformers import ACTIVATIONS, CONTEXT
from planner.measurements import MeasuredItem, MeasuredPass, MeasuredSpeed
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, fit
from planner.speed.work import Work

SLACK = "allocator slack"
MODEL = (SHAPE, "kv_cache")
"""Activations are those of one model in one number format, which is that of its cache."""
LEAST_TIMED = 5
"""Three constants and two passes to judge them by."""
_UNREACHED = 10.0**15
"""A rate that nothing reaches: achieved ones are sought as shares of it."""

Point = tuple[float, float]
Line = Callable[[float], float]


def measured_items(passes: Sequence[MeasuredPass], source: str) -> tuple[MeasuredItem, ...]:
    """One item for each bucket that *passes* have readings of."""
    found = []
    outside = [one.outside_bytes for one in passes if one.outside_bytes is not None]
    if outside:
        error = _worst([(0.0, float(size)) for size in outside], _constant)
        found.append(
            MeasuredItem(name=CONTEXT, bytes=round(median(outside)), source=source, error=error, replaces=(CONTEXT,))
        )
    for name, points in ((ACTIVATIONS, _activations(passes)), (SLACK, _slack(passes))):
        if len({tokens for tokens, _ in points}) > 1:
            constant, slope = line(points)
            found.append(
                MeasuredItem(
                    name=name,
                    bytes=round(constant),
                    bytes_per_token=round(slope, 3),
                    error=_worst(points, lambda rest: _along(*line(rest))),
                    source=source,
                    replaces=(name,),
                    depends_on=MODEL,
                )
            )
    return tuple(found)


def measured_speed(passes: Sequence[MeasuredPass]) -> MeasuredSpeed | None:
    """Fixed time of a layer and achieved rates; ``None`` where too few passes were timed to judge them."""
    timed = [one for one in passes if one.seconds]
    if len(timed) < LEAST_TIMED:
        return None
    errors = []
    for index, left_out in enumerate(timed):
        rest = _fit_speed(timed[:index] + timed[index + 1 :])
        errors.append(abs(rest.seconds(left_out) / (left_out.seconds or 1.0) - 1))
    found = _fit_speed(timed)
    return replace(found, median_error=round(median(errors), 4), worst_error=round(max(errors), 4))


def line(points: Sequence[Point]) -> Point:
    """Constant and slope, neither below zero, that make the sum of squared relative errors least.

    >>> constant, slope = line([(1, 12.0), (2, 14.0), (8, 26.0)])
    >>> round(constant, 6), round(slope, 6)
    (10.0, 2.0)
    """
    weights = [1 / max(abs(y), 1.0) ** 2 for _, y in points]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, points, strict=True)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, points, strict=True))
    slope = max(0.0, slope / spread) if spread else 0.0
    constant = mean_y - slope * mean_x
    if constant < 0:  # through the origin
        slope = sum(w * x * y for w, (x, y) in zip(weights, points, strict=True)) / sum(
            w * x * x for w, (x, _) in zip(weights, points, strict=True)
        )
        constant = 0.0
    return constant, slope


def _activations(passes: Sequence[MeasuredPass]) -> list[Point]:
    """Tokens at once, and the peak beyond weights and cache."""
    return [
        (float(one.requests * one.new_tokens), float(one.peak_bytes - one.cache_bytes))
        for one in passes
        if one.peak_bytes is not None and one.cache_bytes is not None
    ]


def _slack(passes: Sequence[MeasuredPass]) -> list[Point]:
    return [
        (float(one.requests * one.new_tokens), float(one.slack_bytes)) for one in passes if one.slack_bytes is not None
    ]


def _constant(points: Sequence[Point]) -> Line:
    middle = median(y for _, y in points)
    return lambda _: middle


def _along(constant: float, slope: float) -> Line:
    return lambda x: constant + slope * x


def _worst(points: Sequence[Point], fitted: Callable[[Sequence[Point]], Line]) -> float | None:
    """The largest relative error of a reading left out; ``None`` where too few are left to fit."""
    if len(points) < 3:
        return None
    errors = [
        abs(fitted([*points[:index], *points[index + 1 :]])(x) / y - 1) for index, (x, y) in enumerate(points) if y
    ]
    return round(max(errors), 4) if errors else None


def _fit_speed(timed: Sequence[MeasuredPass]) -> MeasuredSpeed:
    start = SpeedConstants(
        engine="", family="", layer_s=0.0, read_efficiency=1.0, arithmetic_efficiency=1.0,
        median_error=0.0, p90_error=0.0, source="",
    )  # fmt: skip
    found = fit([Measured(work=_work(one), seconds=one.seconds or 0.0) for one in timed], start)
    return MeasuredSpeed(
        layer_s=round(found.layer_s, 9),
        read_bytes_per_s=_rate(found.read_efficiency),
        operations_per_s=_rate(found.arithmetic_efficiency),
        median_error=0.0,
        worst_error=0.0,
    )


def _work(one: MeasuredPass) -> Work:
    return Work(
        layers=one.layers,
        read_bytes=one.read_bytes,
        read_s=one.read_bytes / _UNREACHED,
        arithmetic_s=one.operations / _UNREACHED,
    )


def _rate(share: float) -> float | None:
    """``None``: so fast that no pass shows it."""
    return None if share >= 0.999 else float(f"{share * _UNREACHED:.4g}")
