"""How busy other programs keep the processors while a case runs: a time that was read beside them is theirs too."""

import os
import time

import psutil

from measure.instruments.host import cores

IDLE = ("idle", "iowait", "guest", "guest_nice", "steal")
"""Not work of this machine's programs; guests are counted as users too."""
BUSY_SHARE = 0.2
"""From here on times say more of the others than of the model."""


class Processors:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._start, self._all, self._own = time.monotonic(), _all_s(), _own_s()

    def others_share(self) -> float | None:
        """The part of the processors' time since then that was neither idle nor this process's and its children's.

        ``None`` within a second, for which the system's clocks are too coarse.
        """
        wall_s = time.monotonic() - self._start
        if wall_s < 1:
            return None
        others_s = _all_s() - self._all - (_own_s() - self._own)
        return round(min(1.0, max(0.0, others_s / (wall_s * (psutil.cpu_count() or cores())))), 3)


def _all_s() -> float:
    return sum(value for name, value in psutil.cpu_times()._asdict().items() if name not in IDLE)


def _own_s() -> float:
    return sum(os.times()[:4])
