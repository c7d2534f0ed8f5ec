"""How sure a reading is: intervals of shares and means, and whether counts are of a given distribution."""

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

Z95 = NormalDist().inv_cdf(0.975)


def share_interval(hits: int, trials: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share; source: Wilson, J. Am. Stat. Assoc. 22 (1927).

    >>> [round(end, 3) for end in share_interval(15, 16)]
    [0.717, 0.989]
    """
    if trials == 0:
        return 0.0, 1.0
    share, spread = hits / trials, Z95**2 / trials
    middle = (share + spread / 2) / (1 + spread)
    half = Z95 / (1 + spread) * math.sqrt(share * (1 - share) / trials + spread / (4 * trials))
    return middle - half if hits else 0.0, middle + half if hits < trials else 1.0


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95% interval of a mean by the normal approximation."""
    half = Z95 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return fmean(values) - half, fmean(values) + half


def overlaps(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def chi_square_p(counts: Sequence[int], shares: Sequence[float], least: float = 5.0) -> float:
    """The chance of *counts* at least as far from *shares* as these; cells expected below *least* are merged.

    Wilson and Hilferty's approximation of the chi-square distribution by a normal one, good from a few cells on.

    >>> round(chi_square_p([50, 30, 20], [0.5, 0.3, 0.2]), 2), chi_square_p([90, 5, 5], [0.5, 0.3, 0.2]) < 1e-6
    (1.0, True)
    >>> chi_square_p([500, 500, 1], [0.5, 0.5, 0])
    0.0
    """
    if any(count and not share for count, share in zip(counts, shares, strict=True)):
        return 0.0  # what cannot come has come
    total = sum(counts)
    cells = [(count, total * share) for count, share in zip(counts, shares, strict=True)]
    kept = [cell for cell in cells if cell[1] >= least]
    rest = [cell for cell in cells if cell[1] < least]
    if rest:
        kept.append((sum(count for count, _ in rest), sum(expected for _, expected in rest)))
    degrees = sum(expected > 0 for _, expected in kept) - 1
    if degrees < 1:
        return 1.0
    statistic = sum((count - expected) ** 2 / expected for count, expected in kept if expected > 0)
    spread = 2 / (9 * degrees)
    return 1 - NormalDist(1 - spread, math.sqrt(spread)).cdf((statistic / degrees) ** (1 / 3))
