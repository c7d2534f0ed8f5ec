"""What every instrument answers about the memory of one device."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceMemory:
    """One moment on one device, in bytes. ``None``: this kind of device does not tell.

    *allocated_bytes* are live tensors as the framework's allocator counts them, *reserved_bytes* what it holds of the
    device, *outside_bytes* what is in use beyond that: contexts, libraries, other processes; *others_bytes* the part of
    other processes. *host_bytes* is this process's resident set.
    """

    total_bytes: int
    free_bytes: int
    host_bytes: int
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    outside_bytes: int | None = None
    others_bytes: int | None = None

    @property
    def reserved_unused_bytes(self) -> int | None:
        if self.reserved_bytes is None or self.allocated_bytes is None:
            return None
        return self.reserved_bytes - self.allocated_bytes


@dataclass(slots=True, kw_only=True)
class Watched:
    """What happened to allocated bytes between start and end of a watch, relative to its start.

    *peak_bytes* is the most that was allocated at once, *left_bytes* what remained. *requested_bytes* is the peak of
    what was asked for, where the allocator rounds and says so.
    """

    peak_bytes: int = 0
    left_bytes: int = 0
    requested_bytes: int | None = None


class Instrument(Protocol):
    """Reads one device. *rounds_to_bytes* is the allocator's smallest unit; 1 where it counts to the byte."""

    kind: str
    title: str
    device: torch.device
    rounds_to_bytes: int
    total_bytes: int

    def wait(self) -> None:
        """Until the device has done everything that it was asked."""
        ...

    def settle(self) -> None:
        """Waits, collects garbage and gives unused memory back."""
        ...

    def now(self) -> DeviceMemory:
        """The memory at this moment."""
        ...

    def watch(self) -> AbstractContextManager[Watched]:
        """Follows allocations while the context is open; its figures are final when it closes."""
        ...

    def limited(self, limit_bytes: int) -> AbstractContextManager[Watched]:
        """Watches, and lets allocations beyond *limit_bytes* more than are there now fail as a full device would."""
        ...

    def held_by_others(self) -> dict[int, int]:
        """Bytes of the device by process id, of all other processes that the system shows."""
        ...

    def driver(self) -> str:
        """The driver's version, empty where there is none."""
        ...
