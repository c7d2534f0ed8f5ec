"""What this machine has to measure on: the device, its memory, and what else holds some of it."""

from collections import Counter
from importlib.metadata import version
from typing import Any

import torch

from measure.instruments import cards, find_instrument
from measure.instruments.host import cores, names_of
from planner.startups.cards import device_named

SHOWN = 4
LEAST_SHARE = 0.01
"""Other programs with less of the memory than this are not named."""


def hardware(device: str = "auto") -> dict[str, Any]:
    """The device as JSON. *preset* is its name among the planner's cards, ``None`` for one that is not there.

    *cards* is how many of its kind PyTorch sees. *others* are other programs by name with the bytes that they hold, the
    largest first, as far as the system tells.
    """
    instrument = find_instrument(device)
    memory = instrument.now()
    return {
        "title": instrument.title,
        "kind": instrument.kind,
        "preset": device_named(instrument.title),
        "cores": cores(),
        "cards": cards(instrument.device),
        "total_bytes": memory.total_bytes,
        "free_bytes": memory.free_bytes,
        "others": _others(instrument.held_by_others(), memory.total_bytes),
        "driver": instrument.driver(),
        "torch": torch.__version__,
        "transformers": version("transformers"),
    }


def _others(held_bytes: dict[int, int], total_bytes: int) -> list[dict[str, Any]]:
    names = names_of(held_bytes)
    by_name: Counter[str] = Counter()
    for pid, size in held_bytes.items():
        by_name[names.get(pid, f"process {pid}")] += size
    return [
        {"name": name, "bytes": size} for name, size in by_name.most_common(SHOWN) if size >= LEAST_SHARE * total_bytes
    ]
