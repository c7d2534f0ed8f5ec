"""One instrument a kind of device, found by the device's name."""

import torch

from measure.instruments.accelerator import AcceleratorInstrument
from measure.instruments.base import Instrument
from measure.instruments.cpu import CpuInstrument
from measure.instruments.mps import MpsInstrument
from planner.errors import PlannerError
from planner.units import shorten

DEVICES = ("auto", "cpu", "cuda", "xpu", "mps")
"""What a device may be called; ROCm's cards are called cuda by PyTorch."""
NUMBERED = ("cuda", "xpu")
"""Of these there may be several."""


def find_instrument(name: str = "auto") -> Instrument:
    """The instrument of a device such as ``cpu``, ``cuda:1``; ``auto`` is an accelerator where there is one.

    Raises PlannerError with what this machine has.
    """
    kind, colon, index = name.partition(":")
    if kind not in DEVICES or (colon and (kind not in NUMBERED or not index.isdecimal())):
        raise PlannerError(f"Device {shorten(name)!r} is not known; choose one of: {', '.join(DEVICES)}, or cuda:1.")
    present = available()
    chosen = present[0] if kind == "auto" else kind
    if chosen not in present:
        raise PlannerError(f"PyTorch {torch.__version__} finds no {kind} here; it finds: {', '.join(present)}.")
    match chosen:
        case "cuda":
            title = "rocm" if torch.version.hip else "cuda"
            return AcceleratorInstrument(title, torch.cuda, _card(name, torch.cuda.device_count(), index))
        case "xpu":
            return AcceleratorInstrument("xpu", torch.xpu, _card(name, torch.xpu.device_count(), index))
        case "mps":
            return MpsInstrument(torch.mps)
        case _:
            return CpuInstrument()


def cards(device: torch.device) -> int:
    """How many devices of its kind PyTorch sees, as CUDA_VISIBLE_DEVICES and its like leave them."""
    return int(getattr(torch, device.type).device_count()) if device.type in NUMBERED else 1


def _card(name: str, count: int, index: str) -> int:
    number = int(index or 0)
    if number >= count:
        last = name.partition(":")[0] + f":{count - 1}"
        raise PlannerError(
            f"{name} is not among the {count} cards that PyTorch sees here, of which the last is {last}: "
            "CUDA_VISIBLE_DEVICES and its like choose and renumber them."
        )
    return number


def available() -> list[str]:
    """The kinds of device that PyTorch can use here, accelerators first."""
    found = {"cuda": torch.cuda.is_available(), "xpu": torch.xpu.is_available(), "mps": torch.mps.is_available()}
    return [kind for kind, is_there in found.items() if is_there] + ["cpu"]
