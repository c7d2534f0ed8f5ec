"""Energy a token: what the devices draw, by the time that a token takes."""

from planner.deployment import Device
from planner.errors import PlannerError
from planner.line_item import Basis
from planner.records import dataclass
from planner.speed.constants import Seconds

JOULES_PER_KWH = 3_600_000
MILLION = 1_000_000


MAX_WATTS = 10**9
"""Of all devices together: a power station."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerShare:
    """Which part of its limit a card draws while it answers: the least, the usual and the most of public readings."""

    low: float
    expected: float
    high: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Watts of all devices together. *low_watts* and *high_watts* differ where only the card's limit is known."""

    watts: float
    low_watts: float
    high_watts: float
    basis: Basis
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Joules of one token of an answer, its share of the prompts included; *low* and *high* by power and time alike.

    Cooling, processors and power supplies are not in it.
    """

    power: Power
    joules_per_output_token: float
    low_joules: float
    high_joules: float

    @property
    def kwh_per_million_tokens(self) -> float:
        return self.joules_per_output_token * MILLION / JOULES_PER_KWH


def stated_power(watts: float) -> Power:
    """What the user says that all devices draw."""
    if not 0 < watts <= MAX_WATTS:
        raise PlannerError(f"watts = {watts:g} is not possible: it must be above 0, and at most {MAX_WATTS:,} for all.")
    return Power(watts=watts, low_watts=watts, high_watts=watts, basis=Basis.ASSUMED, source="stated by the user")


def device_power(device: Device, device_count: int, share: PowerShare) -> Power | None:
    """What *device_count* of *device* draw, by the limit of its power; ``None`` where that is not known."""
    if device.power_watts is None:
        return None
    limit = device_count * device.power_watts
    return Power(
        watts=share.expected * limit,
        low_watts=share.low * limit,
        high_watts=share.high * limit,
        basis=Basis.ASSUMED,
        source=f"a limit of {device.power_watts:,} W a device ({device.power_source}); {share.source}",
    )


def energy(power: Power, step: Seconds, tokens: float) -> Energy:
    """Of a step that gives *tokens* tokens of answers."""
    return Energy(
        power=power,
        joules_per_output_token=power.watts * step.value_s / tokens,
        low_joules=power.low_watts * step.low_s / tokens,
        high_joules=power.high_watts * step.high_s / tokens,
    )
