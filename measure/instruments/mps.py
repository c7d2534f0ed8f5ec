"""Apple's GPUs: current figures but no peak, so a thread samples while it is watched."""

import gc
import os
import platform
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from measure.instruments import host
from measure.instruments.base import DeviceMemory, Watched

SAMPLE_SECONDS = 0.001
WATERMARK = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"
LARGEST_FRACTION, USUAL_FRACTION = 2.0, 1.7
"""The most that a process may be allowed, and what it is unless WATERMARK says otherwise; of the
recommended memory. Source: PyTorch's documentation of torch.mps and of its environment variables."""


class MpsInstrument:
    """Metal through *backend*, ``torch.mps`` or a stand-in. A peak between two samples is missed: a lower bound."""

    kind = "mps"
    rounds_to_bytes = 1

    def __init__(self, backend: Any) -> None:
        self.device = torch.device("mps")
        self.title = chip_name()
        self._backend = backend
        self.total_bytes = int(backend.recommended_max_memory())

    def wait(self) -> None:
        self._backend.synchronize()

    def settle(self) -> None:
        self.wait()
        gc.collect()
        self._backend.empty_cache()

    def now(self) -> DeviceMemory:
        self._backend.synchronize()
        reserved_bytes = int(self._backend.driver_allocated_memory())
        return DeviceMemory(
            total_bytes=self.total_bytes,
            free_bytes=min(self.total_bytes - reserved_bytes, host.available_bytes()),
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
        self._backend.set_per_process_memory_fraction(min(LARGEST_FRACTION, allowed_bytes / self.total_bytes))
        try:
            with self.watch() as watched:
                yield watched
        finally:
            self._backend.set_per_process_memory_fraction(usual_fraction())

    def held_by_others(self) -> dict[int, int]:
        return host.others_bytes()  # the memory is the machine's own

    def driver(self) -> str:
        return f"macOS {platform.mac_ver()[0]}"


def usual_fraction() -> float:
    """The limit that the process started with; 0 is none."""
    with suppress(ValueError):
        return float(os.environ.get(WATERMARK, USUAL_FRACTION))
    return USUAL_FRACTION


def chip_name() -> str:
    """``Apple M3 Max``: Python's own word for every such processor is ``arm``."""
    with suppress(OSError, subprocess.SubprocessError):
        words = ["sysctl", "-n", "machdep.cpu.brand_string"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
        if said:
            return said
    return platform.processor() or platform.machine()
