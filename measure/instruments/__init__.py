"""One instrument a kind of device, found by the device's name."""

import torch

from measure.instruments.accelerator import AcceleratorInstrument
from measure.instruments.base import Instrument
from measure.instruments.cpu import CpuInstrument
from measure.instruments.mps import MpsInstrument
from planner.errors import PlannerError

DEVICES = ("auto", "cpu", "cuda", "xpu", "mps")
"""What a device may be called; ROCm's cards are called cuda by PyTorch."""


def find_instrument(name: str = "auto") -> Instrument:
    """The instrument of a device such as ``cpu``, ``cuda:1``; ``auto`` is an accelerator where there is one.

    Raises PlannerError with what this machine has.
    """
    kind, _, index = name.partition(":")
    if kind not in DEVICES or not (index.isdigit() or not index):
        raise PlannerError(f"Device {name!r} is not known; choose one of: {', '.join(DEVICES)}, or cuda:1.")
    present = available()
    chosen = present[0] if kind == "auto" else kind
    if chosen not in present:
        raise PlannerError(f"PyTorch {torch.__version__} finds no {kind} here; it finds: {', '.join(present)}.")
    match chosen:
        case "cuda":
            return AcceleratorInstrument("rocm" if torch.version.hip else "cuda", torch.cuda, int(index or 0))
        case "xpu":
            return AcceleratorInstrument("xpu", torch.xpu, int(index or 0))
        case "mps":
            return MpsInstrument(torch.mps)
        case _:
            return CpuInstrument()


def available() -> list[str]:
    """The kinds of device that PyTorch can use here, accelerators first."""
    found = {"cuda": torch.cuda.is_available(), "xpu": torch.xpu.is_available(), "mps": torch.mps.is_available()}
    return [kind for kind, is_there in found.items() if is_there] + ["cpu"]
