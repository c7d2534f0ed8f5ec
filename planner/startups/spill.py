"""What a start of llama.cpp that went on left in main memory, and with what all of it would lie on the card."""

from planner.architecture import Architecture
from planner.calibration import CalibrationProfile
from planner.engines.llama_cpp.options import PLACEMENT
from planner.errors import PlannerError
from planner.inputs.choices import Choices
from planner.logs.devices import LLAMA_CPP
from planner.logs.readings import Start
from planner.startups.printed_buffers import OPTIONS, UNQUANTIZED
from planner.startups.printed_figures import printed_number
from planner.startups.trial import Failed
from planner.tuning import with_setting, without_settings
from planner.units import format_bytes


def spilled_at_all(start: Start) -> str:
    """How many layers run from main memory by the log alone, and what makes room for more of them."""
    said = _said(start)
    if not said:
        return ""
    options, tokens = OPTIONS[start.engine], printed_number(start, "n_ctx")
    option = options["n_ctx"].partition(" {")[0]
    ways = [f"a context shorter than {tokens:,} tokens ({option})" if tokens else f"a shorter context ({option})"]
    if start.settings.get("cache_type_k", "") in UNQUANTIZED:
        ways.append(f"a cache in q8_0 ({options['cache']})")
    return f"{said}. Room for more of them make {', '.join(ways)} and a smaller model or file."


def _said(start: Start) -> str:
    """Of a start that went on."""
    layers, offloaded = start.most("offloadable"), start.most("offloaded")
    if start.engine not in LLAMA_CPP or start.failure is not None or layers is None or offloaded is None:
        return ""
    if not 0 < offloaded.value < layers.value:
        return ""
    return f"{layers.value - offloaded.value} of {layers.value} layers run from main memory, which is much slower"


def spilled(
    start: Start, choices: Choices | None, architecture: Architecture, profile: CalibrationProfile | None
) -> str:
    """How many layers run from main memory, and the longest context without; empty where none does.

    *choices* plan the start, with what it measured in *profile*.
    """
    said = _said(start)
    if choices is None or not said:
        return ""
    bare = with_setting(without_settings(choices, *PLACEMENT), "fit", "off")
    try:
        found = Failed(choices=choices, architecture=architecture, profile=profile).ask(bare)
    except PlannerError:
        return f"{said}."
    wanted, free = start.most("required"), start.least("free")
    if wanted is not None and free is not None and wanted.value > free.value:
        return f"{said}: it wanted {format_bytes(wanted.value)} of the card, and {format_bytes(free.value)} were free."
    if found.fits:
        return f"{said}: by the plan there is room for all of them on the card."
    if found.max_context_tokens:
        return f"{said}: all of them lie on the card with up to {found.max_context_tokens:,} tokens."
    card = f"--device {choices.device}" if choices.device else "the card"
    return (
        f"{said}: there is no room for all of them whatever the context is; kvbudget which with {card} and "
        f"--engine {choices.engine} lists models and formats that stay on it."
    )
