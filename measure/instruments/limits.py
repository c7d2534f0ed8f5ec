"""What a container may take of the machine's memory, beyond which Linux ends its processes."""

from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
NEW = ("memory.max", "memory.current", "inactive_file")
OLD = ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file")
"""Linux's two layouts of a container's files: its limit, what it uses, and the files in memory that give way."""


def container_limit(root: Path = CGROUPS) -> int | None:
    """The most that this container may use; ``None``: as much as there is, or no container."""
    return next((_number(root / limit) for limit, _, _ in (NEW, OLD) if (root / limit).exists()), None)


def container_free(root: Path = CGROUPS) -> int | None:
    """What it may take beside what it uses; ``None`` without a limit."""
    limit_bytes = container_limit(root)
    for limit, used, idle in (NEW, OLD):
        used_bytes = _number(root / used)
        if limit_bytes is not None and used_bytes is not None and (root / limit).exists():
            return max(0, limit_bytes - used_bytes + _named((root / used).with_name("memory.stat"), idle))
    return None


def _number(file: Path) -> int | None:
    """The number in *file*; ``None`` for ``max``, or without it."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _named(file: Path, name: str) -> int:
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name} ")), 0)
