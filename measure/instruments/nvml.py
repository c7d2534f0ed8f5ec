"""NVIDIA's management library, where it is there: the driver's version and what each process takes of a card."""

import os
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlReading:
    """*used_bytes* by process id, as far as the driver shows them; inside a container it may show none."""

    driver: str
    used_bytes: dict[int, int] = field(default_factory=dict)

    @property
    def others_bytes(self) -> int | None:
        """What other processes take; ``None`` where this process itself is not shown."""
        if os.getpid() not in self.used_bytes:
            return None
        return sum(self.others.values())

    @property
    def others(self) -> dict[int, int]:
        """What each other process takes."""
        return {pid: size for pid, size in self.used_bytes.items() if pid != os.getpid()}


def read_nvml(uuid: str) -> NvmlReading | None:
    """The reading of the card with this *uuid* (CUDA_VISIBLE_DEVICES renumbers cards), ``None`` without the library."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
        processes = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
        return NvmlReading(
            driver=str(pynvml.nvmlSystemGetDriverVersion()),
            used_bytes={process.pid: int(process.usedGpuMemory or 0) for process in processes},
        )
    except pynvml.NVMLError:
        return None
