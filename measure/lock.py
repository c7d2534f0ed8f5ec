"""One measurement at a time on a machine: two would read each other's memory and time."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from planner.errors import PlannerError

LOCK_VARIABLE = "KVBUDGET_MEASURE_LOCK"
"""Names another lock's file than the machine's: for tests, which may run beside a measurement."""
WAIT_S = 0.5
"""As long as a look at the lock may take."""


def lock_file() -> Path:
    """The machine's, for this user: in no folder that a process's environment may move."""
    if named := os.environ.get(LOCK_VARIABLE):
        return Path(named)
    is_posix = hasattr(os, "getuid")
    folder, user = (Path("/tmp"), f"-{os.getuid()}") if is_posix else (Path(tempfile.gettempdir()), "")
    return folder / f"kvbudget-measure{user}.lock"


@contextmanager
def only_one(file: Path | None = None) -> Iterator[None]:
    """Held while measuring, through *file* or the machine's own; raises PlannerError when another process measures."""
    from filelock import FileLock, Timeout  # looking who measures does without

    lock = file or lock_file()
    holder = lock.with_suffix(".pid")
    file_lock = FileLock(lock, timeout=WAIT_S)
    try:
        file_lock.acquire()
    except Timeout:
        raise PlannerError(
            f"Another measurement runs on this machine (process {_read(holder)}): wait until it ends, or stop it."
        ) from None
    except OSError as error:
        raise PlannerError(f"The lock {lock} cannot be taken: {error.strerror or error}.") from error
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
    pid = _read(lock_file().with_suffix(".pid"))
    return int(pid) if pid.isdigit() and is_alive(int(pid)) and _is_held(lock_file()) else None


def _is_held(lock: Path) -> bool:
    """Whether a process holds *lock*: one that was killed leaves its number, which another may have by now."""
    try:
        import fcntl
    except ImportError:  # Windows: the number is all there is
        return True
    try:
        with lock.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
