"""Constants from measured steps: a robust fit for many, a solution for one or two measured on one's own machine."""

from collections.abc import Sequence
from dataclasses import replace

from planner.errors import PlannerError
from planner.records import dataclass
from planner.speed.constants import SpeedConstants, parts, rounded_arithmetic_s
from planner.speed.work import Work

_ROUNDS = 12
_SWEEPS = 400
_ROUNDING = 1e-9
_SMALL_ERROR = 0.02
"""Below this, an error counts by its square: measurements repeat no better."""
_LEAST = (0.0, 1.0, 1.0, 1.0)
"""Least values of c, 1/η, 1/e and 1/m: no peak rate is exceeded."""
_UNCERTAIN = (2.0, 1.0, 1.0, 1.0)
"""How far they vary between machines of a kind, against each other: c is the host's as well as the card's."""


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
    """*constants* with c, η, e and m that make the sum of relative errors least (iteratively reweighted squares).

    *keep_layer* leaves c as it is: few devices do not tell it from e; *keep_arithmetic* m, where steps hardly compute.
    What no reading tells, such as η where there is one device, keeps the value that *constants* has. What exchanges
    take however little they send is known of the link, not fitted.
    """
    rows = [tuple(feature / r.seconds for feature in _features(r.work, constants)) for r in readings]
    if not rows:
        raise PlannerError("A fit needs at least one measured step.")
    targets = [1 - r.work.exchange_s / r.seconds for r in readings]
    found = list(_coefficients(constants))
    weights = [1.0] * len(rows)
    for _ in range(_ROUNDS):
        found = _least_squares(rows, targets, weights, found, range(int(keep_layer), len(_LEAST) - keep_arithmetic))
        errors = [abs(sum(map(float.__mul__, row, found)) - target) for row, target in zip(rows, targets, strict=True)]
        weights = [1 / max(error, _SMALL_ERROR) for error in errors]
    return replace(_with_coefficients(constants, found), readings=len(rows))


