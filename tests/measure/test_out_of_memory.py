"""Running out of memory is a reading, whichever library says so. The messages are public ones."""

import pytest
import torch

from measure.out_of_memory import is_out_of_memory
from measure.records import Outcome
from measure.worker import run_to_end

OUT = {
    "CPU": "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
    "allocate 1125899906842624 bytes. Error code 12 (Cannot allocate memory)",
    "CPU on Windows": "[enforce fail at alloc_cpu.cpp:116] data. DefaultCPUAllocator: not enough memory: you tried to "
    "allocate 67108864 bytes.",
    # https://github.com/Comfy-Org/ComfyUI/issues/8984
    "MPS": "MPS backend out of memory (MPS allocated: 15.72 GiB, other allocations: 2.41 MiB, max allowed: 18.13 GiB). "
    "Tried to allocate 5.81 GiB on private pool.",
    # https://github.com/QwenLM/Qwen3/issues/873
    "cuBLAS": "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    # https://github.com/open-edge-platform/physical-ai-studio/issues/440
    "Level Zero": "level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
    # https://github.com/intel/intel-extension-for-pytorch/issues/629
    "Intel's block": "Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 6.85 "
    "GiB (GPU  0; 15.56 GiB total capacity; 0 bytes already allocated; 0 bytes reserved in total by PyTorch)",
    # https://github.com/pytorch/pytorch/issues/175431, of PyTorch's own class
    "HIP": "HIP out of memory. Tried to allocate 2.00 MiB. GPU 7 has a total capacity of 287.98 GiB of which 203.49 "
    "GiB is free. Of the allocated memory 68.63 GiB is allocated by PyTorch",
    # https://github.com/intel/torch-xpu-ops/issues/3011, likewise
    "XPU": "XPU out of memory. Tried to allocate 4.66 GiB. GPU 0 has a total capacity of 5.65 GiB of which 5.65 GiB is "
    "free. Of the allocated memory 195.50 KiB is allocated by PyTorch",
}


@pytest.mark.parametrize("kind", OUT)
def test_a_message_that_says_so_is_a_reading(kind: str) -> None:
    error = torch.OutOfMemoryError if kind in ("HIP", "XPU") else RuntimeError

    def run():
        yield {"tokens": 1}
        raise error(f"{OUT[kind]}\nmore")

    sent = []
    ended = run_to_end(run, sent.append)
    assert sent == [{"tokens": 1}]
    assert (ended.outcome, ended.reason) == (Outcome.DOES_NOT_FIT, OUT[kind])


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1"),
        RuntimeError("level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)"),
        ValueError("out of memory"),
    ],
)
def test_any_other_error_is_none(error: Exception) -> None:
    assert not is_out_of_memory(error)


def test_pythons_own_is_one() -> None:
    assert is_out_of_memory(MemoryError())
