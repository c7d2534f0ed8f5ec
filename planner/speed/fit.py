"""Constants from measured steps: a robust fit for many, a solution for one or two measured on one's own machine."""

from collections.abc import Sequence
from dataclasses import replace

from planner.errors import PlannerError
from planner.records import dataclass
from planner.speed.constants import SpeedConstants, parts
from planner.speed.work import Work

_ROUNDS = 12
_SWEEPS = 400
_SMALL_ERROR = 0.02
"""Below this, an error counts by its square: measurements repeat no better."""
_LEAST = (0.0, 0.0, 0.0, 1.0, 1.0)
"""Least values of c, k, s, 1/e and 1/m: no peak rate is exceeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A step's work and the seconds that it took."""

    work: Work
    seconds: float


def predicted_s(work: Work, constants: SpeedConstants) -> float:
    """The time of a step, never below its ceiling."""
    return max(parts(work, constants).total_s, work.ceiling_s)


def fit(
    readings: Sequence[Measured], constants: SpeedConstants, keep_layer: bool = False, keep_arithmetic: bool = False
) -> SpeedConstants:
    """*constants* with c, k, s, e and m that make the sum of relative errors least (iteratively reweighted squares).

    *keep_layer* leaves c as it is: few devices do not tell it from e; *keep_arithmetic* m, where steps hardly compute.
    What no reading tells, such as an exchange where there is one device, keeps the value that *constants* has.
    """
    known = (
        constants.layer_s,
        constants.link_s,
        constants.token_s,
        1 / constants.read_efficiency,
        1 / constants.arithmetic_efficiency,
    )
    rows = [tuple(feature / r.seconds for feature in _features(r.work)) for r in readings]
    if not rows:
        raise PlannerError("A fit needs at least one measured step.")
    found = list(known)
    weights = [1.0] * len(rows)
    for _ in range(_ROUNDS):
        found = _least_squares(rows, weights, found, first=1 if keep_layer else 0, last=len(_LEAST) - keep_arithmetic)
        errors = [abs(sum(map(float.__mul__, row, found)) - 1) for row in rows]
        weights = [1 / max(error, _SMALL_ERROR) for error in errors]
    c, k, s, reading, arithmetic = found
    return replace(
        constants,
        layer_s=c,
        link_s=k,
        token_s=s,
        read_efficiency=1 / reading,
        arithmetic_efficiency=1 / arithmetic,
        readings=len(rows),
    )


def calibrate(constants: SpeedConstants, points: Sequence[Measured]) -> SpeedConstants:
    """*constants* for the machine on which *points* were measured; the range narrows to the error of calibrated ones.

    One point decides e, the fixed times kept; where no e in 0 … 1 does it, every part is stretched alike. Two points
    decide c and e together where that has a solution, and are averaged otherwise: the range then holds both.
    """
    if constants.calibrated_median_error is None or constants.calibrated_p90_error is None:
        raise PlannerError(
            f"How far off a measured point leaves {constants.engine} on {constants.family} is not known: leave it out."
        )
    if not 1 <= len(points) <= 2:
        raise PlannerError(f"A calibration takes one or two measured steps, not {len(points)}.")
    for point in points:
        if point.seconds < point.work.ceiling_s:
            raise PlannerError(
                f"A step of {1e3 * point.seconds:.3g} ms is impossible: reading its bytes alone takes "
                f"{1e3 * point.work.ceiling_s:.3g} ms. Was it speculation, another model, or many requests together?"
            )
    found = _from_two(constants, points) if len(points) == 2 else None
    if found is None:
        found = _from_one(constants, points)
    ratios = [point.seconds / predicted_s(point.work, found) for point in points]
    missed = max(max(ratio, 1 / ratio) for ratio in ratios) - 1
    return replace(
        found,
        median_error=constants.calibrated_median_error,
        p90_error=max(constants.calibrated_p90_error, missed),
        source=f"{constants.source}; calibrated by {len(points)} measured",
    )


def _from_one(constants: SpeedConstants, points: Sequence[Measured]) -> SpeedConstants:
    reading = 0.0
    for point in points:
        known = parts(point.work, constants)
        reading += (point.seconds - (known.total_s - known.read_s)) / point.work.read_s / len(points)
    if reading >= 1:
        return replace(constants, read_efficiency=1 / reading)
    stretch = sum(point.seconds / parts(point.work, constants).total_s for point in points) / len(points)
    return replace(
        constants,
        layer_s=constants.layer_s * stretch,
        link_s=constants.link_s * stretch,
        token_s=constants.token_s * stretch,
        read_efficiency=min(1.0, constants.read_efficiency / stretch),
        arithmetic_efficiency=min(1.0, constants.arithmetic_efficiency / stretch),
    )


def _from_two(constants: SpeedConstants, points: Sequence[Measured]) -> SpeedConstants | None:
    """c and 1/e from two equations; ``None`` where they give no time below zero and no rate above the peak."""
    rests = []
    for point in points:
        known = parts(point.work, constants)
        rests.append(point.seconds - (known.total_s - known.layers_s - known.read_s))
    (a, b), (c, d) = ((point.work.layers, point.work.read_s) for point in points)
    determinant = a * d - b * c
    if abs(determinant) < 1e-6 * abs(a * d):
        return None
    layer_s = (rests[0] * d - b * rests[1]) / determinant
    reading = (a * rests[1] - c * rests[0]) / determinant
    if layer_s < 0 or reading < 1:
        return None
    return replace(constants, layer_s=layer_s, read_efficiency=1 / reading)


def _features(work: Work) -> tuple[float, float, float, float, float]:
    return float(work.layers), float(work.linked_layers), work.token_layers, work.read_s, work.arithmetic_s


def _least_squares(
    rows: list[tuple[float, ...]], weights: list[float], start: list[float], first: int, last: int
) -> list[float]:
    """Weighted least squares of rows · x = 1 with x ≥ _LEAST, through the coordinates from *first* to below *last*."""
    size = len(_LEAST)
    scale = [max(row[i] for row in rows) or 1.0 for i in range(size)]
    gram = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    for row, weight in zip(rows, weights, strict=True):
        scaled = [value / unit for value, unit in zip(row, scale, strict=True)]
        for i in range(size):
            right[i] += weight * scaled[i]
            for j in range(size):
                gram[i][j] += weight * scaled[i] * scaled[j]
    least = [value * unit for value, unit in zip(_LEAST, scale, strict=True)]
    x = [value * unit for value, unit in zip(start, scale, strict=True)]
    for _ in range(_SWEEPS):
        for i in range(first, last):
            if gram[i][i] > 0:
                rest = right[i] - sum(gram[i][j] * x[j] for j in range(size))
                x[i] = max(least[i], x[i] + rest / gram[i][i])
    return [value / unit for value, unit in zip(x, scale, strict=True)]
