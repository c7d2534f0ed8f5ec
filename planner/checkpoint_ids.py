"""Which preset a checkpoint is, and in which format, by what it is called."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from planner import presets


def identify(name: str) -> tuple[str, str | None] | None:
    """A preset's name and a weight format for a checkpoint's *name*, ``None`` where no preset is like it.

    >>> identify("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic"), identify("/models/Qwen3-8B-Q4_K_M.gguf")
    (('llama-3.1-8b', 'fp8-row'), ('qwen3-8b', 'q4_k_m'))
    """
    if not name:
        return None
    base = re.split(r"[/\\]", name)[-1]
    for candidate, weights in ((name, None), (base, None), *_without_ending(base)):
        found = _preset(candidate)
        if found is not None:
            return found, weights
    return None


def _without_ending(base: str) -> Iterator[tuple[str, str | None]]:
    """The name without what says how it is quantised, the longest such end first."""
    lower = base.lower()
    endings: Mapping[str, str] = presets.checkpoint_names()["endings"]
    for ending in sorted((end for end in endings if lower.endswith(end)), key=len, reverse=True):
        yield base[: -len(ending)], endings[ending]
    stem, _, kind = lower.removesuffix(".gguf").rpartition("-")
    if lower.endswith(".gguf"):
        yield stem, kind if presets.find_mix(kind) or kind in presets.formats() else None
        yield lower.removesuffix(".gguf"), None
    elif lower.endswith("-gguf"):
        yield lower.removesuffix("-gguf"), None


def _preset(name: str) -> str | None:
    """The preset called *name*, whoever published it, with or without what says that it is tuned."""
    base = name.lower().rpartition("/")[2]
    wanted = (name.lower(), base, re.sub(r"-(?:instruct|it|chat|base)$", "", base))
    return next((found for each in wanted if (found := _names().get(each))), None)


@cache
def _names() -> Mapping[str, str]:
    """Presets by name, title, alias, and alias without its publisher where that is only one preset's."""
    found: dict[str, str] = {}
    shared = set()
    for preset in presets.models():
        for name in (preset.name, preset.title, *preset.aliases, *(a.rpartition("/")[2] for a in preset.aliases)):
            if found.setdefault(name.lower(), preset.name) != preset.name:
                shared.add(name.lower())
    return {name: preset for name, preset in found.items() if name not in shared}
