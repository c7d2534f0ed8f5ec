"""What headers add up to without any config: bytes by role, and parameters where packing lets them be known."""

from dataclasses import dataclass
from math import prod

from planner.readers.checkpoint.packed import weights
from planner.readers.checkpoint.roles import Part, place_of, role_of
from planner.readers.stored_tensors import StoredTensors

_PARTS = {Part.MTP: "mtp", Part.BUFFER: "buffer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSummary:
    """*bytes_by_role* adds up to the tensors' bytes; parts for prediction and buffers are roles of their own.

    *parameters* counts every stored copy; *unknown* names weights whose packing hides how many they are, not counted.
    """

    bytes_by_role: dict[str, int]
    parameters: int
    unknown: tuple[str, ...]


def summarize(stored: StoredTensors) -> StoredSummary:
    """The sums over *stored*."""
    by_role: dict[str, int] = {}
    parameters = 0
    unknown: list[str] = []
    for weight, which in weights(stored.groups):
        place, _ = place_of(weight.name)
        count = len(which.packed)
        dimensions = 2 if weight.shape is None else len(weight.shape)
        role = _PARTS.get(place.part) or str(role_of(place.part, place.name, dimensions))
        by_role[role] = by_role.get(role, 0) + weight.bytes * count
        if weight.shape is None:
            unknown.append(weight.name)
        elif place.part is not Part.BUFFER:
            parameters += prod(weight.shape) * count
    return StoredSummary(bytes_by_role=by_role, parameters=parameters, unknown=tuple(unknown))
