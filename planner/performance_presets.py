"""Reads the data about speed in presets/, only when it is asked for."""

from collections.abc import Mapping
from functools import cache

from planner.presets import PRESETS, build, load_toml
from planner.speculation import PublishedDraft


@cache
def drafts() -> Mapping[str, PublishedDraft]:
    """Published readings of drafts by name, in the order of the file."""
    return {
        name: build(PublishedDraft, table, f"speculation.toml: {name}", name=name)
        for name, table in load_toml(PRESETS / "speculation.toml").items()
    }
