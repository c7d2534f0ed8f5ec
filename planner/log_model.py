"""Which preset a log is of, and how its weights are stored: by a checkpoint's name, or by a GGUF's own fields."""

from planner import format_presets
from planner.checkpoint_ids import Named, identify
from planner.logs.readings import Start


def model_of(start: Start) -> Named | None:
    """What *start* is of. A GGUF's own name counts where its file's says nothing, as in Ollama's blobs."""
    settings = start.settings
    sized = "-".join(filter(None, (settings.get("basename"), settings.get("size_label"))))
    for name in (start.model.replace("-GGUF:", "-"), settings.get("name", ""), sized):
        if (found := identify(name, is_tuned=True)) is not None:
            return found[0], found[1] or mix_named(settings.get("file_type", ""))
    return None


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
