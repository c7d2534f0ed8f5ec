"""Reads the data about speed in presets/, only when it is asked for."""

from collections.abc import Mapping
from functools import cache

from planner.batching.trace import RequestSet
from planner.errors import UnknownName
from planner.presets import PRESETS, build, load_toml
from planner.speculation import PublishedDraft


@cache
def drafts() -> Mapping[str, PublishedDraft]:
    """Published readings of drafts by name, in the order of the file."""
    return {
        name: build(PublishedDraft, table, f"speculation.toml: {name}", name=name)
        for name, table in load_toml(PRESETS / "speculation.toml").items()
    }


@cache
def request_sets() -> Mapping[str, RequestSet]:
    """Sets of requests by name."""
    return {
        name: build(RequestSet, table, f"workloads.toml: {name}", name=name)
        for name, table in load_toml(PRESETS / "workloads.toml").items()
    }


def find_request_set(name: str) -> RequestSet:
    """The set called *name*; raises UnknownName with those that exist."""
    found = request_sets().get(name.strip().lower())
    if found is None:
        raise UnknownName(f"Workload {name!r} is not known; choose one of: {', '.join(request_sets())}.")
    return found
