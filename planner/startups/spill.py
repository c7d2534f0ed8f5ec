"""What a start of llama.cpp that went on left in main memory, and with what all of it would lie on the card."""

from planner.architecture import Architecture
from planner.calibration import CalibrationProfile
from planner.engines.llama_cpp.options import PLACEMENT
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import Start
from planner.startups.trial import Failed
from planner.tuning import with_setting, without_settings


def spilled(
    start: Start, choices: Choices | None, architecture: Architecture, profile: CalibrationProfile | None
) -> str:
    """How many layers run from main memory, and the longest context without; empty where none does.

    *choices* plan the start, with what it measured in *profile*.
    """
    layers, offloaded = start.most("offloadable"), start.most("offloaded")
    if choices is None or start.engine not in LLAMA_CPP or start.failure is not None:
        return ""
    if layers is None or offloaded is None or not 0 < offloaded.value < layers.value:
        return ""
    said = f"{layers.value - offloaded.value} of {layers.value} layers run from main memory, which is much slower"
    bare = with_setting(without_settings(choices, *PLACEMENT), "fit", "off")
    try:
        found = Failed(choices=choices, architecture=architecture, profile=profile).ask(bare)
    except PlannerError:
        return f"{said}."
    if found.fits:
        return f"{said}: by the plan there is room for all of them on the card."
    if found.max_context_tokens:
        return f"{said}: all of them lie on the card with up to {found.max_context_tokens:,} tokens."
    card = f"--device {choices.device}" if choices.device else "the card"
    return (
        f"{said}: there is no room for all of them whatever the context is; kvbudget which with {card} and "
        f"--engine {choices.engine} lists models and formats that stay on it."
    )
