"""llama.cpp's devices: cards, and main memory under several names."""

from planner.logs.readings import Reading, Start

LLAMA_CPP = ("llama_cpp", "ik_llama_cpp", "ollama")


def is_host(device: str) -> bool:
    """Whether llama.cpp's name of a device is one of main memory.

    >>> [is_host(name) for name in ("CPU", "CPU_Mapped", "CUDA_Host", "Host", "CUDA0", "")]
    [True, True, True, True, False, False]
    """
    return device.startswith("CPU") or device.endswith(("_Host", "_Mapped", "Host"))


def cards(start: Start, name: str) -> dict[str, Reading]:
    """The last reading called *name* of each card."""
    return {reading.rank: reading for reading in start.named(name) if reading.rank and not is_host(reading.rank)}
