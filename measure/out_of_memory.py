"""Which errors mean that memory ran out: not every library raises PyTorch's own."""

import torch

WORDS = (
    "out of memory",  # PyTorch's allocators, also MPS's, which raises a plain RuntimeError
    "not enough memory",  # the CPU's on Windows
    "can't allocate memory",  # the CPU's elsewhere
    "cannot allocate memory",  # the system's
    "alloc_failed",  # cuBLAS and its kin, whose handles take memory of their own
    "out_of_device_memory",  # Level Zero, below XPU's allocator
    "out_of_host_memory",
    "size larger than 4gb",  # one block on older Intel cards
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether *error* says that memory ran out, on a device or in the machine."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in WORDS)
