"""Without CUDA graphs the host starts every kernel of a step itself, and a quick card waits for it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.records import dataclass
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, calibrate, predicted_s


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTime:
    """How long a host takes to start a layer's work, *expert_layer_s* where it has experts.

    *p90_error* holds all *readings*, a share of 1. *settings*: those of engines that do without graphs where set.
    """

    settings: tuple[str, ...]
    layer_s: float
    expert_layer_s: float
    p90_error: float
    readings: int
    source: str

    def setting(self, values: Mapping[str, Any]) -> str | None:
        """The one of an engine's settings that does without graphs; ``None`` where none does."""
        return next((name for name in self.settings if values.get(name) is True), None)


def without_graphs(constants: SpeedConstants, host: HostTime) -> SpeedConstants:
    """*constants* of an engine that does without."""
    return replace(
        constants,
        host_layer_s=host.expert_layer_s if constants.experts else host.layer_s,
        host_p90_error=host.p90_error,
    )


def calibrated_without_graphs(constants: SpeedConstants, host: HostTime, points: Sequence[Measured]) -> SpeedConstants:
    """The same for the machine on which *points* were measured.

    Those that took longer than the card alone is planned to take say how long its host takes, the others what the card
    does.
    """
    waited = [point for point in points if point.seconds > predicted_s(point.work, constants)]
    rest = [point for point in points if point not in waited]
    found = calibrate(constants, rest) if rest else constants
    if not waited:
        return without_graphs(found, host)
    error = host.p90_error if constants.calibrated_p90_error is None else constants.calibrated_p90_error
    return replace(
        found,
        host_layer_s=sum(point.seconds / point.work.layers for point in waited) / len(waited),
        host_p90_error=min(host.p90_error, error),
        calibrated_by=len(points),
    )
