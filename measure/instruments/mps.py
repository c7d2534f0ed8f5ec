"""Apple's GPUs: current figures but no peak, so a thread samples while it is watched."""

import gc
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from measure.instruments import host
from measure.instruments.base import DeviceMemory, Watched

SAMPLE_SECONDS = 0.001


class MpsInstrument:
    """Metal through *backend*, ``torch.mps`` or a stand-in. A peak between two samples is missed: a lower bound."""

    kind = "mps"
    rounds_to_bytes = 1

    def __init__(self, backend: Any) -> None:
        self.device = torch.device("mps")
        self.title = platform.processor() or platform.machine()
        self._backend = backend

    def wait(self) -> None:
        self._backend.synchronize()

    def settle(self) -> None:
        self.wait()
        gc.collect()
        self._backend.empty_cache()

    def now(self) -> DeviceMemory:
        self._backend.synchronize()
        total_bytes = int(self._backend.recommended_max_memory())
        reserved_bytes = int(self._backend.driver_allocated_memory())
        return DeviceMemory(
            total_bytes=total_bytes,
            free_bytes=min(total_bytes - reserved_bytes, host.available_bytes()),
            host_bytes=host.resident_bytes(),
            allocated_bytes=int(self._backend.current_allocated_memory()),
            reserved_bytes=reserved_bytes,
        )

    @contextmanager
    def watch(self) -> Iterator[Watched]:
        self._backend.synchronize()
        start = int(self._backend.current_allocated_memory())
        watched, done = Watched(), threading.Event()

        def sample() -> None:
            while not done.wait(SAMPLE_SECONDS):
                watched.peak_bytes = max(watched.peak_bytes, int(self._backend.current_allocated_memory()) - start)

        sampler = threading.Thread(target=sample, daemon=True)
        sampler.start()
        try:
            yield watched
        finally:
            done.set()
            sampler.join()
        self._backend.synchronize()
        watched.left_bytes = int(self._backend.current_allocated_memory()) - start
        watched.peak_bytes = max(watched.peak_bytes, watched.left_bytes)

    @contextmanager
    def limited(self, limit_bytes: int) -> Iterator[Watched]:
        self.settle()
        allowed_bytes = int(self._backend.driver_allocated_memory()) + limit_bytes
        self._backend.set_per_process_memory_fraction(allowed_bytes / int(self._backend.recommended_max_memory()))
        try:
            with self.watch() as watched:
                yield watched
        finally:
            self._backend.set_per_process_memory_fraction(1.0)

    def held_by_others(self) -> dict[int, int]:
        return host.others_bytes()  # the memory is the machine's own

    def driver(self) -> str:
        return f"macOS {platform.mac_ver()[0]}"
