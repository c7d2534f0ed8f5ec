"""What drivers tell, through stand-ins of their libraries: none there, hidden processes, parts of a card, several."""
# ruff: noqa: N802 — the functions have the library's names

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from measure.instruments.driver import DriverReading, read_amdsmi, read_driver, read_nvml

UUID = "11111111-2222-3333-4444-555555555555"
OWN, OTHER, SCREEN = os.getpid(), 4_000_001, 4_000_002


class NvmlError(Exception):
    pass


def process(pid: int, size: int | None) -> SimpleNamespace:
    return SimpleNamespace(pid=pid, usedGpuMemory=size)


class Nvml(ModuleType):
    """``pynvml`` with one card, or with one part of a card."""

    NVMLError = NvmlError

    def __init__(self, handle: str = f"GPU-{UUID}", starts: bool = True, draws: bool = True) -> None:
        super().__init__("pynvml")
        self.handle, self.starts, self.draws = handle, starts, draws
        self.open = 0
        self.compute = [process(OWN, 500), process(OTHER, 300)]

    def nvmlInit(self) -> None:
        if not self.starts:
            raise NvmlError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid != self.handle:
            raise NvmlError("Not Found")
        return uuid

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        return self.compute

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: str) -> list[SimpleNamespace]:
        if not self.draws:
            raise NvmlError("Not Supported")
        return [process(SCREEN, 40)]

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.65.06"


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    library = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    return library


def test_processes_that_compute_and_that_draw(nvml: Nvml) -> None:
    reading = read_driver("cuda", 0, SimpleNamespace(uuid=UUID))
    assert reading is not None
    assert (reading.driver, reading.others, reading.others_bytes) == ("580.65.06", {OTHER: 300, SCREEN: 40}, 340)
    assert nvml.open == 0


def test_a_part_of_a_card_has_a_uuid_of_its_own_and_draws_nothing(nvml: Nvml) -> None:
    nvml.handle, nvml.draws = f"MIG-{UUID}", False
    reading = read_nvml(UUID)
    assert reading is not None
    assert reading.others == {OTHER: 300}


def test_a_card_is_found_by_its_uuid_and_not_by_its_number(nvml: Nvml) -> None:
    """CUDA_VISIBLE_DEVICES=1 makes the second card PyTorch's first; NVML counts on."""
    nvml.handle = "GPU-another"
    assert read_driver("cuda", 0, SimpleNamespace(uuid=UUID)) is None
    assert nvml.open == 0


def test_sizes_that_the_driver_does_not_tell_are_no_zeros(nvml: Nvml) -> None:
    """Windows: its own manager holds the memory, and NVML answers none."""
    nvml.compute = [process(OWN, None), process(OTHER, None)]
    reading = read_nvml(UUID)
    assert reading is not None
    assert reading.others_bytes is None
    assert reading.others == {SCREEN: 40}


def test_a_container_that_shows_no_process_tells_nothing_of_others() -> None:
    assert DriverReading(driver="580", used_bytes={OTHER: 300}).others_bytes is None
    assert DriverReading(driver="580", used_bytes={OWN: 500}).others_bytes == 0


def test_without_the_library_or_its_driver_there_is_no_reading(nvml: Nvml, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml.starts = False
    assert read_nvml(UUID) is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert read_nvml(UUID) is None


class AmdSmi(ModuleType):
    AmdSmiException = type("AmdSmiException", (Exception,), {})

    def __init__(self, lists: bool = True) -> None:
        super().__init__("amdsmi")
        self.lists = lists

    def amdsmi_get_gpu_driver_info(self, handle: str) -> dict[str, str]:
        return {"driver_name": "amdgpu", "driver_version": f"6.12.12 of {handle}"}

    def amdsmi_get_gpu_process_list(self, handle: str) -> list[dict[str, Any]]:
        if not self.lists:
            raise self.AmdSmiException
        return [{"pid": pid, "memory_usage": {"vram_mem": size}} for pid, size in ((OWN, 700), (OTHER, "N/A"))]


@pytest.mark.parametrize("lists", [True, False])
def test_amds_library_answers_for_the_card_that_pytorch_means(lists: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "amdsmi", AmdSmi(lists))
    monkeypatch.setattr(torch.cuda, "_get_amdsmi_handler", lambda index: f"card {index}")
    reading = read_driver("rocm", 3, None)
    assert reading is not None
    assert reading.driver == "6.12.12 of card 3"
    assert reading.used_bytes == ({OWN: 700, OTHER: None} if lists else {})
    assert reading.others_bytes is None


def test_without_amds_library_there_is_no_reading() -> None:
    assert read_amdsmi(0) is None
