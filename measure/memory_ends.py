"""How many processes the system has ended for want of memory: Linux counts them, in a container too."""

from pathlib import Path

COUNTERS = (Path("/proc/vmstat"), Path("/sys/fs/cgroup/memory.events"))
"""Of the machine, and of the container; both have a line ``oom_kill N``."""


def memory_ends(counters: tuple[Path, ...] = COUNTERS) -> int:
    """The sum of what *counters* say; one that is not there says nothing, so that only a rise means something."""
    return sum(map(_count, counters))


def _count(counter: Path) -> int:
    try:
        lines = counter.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
