"""Inverses are searched for on the forward formula: there is no second one."""

from collections.abc import Callable


def largest(fits: Callable[[int], bool], limit: int, near: int = 1) -> int:
    """The largest n in 0 … *limit* with ``fits(n)``, for a *fits* that never comes back once it is lost; 0 if none.

    *near* is where to begin: the nearer, the fewer questions.
    """
    start, step = max(1, min(near, limit)), 1
    if fits(start):
        low = start
        while low + step <= limit and fits(low + step):
            low, step = low + step, 2 * step
        high = min(low + step, limit + 1)
    else:
        high = start
        while step < high and not fits(high - step):
            high, step = high - step, 2 * step
        low = max(0, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
