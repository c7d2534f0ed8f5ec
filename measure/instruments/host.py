"""The machine's own memory, as the operating system tells it."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress

import psutil

from measure.instruments import limits


def resident_bytes() -> int:
    """Resident set of this process."""
    return int(psutil.Process().memory_info().rss)


def available_bytes() -> int:
    """What new work can take before the machine swaps, or the system ends a process there or in this container."""
    available = int(psutil.virtual_memory().available)
    free = limits.container_free()
    return available if free is None else min(available, free)


def total_bytes() -> int:
    """The machine's, or the container's where that has less."""
    return min(int(psutil.virtual_memory().total), limits.container_limit() or sys.maxsize)


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def others_bytes() -> dict[int, int]:
    """Resident sets of the other processes that the system shows, by process id; shared pages count for each."""
    found = {}
    for process in psutil.process_iter(["memory_info"]):
        memory = process.info["memory_info"]
        if memory is not None and process.pid != os.getpid():
            found[process.pid] = int(memory.rss)
    return found


def names_of(pids: Iterable[int]) -> dict[int, str]:
    """The programs' names, where the system tells them."""
    found = {}
    for pid in pids:
        with suppress(psutil.Error):
            found[pid] = psutil.Process(pid).name()
    return found
