"""Which preset a log is of, and how its weights are stored: by a checkpoint's name, or by a GGUF's own fields."""

from collections.abc import Mapping

from planner import format_presets, presets
from planner.catalogue.checkpoint_ids import Named, identify
from planner.errors import PlannerError
from planner.inputs.format_choices import named_file
from planner.known_checkpoints import find_checkpoint, find_copy
from planner.launch.gguf import is_file
from planner.logs.readings import Start

FULL = dict.fromkeys(("float", "float32", "torch.float32"), "fp32")
"""Engines' names for numbers in full, in which they then load whatever a checkpoint has; cache and all."""
READS_PROJECTOR = ("llama_cpp", "ik_llama_cpp")
"""Engines that load a vision tower from a file of its own, and only where it is named."""


def model_of(start: Start) -> Named | None:
    """What *start* is of: a known checkpoint, or the preset that its name is like.

    A GGUF's own name counts where its file's says nothing, as in Ollama's blobs.
    """
    if (known := find_checkpoint(start.model) or find_copy(start.model)) is not None:
        return known.name, None
    settings = start.settings
    sized = "-".join(filter(None, (settings.get("basename"), settings.get("size_label"))))
    for name in (start.model.replace("-GGUF:", "-"), settings.get("name", ""), sized):
        if (found := identify(name, is_tuned=True)) is not None:
            return found[0], found[1] or mix_named(settings.get("file_type", ""))
    return None


def stored_as(start: Start, model: str) -> str | None:
    """How weights are stored, by a GGUF's own field, or by the checkpoint's name where the log is of *model* itself.

    ``None`` for the checkpoint's own format, or where nothing says it.
    """
    named = model_of(start)
    by_name = named[1] if named is not None and named[0] == model else None
    stored = mix_named(start.settings.get("file_type", "")) or by_name
    return stored or _made_while_loading(start) or _pulled_as(start, model)


def _pulled_as(start: Start, model: str) -> str | None:
    """How Ollama's library stores *model* under the tag that *start* names."""
    if start.engine != "ollama" or ":" not in start.model:
        return None
    try:
        return named_file(start.model, presets.load_preset(model), start.engine)[0]
    except PlannerError:
        return None


def _made_while_loading(start: Start) -> str | None:
    """The format of weights that the engine itself makes: of a quantisation, or of another type of numbers."""
    made: Mapping[str, str] = presets.checkpoint_names()["made_while_loading"]
    return made.get(start.settings.get("quantization", "")) or FULL.get(start.settings.get("dtype", ""))


def lacks_projector(found: Mapping[str, str], model: str) -> bool:
    """Whether *model* sees, and neither a line of llama.cpp's second file nor a command that fetches it is there.

    Source: docs/multimodal.md, by which -hf fetches both files.
    """
    named = found.get("model", "")
    if "mmproj" in found or ("/" in named and not is_file(named)):
        return False
    try:
        return bool(presets.load_preset(model).towers)
    except PlannerError:
        return False


def shown_name(start: Start) -> str:
    """What to call the model of *start*: a GGUF's own name where its file is one of Ollama's blobs."""
    name = start.settings.get("name", "").strip()
    return name if name and (not start.model or "sha256-" in start.model) else start.model


def mix_named(text: str) -> str | None:
    """A GGUF's file type as llama.cpp prints it, by our name.

    >>> mix_named("Q4_K - Medium"), mix_named("IQ4_XS - 4.25 bpw"), mix_named("Q8_0"), mix_named("all F32 (guessed)")
    ('q4_k_m', 'iq4_xs', 'q8_0', None)
    """
    base, _, size = text.lower().removeprefix("mostly ").partition(" - ")
    letter = {"small": "_s", "medium": "_m", "large": "_l"}.get(size.split(" ")[0], "")
    for name in (f"{base}{letter}", base.split(" ")[0]):
        if format_presets.find_mix(name) or name in format_presets.formats():
            return name
    return None
