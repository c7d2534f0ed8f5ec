"""Refuses a run that would take the machine's last memory, before it starts."""

from measure.instruments.base import DeviceMemory
from planner.units import format_bytes

KEPT_SHARE = 16
"""One sixteenth of the memory, and at least MIN_KEPT_BYTES, stays free for all else that runs there."""
MIN_KEPT_BYTES = 512 * 2**20


def refusal(what: str, needed_bytes: int, memory: DeviceMemory) -> str | None:
    """Why *what* must not start, in one sentence with the figures; ``None`` when there is room.

    >>> half_free = DeviceMemory(total_bytes=16 * 2**30, free_bytes=8 * 2**30, host_bytes=0)
    >>> refusal("peak", 7 * 2**30, half_free)
    >>> print(refusal("peak", 7 * 2**30 + 1, half_free))
    peak needs about 7.00 GiB; 8.00 GiB of 16.00 GiB are free and 1.00 GiB of them stay free for all else: choose \
--scale small, a smaller model or a shorter context, or close other programs.
    """
    kept_bytes = max(memory.total_bytes // KEPT_SHARE, MIN_KEPT_BYTES)
    if needed_bytes <= memory.free_bytes - kept_bytes:
        return None
    return (
        f"{what} needs about {format_bytes(needed_bytes)}; {format_bytes(memory.free_bytes)} of "
        f"{format_bytes(memory.total_bytes)} are free and {format_bytes(kept_bytes)} of them stay free for all else: "
        "choose --scale small, a smaller model or a shorter context, or close other programs."
    )
