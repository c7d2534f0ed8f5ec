"""What drivers tell beside PyTorch: their version, and what each process takes of a card.

NVIDIA's through NVML (``nvidia-ml-py``), AMD's through amdsmi, which comes with ROCm. Neither is needed.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverReading:
    """*used_bytes* by process id, ``None`` where the driver does not tell how much; a container may show no process."""

    driver: str
    used_bytes: dict[int, int | None] = field(default_factory=dict)

    @property
    def others_bytes(self) -> int | None:
        """What other processes take; ``None`` where not all of it is told, or this process itself is not shown."""
        others = [size for pid, size in self.used_bytes.items() if pid != os.getpid()]
        if os.getpid() not in self.used_bytes or None in others:
            return None
        return sum(self.others.values())

    @property
    def others(self) -> dict[int, int]:
        """What each other process takes, as far as it is told."""
        return {pid: size for pid, size in self.used_bytes.items() if pid != os.getpid() and size is not None}


def read_driver(kind: str, index: int, properties: Any) -> DriverReading | None:
    """Of the card that PyTorch calls *index* and describes by *properties*; ``None`` where no library tells."""
    match kind:
        case "cuda":
            return read_nvml(str(properties.uuid))
        case "rocm":
            return read_amdsmi(index)
        case _:
            return DriverReading(driver=str(properties.driver_version))


def read_nvml(uuid: str) -> DriverReading | None:
    """Of the card with this *uuid*, as PyTorch has it: CUDA_VISIBLE_DEVICES renumbers cards, but not these.

    A part of a card (MIG) has a UUID of its own, under which NVML lists that part's processes alone.
    """
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        handle = _nvml_handle(pynvml, uuid)
        used: dict[int, int | None] = {}
        for processes in (pynvml.nvmlDeviceGetComputeRunningProcesses, pynvml.nvmlDeviceGetGraphicsRunningProcesses):
            with suppress(pynvml.NVMLError):  # a part of a card draws nothing; a container may list none
                used |= {process.pid: process.usedGpuMemory for process in processes(handle)}
        return DriverReading(driver=str(pynvml.nvmlSystemGetDriverVersion()), used_bytes=used)
    except pynvml.NVMLError:
        return None
    finally:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _nvml_handle(pynvml: Any, uuid: str) -> Any:
    """PyTorch's *uuid* has no prefix, NVML's says what it is of."""
    try:
        return pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
    except pynvml.NVMLError:
        return pynvml.nvmlDeviceGetHandleByUUID(f"MIG-{uuid}")


def read_amdsmi(index: int) -> DriverReading | None:
    """Of PyTorch's card *index*: PyTorch itself maps it to amdsmi's handle, by HIP_VISIBLE_DEVICES and HIP's order."""
    try:
        handle = torch.cuda._get_amdsmi_handler(index)
        import amdsmi  # PyTorch's own import has loaded the library: a second copy of it would break both
    except (ImportError, RuntimeError, OSError):
        return None
    try:
        driver = str(amdsmi.amdsmi_get_gpu_driver_info(handle)["driver_version"])
        with suppress(amdsmi.AmdSmiException):
            return DriverReading(driver=driver, used_bytes=_vram_bytes(amdsmi.amdsmi_get_gpu_process_list(handle)))
        return DriverReading(driver=driver)
    except amdsmi.AmdSmiException:
        return None


def _vram_bytes(processes: Iterable[Any]) -> dict[int, int | None]:
    """By process; amdsmi writes ``N/A`` for what it cannot tell."""
    found = ((process["pid"], process["memory_usage"]["vram_mem"]) for process in processes)
    return {int(pid): size if isinstance(size, int) else None for pid, size in found}
