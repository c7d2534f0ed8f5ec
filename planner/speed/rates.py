"""How fast a device multiplies: the rate of the numbers that an engine's kernels work on."""

from collections.abc import Collection

from planner.deployment import Device
from planner.formats import NumberFormat
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernels:
    """What an engine's kernels multiply. *eight_bit*, *four_bit*: the formats that they take as floats of so few bits.

    *integers*: quantised blocks are multiplied as 8-bit integers, whatever their bits, and products of 16-bit floats
    added up in 16 bits where a device is faster so.
    """

    eight_bit: frozenset[str] = frozenset()
    four_bit: frozenset[str] = frozenset()
    integers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """*numbers*: ``fp16``, ``fp8``, ``fp4`` or ``int8``; *per_s*: the dense rate of which an engine reaches a share.

    *headroom*: how many times as fast is possible. Of 4-bit floats engines were measured to reach no more than a share
    of the 8-bit rate, though the device could do twice as much.
    """

    numbers: str
    per_s: int
    headroom: float = 1.0


def arithmetic_of(device: Device, formats: Collection[NumberFormat], kernels: Kernels) -> Arithmetic | None:
    """The rate of *device* for matrices stored in *formats*; ``None`` where it is not known.

    Floats of few bits count where all matrices have them. Integers count as soon as one has them: a mix is no faster
    than its fastest part.
    """
    names = {format.name for format in formats}
    if kernels.integers:
        return _of_integers(device, any(not format.is_unquantized for format in formats))
    if names and names <= kernels.eight_bit | kernels.four_bit and device.fp8_flops_per_s:
        rate = device.fp8_flops_per_s
        if names & kernels.four_bit and device.fp4_flops_per_s:
            return Arithmetic(numbers="fp4", per_s=rate, headroom=device.fp4_flops_per_s / rate)
        return Arithmetic(numbers="fp8", per_s=rate)
    return Arithmetic(numbers="fp16", per_s=device.fp16_flops_per_s) if device.fp16_flops_per_s else None


def _of_integers(device: Device, quantized: bool) -> Arithmetic | None:
    floats = device.fp16_accumulate_flops_per_s or device.fp16_flops_per_s or 0
    integers = device.int8_ops_per_s or 0
    if quantized and integers >= floats > 0:
        return Arithmetic(numbers="int8", per_s=integers)
    return Arithmetic(numbers="fp16", per_s=floats) if floats else None