def calibrate(constants: SpeedConstants, points: Sequence[Measured]) -> SpeedConstants:
    """*constants* for the machine on which *points* were measured; the range narrows to the error of calibrated ones.

    One point changes each part of a step as much as it is uncertain. Two points decide c and e together where that has
    a solution, and are averaged otherwise. The range never widens, but where no constants meet what was measured, as
    of two points that contradict each other: it then holds them. *note* says so, and where they lie far off what is
    known of such machines.
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
        found = _least_change(constants, points)
    narrow = min(constants.p90_error, constants.calibrated_p90_error)
    off, missed = _furthest(constants, points), _furthest(found, points)
    error, note = narrow, ""
    if missed > narrow:
        error = missed
        note = "The measured points contradict each other." if len(points) == 2 else "The measured point cannot be met."
        note += " The range is as wide as holds what was measured."
    elif off > constants.p90_error * (1 + _ROUNDING):
        note = _far_off(off, slower=_seconds(points) > sum(predicted_s(point.work, constants) for point in points))
    return replace(
        found,
        median_error=min(error, constants.median_error, constants.calibrated_median_error),
        p90_error=error,
        source=f"{constants.source}; calibrated by {len(points)} measured",
        calibrated_by=len(points),
        note=note,
    )


def _far_off(off: float, slower: bool) -> str:
    """What to look at where a point lies far from what is known, *off* as a factor less 1.

    >>> _far_off(0.33, slower=True)[18:48], _far_off(48_866.36, slower=True)[18:48], _far_off(0.25, slower=False)[18:38]
    ('takes 33% longer than is known', 'takes 48,867 times as long as ', 'takes 20% less time ')
    """
    if slower:
        by = f"{off:.0%} longer than" if off < 1 else f"{1 + off:,.0f} times as long as"
        return (
            f"What was measured takes {by} is known of such machines: was it with others there, with a part of the "
            "model in main memory, or on a card that is held back?"
        )
    return (
        f"What was measured takes {off / (1 + off):.0%} less time than is known of such machines: was it with a draft, "
        "another model or format, or of several users together?"
    )


def _seconds(points: Sequence[Measured]) -> float:
    return sum(point.seconds for point in points)


def _furthest(constants: SpeedConstants, points: Sequence[Measured]) -> float:
    """The largest relative error of *points*, to either side."""
    ratios = [point.seconds / predicted_s(point.work, constants) for point in points]
    return max(max(ratio, 1 / ratio) for ratio in ratios) - 1


def _least_change(constants: SpeedConstants, points: Sequence[Measured]) -> SpeedConstants:
    """*constants* that meet the points' time in all, changed least in terms of how uncertain each is.

    The least Σ ((x − x₀) / (u·x₀))² with Σ f·x = t is at x = x₀ + (u·x₀)²·f·λ; what would pass its bound stays there.
    """
    before = _coefficients(constants)
    features = [sum(values) for values in zip(*(_features(p.work, constants) for p in points), strict=True)]
    seconds = sum(point.seconds - point.work.exchange_s for point in points)
    found, free = list(before), set(range(len(_LEAST)))
    while free:
        rest = seconds - sum(features[i] * (before[i] if i in free else found[i]) for i in range(len(_LEAST)))
        give = {i: (_UNCERTAIN[i] * before[i]) ** 2 * features[i] for i in free}
        whole = sum(give[i] * features[i] for i in free)
        if not whole:
            break
        for i in free:
            found[i] = before[i] + give[i] * rest / whole
        bound = {i for i in free if found[i] < _LEAST[i]}
        for i in bound:
            found[i] = _LEAST[i]
        free -= bound
        if not bound:
            break
    return _with_coefficients(constants, found)


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


def _features(work: Work, constants: SpeedConstants) -> tuple[float, float, float, float]:
    return float(work.layers), work.link_s, work.read_s, rounded_arithmetic_s(work, constants)


def _coefficients(constants: SpeedConstants) -> tuple[float, float, float, float]:
    """c, 1/η, 1/e and 1/m."""
    shares = (constants.link_efficiency, constants.read_efficiency, constants.arithmetic_efficiency)
    return constants.layer_s, 1 / shares[0], 1 / shares[1], 1 / shares[2]


def _with_coefficients(constants: SpeedConstants, found: Sequence[float]) -> SpeedConstants:
    layer_s, sending, reading, arithmetic = found
    return replace(
        constants,
        layer_s=max(0.0, layer_s),
        link_efficiency=min(1.0, 1 / sending),
        read_efficiency=min(1.0, 1 / reading),
        arithmetic_efficiency=min(1.0, 1 / arithmetic),
    )


def _least_squares(
    rows: list[tuple[float, ...]], targets: list[float], weights: list[float], start: list[float], free: range
) -> list[float]:
    """Weighted least squares of rows · x = targets with x ≥ _LEAST, through the coordinates that are *free*."""
    size = len(_LEAST)
    scale = [max(row[i] for row in rows) or 1.0 for i in range(size)]
    gram = [[0.0] * size for _ in range(size)]
    right = [0.0] * size
    for row, target, weight in zip(rows, targets, weights, strict=True):
        scaled = [value / unit for value, unit in zip(row, scale, strict=True)]
        for i in range(size):
            right[i] += weight * target * scaled[i]
            for j in range(size):
                gram[i][j] += weight * scaled[i] * scaled[j]
    least = [value * unit for value, unit in zip(_LEAST, scale, strict=True)]
    x = [value * unit for value, unit in zip(start, scale, strict=True)]
    for _ in range(_SWEEPS):
        for i in free:
            if gram[i][i] > 0:
                rest = right[i] - sum(gram[i][j] * x[j] for j in range(size))
                x[i] = max(least[i], x[i] + rest / gram[i][i])
    return [value / unit for value, unit in zip(x, scale, strict=True)]
