"""The speed of a machine by its own passes: a profile's rates in place of a family's constants."""

from dataclasses import replace

from planner.deployment import Device
from planner.measurements import MeasuredSpeed
from planner.speed.constants import SpeedConstants
from planner.speed.names import MEASURED

NO_LIMIT = 2**60
"""A rate that no pass showed to limit anything."""


def measured_device(device: Device, speed: MeasuredSpeed) -> Device:
    """*device* with the rates that were reached where those of its data sheet are not known, or lower."""
    return replace(
        device,
        bandwidth_bytes_per_s=_higher(device.bandwidth_bytes_per_s, speed.read_bytes_per_s),
        fp16_flops_per_s=_higher(device.fp16_flops_per_s, speed.operations_per_s),
        fp16_accumulate_flops_per_s=None,
        fp8_flops_per_s=None,
        fp4_flops_per_s=None,
        int8_ops_per_s=None,
    )


def measured_constants(engine: str, device: Device, speed: MeasuredSpeed, source: str) -> SpeedConstants:
    """Constants with which *device*, as ``measured_device`` gives it, takes the times of *speed*."""
    return SpeedConstants(
        engine=engine,
        family=MEASURED,
        layer_s=speed.layer_s,
        read_efficiency=_share(speed.read_bytes_per_s, device.bandwidth_bytes_per_s),
        arithmetic_efficiency=_share(speed.operations_per_s, device.fp16_flops_per_s),
        median_error=speed.median_error,
        p90_error=speed.worst_error,
        source=source,
    )


def _higher(known: int | None, reached: float | None) -> int:
    return max(known or 0, round(reached or 0)) or NO_LIMIT


def _share(reached: float | None, peak: int | None) -> float:
    return min(1.0, reached / peak) if reached and peak else 1.0
