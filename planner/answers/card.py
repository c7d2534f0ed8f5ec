"""The card as one bar: what lies where on it, from the first byte to the last."""

from enum import StrEnum

from planner.answers.answer import Answer
from planner.budget import OUTSIDE
from planner.deployment import Device
from planner.line_item import Kind
from planner.records import dataclass


class Part(StrEnum):
    """What a stretch of the bar is. The first three are occupied, the others empty or not ours."""

    WEIGHTS = "weights"
    RUNTIME = "runtime"
    CACHE = "cache"
    FREE = "free"
    OUTSIDE = "outside"
    DRIVER = "driver"


_ORDER = (Kind.WEIGHTS, Kind.RUNTIME, Kind.CACHE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One stretch of the bar in bytes."""

    name: str
    part: Part
    start_bytes: int
    end_bytes: int

    @property
    def bytes(self) -> int:
        return self.end_bytes - self.start_bytes


def segments(answer: Answer, device: Device) -> tuple[Segment, ...]:
    """The bar from left to right: weights, runtime, cache, what is free, what the engine and the driver leave out.

    The cache stands last of what is occupied, because it is what gives way: what is too much lies on it. What the
    engine leaves to others counts as occupied where there is too much. Free space and that end at *usable*
    (``answer.memory_bytes``); what the driver keeps is known only where the driver's own figure is.
    """
    found: list[Segment] = []
    end = 0
    outside_bytes = sum(item.bytes for item in answer.items if item.name == OUTSIDE) if answer.free_bytes >= 0 else 0
    for kind in _ORDER:
        for item in answer.items:
            if item.kind is kind and item.bytes and not (outside_bytes and item.name == OUTSIDE):
                found.append(Segment(name=item.name, part=Part(kind), start_bytes=end, end_bytes=end + item.bytes))
                end += item.bytes
    if answer.free_bytes > 0:
        found.append(Segment(name="free", part=Part.FREE, start_bytes=end, end_bytes=end + answer.free_bytes))
        end += answer.free_bytes
    found.append(Segment(name=OUTSIDE, part=Part.OUTSIDE, start_bytes=end, end_bytes=end + outside_bytes))
    end += outside_bytes
    if driver_keeps_bytes(device):
        found.append(
            Segment(
                name="driver",
                part=Part.DRIVER,
                start_bytes=max(end, device.memory_bytes),
                end_bytes=max(end, device.driver_bytes or 0),
            )
        )
    return tuple(segment for segment in found if segment.bytes > 0)


def driver_keeps_bytes(device: Device) -> int:
    """What the driver counts but no program can have; 0 where it is not known."""
    return max(0, (device.driver_bytes or device.memory_bytes) - device.memory_bytes)
