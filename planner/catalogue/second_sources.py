"""Where else a preset's figures, or the size of its files, were read."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from planner.preset_files import PRESETS, load_toml


@cache
def _data() -> Mapping[str, Any]:
    return load_toml(PRESETS / "second_sources.toml")


def confirmed_by(name: str) -> tuple[str, ...]:
    """Sources beside its own that agree with what the preset *name* comes to, each in a few words.

    >>> confirmed_by("smollm2-135m")[-1]
    'github:Lightning-AI/litgpt@26857050:litgpt/config.py: the same layers, widths, heads and vocabulary'
    """
    data, found = _data(), []
    if file := data["library"]["files"].get(name):
        tag, weights, size = file
        found.append(f"{data['library']['source']}: {tag} is of {size}, as its weights in {weights} come to")
    if name in data["litgpt"]["figures"]:
        found.append(f"{data['litgpt']['source']}: the same layers, widths, heads and vocabulary")
    return tuple(found)
