"""CUDA, ROCm and XPU: PyTorch's caching allocator and the driver, which speak through the same calls."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from measure.instruments import host
from measure.instruments.base import DeviceMemory, Watched
from measure.instruments.driver import DriverReading, read_driver

CUDA_ROUNDS_TO_BYTES = 512
"""c10/cuda/CUDACachingAllocator.h: kMinBlockSize; ROCm and XPU have the same."""
ReadDriver = Callable[[str, int, Any], DriverReading | None]


class AcceleratorInstrument:
    """One card through *backend*: ``torch.cuda`` (CUDA and ROCm) or ``torch.xpu``, or a stand-in with their calls.

    A build without the device answers 0 to everything, so a backend that is not available is refused here. Nothing is
    allocated and no context made before ``now``, ``wait`` or ``watch``.
    """

    rounds_to_bytes = CUDA_ROUNDS_TO_BYTES

    def __init__(self, kind: str, backend: Any, index: int = 0, driver: ReadDriver = read_driver) -> None:
        if not backend.is_available():
            raise RuntimeError(f"{kind} is not available in this build of PyTorch")
        self.kind = kind
        self.device = torch.device("xpu" if kind == "xpu" else "cuda", index)
        self._backend = backend
        self._index = index
        self._properties = backend.get_device_properties(index)
        self._driver = driver
        self.title = str(self._properties.name)
        self.total_bytes = int(self._properties.total_memory)

    def wait(self) -> None:
        self._backend.synchronize(self._index)

    def settle(self) -> None:
        self.wait()
        gc.collect()
        self._backend.empty_cache()

    def now(self) -> DeviceMemory:
        self.wait()
        reserved_bytes = int(self._backend.memory_reserved(self._index))
        free_bytes, outside_bytes = self._free_and_outside(reserved_bytes)
        reading = self._driver_reading()
        return DeviceMemory(
            total_bytes=self.total_bytes,
            free_bytes=free_bytes,
            host_bytes=host.resident_bytes(),
            allocated_bytes=int(self._backend.memory_allocated(self._index)),
            reserved_bytes=reserved_bytes,
            outside_bytes=outside_bytes,
            others_bytes=None if reading is None else reading.others_bytes,
        )

    def _free_and_outside(self, reserved_bytes: int) -> tuple[int, int | None]:
        """As the driver tells; Intel's graphics within a processor refuse to, and share the machine's memory."""
        try:
            free_bytes, total_bytes = self._backend.mem_get_info(self._index)
        except RuntimeError:
            return min(self.total_bytes - reserved_bytes, host.available_bytes()), None
        return int(free_bytes), int(total_bytes - free_bytes) - reserved_bytes

    @contextmanager
    def watch(self) -> Iterator[Watched]:
        backend, index = self._backend, self._index
        backend.synchronize(index)
        backend.reset_peak_memory_stats(index)
        start = backend.memory_allocated(index)
        requested = self._requested("current")
        watched = Watched()
        yield watched
        backend.synchronize(index)
        watched.peak_bytes = int(backend.max_memory_allocated(index) - start)
        watched.left_bytes = int(backend.memory_allocated(index) - start)
        peak = self._requested("peak")
        watched.requested_bytes = None if requested is None or peak is None else peak - requested

    @contextmanager
    def limited(self, limit_bytes: int) -> Iterator[Watched]:
        self.settle()
        allowed_bytes = self._backend.memory_reserved(self._index) + limit_bytes
        self._backend.set_per_process_memory_fraction(min(1.0, allowed_bytes / self.total_bytes), self._index)
        try:
            with self.watch() as watched:
                yield watched
        finally:
            self._backend.set_per_process_memory_fraction(1.0, self._index)

    def held_by_others(self) -> dict[int, int]:
        reading = self._driver_reading()
        return {} if reading is None else reading.others

    def driver(self) -> str:
        reading = self._driver_reading()
        return "" if reading is None else reading.driver

    def _driver_reading(self) -> DriverReading | None:
        return self._driver(self.kind, self._index, self._properties)

    def _requested(self, moment: str) -> int | None:
        """Bytes asked for before rounding; not every backend keeps them."""
        return self._backend.memory_stats(self._index).get(f"requested_bytes.all.{moment}")
