"""A plan ready for questions about its speed: by its profile where that timed the machine, else by fitted constants."""

from dataclasses import replace

from planner.choices import Chosen
from planner.performance_presets import eight_bit_formats, find_speed_constants
from planner.records import dataclass
from planner.speed.constants import SpeedConstants
from planner.speed.measured import measured_constants, measured_device
from planner.speed.work import Model, has_experts, prepare_speed


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """*model* on its devices, and the *constants* of its engine there; *is_measured*: by passes on that machine."""

    model: Model
    constants: SpeedConstants
    is_measured: bool


def paced(chosen: Chosen, engine: str) -> Paced:
    """Constants of *engine*, unless the plan's profile has a speed of its own.

    Raises PlannerError for a card whose rates are not known, and for a profile of another machine.
    """
    deployment, profile = chosen.deployment, chosen.deployment.profile
    if profile is None or profile.speed is None:
        model = prepare_speed(chosen.architecture, deployment, eight_bit_formats())
        constants = find_speed_constants(engine, deployment.device.name, has_experts(model.architecture))
        return Paced(model=model, constants=constants, is_measured=False)
    profile.check(deployment.subject(chosen.architecture.name))
    device = measured_device(deployment.device, profile.speed)
    source = f"measured on {profile.subject.device}, {len(profile.passes)} passes"
    return Paced(
        model=prepare_speed(chosen.architecture, replace(deployment, device=device), eight_bit_formats()),
        constants=measured_constants(deployment.engine, device, profile.speed, source),
        is_measured=True,
    )
