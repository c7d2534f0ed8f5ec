"""Reads the data about speed in presets/, only when it is asked for."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from planner.batching.trace import RequestSet
from planner.cost import ExamplePrices
from planner.energy import PowerShare
from planner.errors import BadPreset, UnknownName
from planner.paging import PublishedPaging
from planner.preset_files import PRESETS, build, load_toml
from planner.speculation import DraftOverhead, PublishedDraft
from planner.speed.constants import SpeedConstants
from planner.speed.host import HostTime
from planner.speed.rates import Kernels
from planner.units import shorten


@cache
def drafts() -> Mapping[str, PublishedDraft]:
    """Published readings of drafts by name, in the order of the file."""
    return {
        name: build(PublishedDraft, table, f"speculation.toml: {name}", name=name)
        for name, table in load_toml(PRESETS / "speculation.toml").items()
    }


@cache
def _speed() -> Mapping[str, Any]:
    return load_toml(PRESETS / "speed_families.toml")


@cache
def kernels_of(engine: str) -> Kernels:
    """What the kernels of the *engine* whose speed is planned multiply."""
    table = _speed()["arithmetic"]
    return Kernels(
        eight_bit=frozenset(table["eight_bit_formats"]),
        four_bit=frozenset(table["four_bit_formats"]),
        integers=engine in table["integer_engines"],
    )


def expert_rows() -> int:
    """Rows that a server's kernels compute at least for each expert that a step meets."""
    found: int = _speed()["arithmetic"]["expert_rows"]
    return found


def host_time() -> HostTime:
    """How long hosts take where an engine does without CUDA graphs."""
    return build(HostTime, _speed()["without_graphs"], "speed_families.toml: without_graphs")


def speculation_overhead() -> DraftOverhead:
    """What engines spend on a draft besides its passes."""
    return build(DraftOverhead, _speed()["speculation"], "speed_families.toml: speculation")


@cache
def published_paging() -> PublishedPaging:
    """What was published of reserving beside paging."""
    return build(PublishedPaging, load_toml(PRESETS / "paging.toml"), "paging.toml")


def power_share() -> PowerShare:
    """Which part of its limit a card draws while it answers."""
    return build(PowerShare, _speed()["power"], "speed_families.toml: power")


@cache
def example_prices() -> ExamplePrices:
    """Prices to begin with; their source says whose they were, and when."""
    return build(ExamplePrices, load_toml(PRESETS / "example_prices.toml"), "example_prices.toml")


@cache
def _families() -> Mapping[str, str]:
    return {device: family for family, devices in _speed()["families"].items() for device in devices}


@cache
def speed_constants() -> Mapping[tuple[str, str, bool], SpeedConstants]:
    """Fitted constants by engine, family of devices, and whether the model has experts."""
    found = {}
    for name, table in load_toml(PRESETS / "speed.toml").items():
        constants = build(SpeedConstants, table, f"speed.toml: {name}")
        key = constants.engine, constants.family, constants.experts
        if key in found:
            raise BadPreset(f"Constants in 'speed.toml: {name}' are there twice.")
        found[key] = constants
    return found


def find_speed_constants(engine: str, device: str, experts: bool) -> SpeedConstants:
    """The constants of *engine* for the family of *device*, or for any; raises UnknownName with the engines known.

    On a family apart those of another server come before those for any.
    """
    known, family = speed_constants(), _families().get(device, "any")
    kin = servers() if family in families_apart() and engine in servers() else ()
    for key in ((engine, family), *((other, family) for other in kin), (engine, "any")):
        constants = known.get((*key, experts))
        if constants is not None:
            return constants
    engines = sorted({name for name, _, has_experts in known if has_experts == experts})
    kind = "models with experts" if experts else "dense models"
    raise UnknownName(
        f"Of {engine} with {kind} no public measurements are known here; name the speed of another engine "
        f"(--speed-engine), one of: {', '.join(engines)}."
    )


def families_apart() -> frozenset[str]:
    """Families whose readings say nothing of other cards."""
    return frozenset(_speed()["apart"]["families"])


def servers() -> tuple[str, ...]:
    """Engines that serve many requests, with kernels of one kind."""
    return tuple(_speed()["apart"]["servers"])


def family_devices() -> Iterable[str]:
    """Every device that belongs to a family."""
    return _families()


def device_family(name: str) -> str:
    """The family of the device called *name*; raises UnknownName for one that has none."""
    family = _families().get(name)
    if family is None:
        raise UnknownName(
            f"Device {name!r} belongs to no family of speed_families.toml, so its speed cannot be planned."
        )
    return family


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
        raise UnknownName(f"Workload {shorten(name)!r} is not known; choose one of: {', '.join(request_sets())}.")
    return found
