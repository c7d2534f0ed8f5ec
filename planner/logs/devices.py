"""llama.cpp's devices: cards, and main memory under several names."""

import re

from planner.logs.readings import Reading, Start

CARD = "device_"
"""How the settings begin that name each of several cards: device_0."""
LLAMA_CPP = ("llama_cpp", "ik_llama_cpp", "ollama")


def is_host(device: str) -> bool:
    """Whether llama.cpp's name of a device is one of main memory.

    >>> [is_host(name) for name in ("CPU", "CPU_Mapped", "cpu", "CUDA_Host", "Host", "CUDA0", "")]
    [True, True, True, True, True, False, False]
    """
    return device.upper().startswith("CPU") or device.endswith(("_Host", "_Mapped", "Host"))


def cards(start: Start, name: str) -> dict[str, Reading]:
    """The last reading called *name* of each card."""
    return {reading.rank: reading for reading in on_cards(start, name)}


def on_cards(start: Start, name: str) -> list[Reading]:
    """The readings called *name* of cards. A driver's ids are the same cards again where *start* names devices."""
    found = [reading for reading in start.named(name) if reading.rank and not is_host(reading.rank)]
    has_devices = any(_DEVICE.fullmatch(reading.rank) for reading in start.readings)
    named = [reading for reading in found if _DEVICE.fullmatch(reading.rank)]
    return named if has_devices and (named or len({reading.rank for reading in found}) > 1) else found


_DEVICE = re.compile(r"[A-Z][A-Za-z]{1,10}\d{1,3}")
"""llama.cpp's name of a card, such as CUDA0; Ollama has ids of the driver's too."""
