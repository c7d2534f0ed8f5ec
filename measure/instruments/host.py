"""The machine's own memory, as the operating system tells it."""

import psutil


def resident_bytes() -> int:
    """Resident set of this process."""
    return int(psutil.Process().memory_info().rss)


def available_bytes() -> int:
    """What new work can take before the machine swaps or ends a process."""
    return int(psutil.virtual_memory().available)


def total_bytes() -> int:
    return int(psutil.virtual_memory().total)
