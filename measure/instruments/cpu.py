"""The CPU, by following every storage that PyTorch creates: it has no allocator counters of its own."""

import gc
import platform
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from measure.instruments import host
from measure.instruments.base import DeviceMemory, Watched


class StorageFollower(TorchDispatchMode):
    """Adds up the storages that operators return while it is active, until each is freed.

    Storages that operators are handed from outside were there before, and are left out. Buffers that a kernel takes
    and gives back inside one operator are not seen. Beyond *limit_bytes* it raises MemoryError.
    """

    def __init__(self, limit_bytes: int | None = None) -> None:
        super().__init__()
        self._limit_bytes = limit_bytes
        self.current_bytes = 0
        self.peak_bytes = 0
        self._live: dict[int, tuple[weakref.ref[torch.UntypedStorage], int]] = {}

    def start_peak_again(self) -> None:
        """From now on the peak is that of what follows; what is held already counts."""
        self.peak_bytes = self.current_bytes

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        # What torch.tensor() fills outside any operator is first seen as the argument of lift_fresh.
        given = set() if func is torch.ops.aten.lift_fresh.default else {s._cdata for s in _storages((args, kwargs))}
        output = func(*args, **(kwargs or {}))
        for storage in _storages(output):
            if storage._cdata in self._live or storage._cdata not in given:
                self._follow(storage)
        return output

    def _follow(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        before = self._live[key][1] if key in self._live else 0
        if key not in self._live or size != before:
            self._live[key] = weakref.ref(storage, lambda _, key=key: self._forget(key)), size
            self.current_bytes += size - before
            self.peak_bytes = max(self.peak_bytes, self.current_bytes)
            if self._limit_bytes is not None and self.current_bytes > self._limit_bytes:
                raise MemoryError(f"{self.current_bytes:,} B are more than the limit of {self._limit_bytes:,} B")

    def _forget(self, key: int) -> None:
        self.current_bytes -= self._live.pop(key)[1]


def _storages(value: Any) -> list[torch.UntypedStorage]:
    return [leaf.untyped_storage() for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


class CpuInstrument:
    """The processor and the machine's memory."""

    kind = "cpu"
    rounds_to_bytes = 1

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.title = processor_name()
        self.total_bytes = host.total_bytes()

    def wait(self) -> None:
        """Nothing: an operator returns when it is done."""

    def settle(self) -> None:
        gc.collect()

    def now(self) -> DeviceMemory:
        return DeviceMemory(
            total_bytes=self.total_bytes, free_bytes=host.available_bytes(), host_bytes=host.resident_bytes()
        )

    def watch(self) -> AbstractContextManager[Watched]:
        return self._followed(None)

    def limited(self, limit_bytes: int) -> AbstractContextManager[Watched]:
        return self._followed(limit_bytes)

    @contextmanager
    def _followed(self, limit_bytes: int | None) -> Iterator[Watched]:
        watched = Watched()
        with StorageFollower(limit_bytes) as follower:
            yield watched
        watched.peak_bytes, watched.left_bytes = follower.peak_bytes, follower.current_bytes

    def held_by_others(self) -> dict[int, int]:
        return host.others_bytes()

    def driver(self) -> str:
        return ""


def processor_name() -> str:
    """The processor's name as the operating system tells it, with the threads that PyTorch uses."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    threads = torch.get_num_threads()
    return f"{name}, {threads} thread{'s' if threads != 1 else ''}"
