"""One measurement at a time on a machine: two would read each other's memory and time."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.errors import PlannerError

LOCK = Path(tempfile.gettempdir()) / "kvbudget-measure.lock"


@contextmanager
def only_one(file: Path | None = None) -> Iterator[None]:
    """Held while measuring, through *file* or the machine's own; raises PlannerError when another process measures."""
    from filelock import FileLock, Timeout  # reading who measures does without

    lock = file or LOCK
    holder = lock.with_suffix(".pid")
    file_lock = FileLock(lock, timeout=0)
    try:
        file_lock.acquire()
    except Timeout:
        raise PlannerError(
            f"Another measurement runs on this machine (process {_read(holder)}): wait until it ends, or stop it."
        ) from None
    try:
        holder.write_text(str(os.getpid()), encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            holder.unlink()
        file_lock.release()


def _read(holder: Path) -> str:
    try:
        return holder.read_text(encoding="utf-8")
    except OSError:
        return "unknown"


def measuring() -> int | None:
    """The process that measures on this machine, ``None`` where none does."""
    pid = _read(LOCK.with_suffix(".pid"))
    return int(pid) if pid.isdigit() and is_alive(int(pid)) else None


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
