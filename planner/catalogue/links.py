"""Which link joins a device to its neighbours: its own, or the one that a user names."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from planner.deployment import Device
from planner.errors import PlannerError
from planner.preset_files import PRESETS, build, load_toml
from planner.speed.links import Link
from planner.units import shorten

_ASSUMED = "pcie4-x16"
"""For devices of which nothing says what joins them."""
_BOTH_WAYS = re.compile(r"(\d+) GB/s")
_ONE_WAY = re.compile(r"(?:(\d+) x )?(\d+) (?:Gb/s|GbE)")


@cache
def _kinds() -> Mapping[str, Any]:
    return load_toml(PRESETS / "links.toml")


def link_names() -> tuple[str, ...]:
    """What ``--interconnect`` takes."""
    return tuple(_kinds())


def find_link(device: Device, name: str | None = None) -> Link:
    """What joins *device* to others of its kind: the link called *name*, else the first on its data sheet of which a
    rate is known, else PCIe as an assumption.

    Raises PlannerError for a link that the device does not have, and for a name that is none.
    """
    own = dict(_links_of(device))
    if name is None:
        return next(iter(own.values()), None) or replace(_link(_ASSUMED, ""), is_assumed=True)
    wanted = name.strip().lower()
    if wanted not in _kinds():
        raise PlannerError(f"interconnect = {shorten(name)!r} is not known; choose one of: {', '.join(_kinds())}.")
    if wanted not in own and "bytes_per_s" not in _kinds()[wanted]:
        title = _kinds()[wanted]["title"]
        others = dict.fromkeys((*own, *(n for n, kind in _kinds().items() if "bytes_per_s" in kind)))
        raise PlannerError(
            f"interconnect = {wanted} is not possible: no rate of {title} is known for {device.title}; it can be "
            f"joined by {', '.join(others)}."
        )
    return own.get(wanted) or _link(wanted, "")


def _links_of(device: Device) -> Iterator[tuple[str, Link]]:
    """The links of *device* of which a rate is known, by name, in the order of its data sheet."""
    for part in (device.interconnect or "").split(";"):
        written = part.strip()
        name = next((name for name, kind in _kinds().items() if written.startswith(kind["begins"])), None)
        if name is not None and _rate(name, written) is not None:
            yield name, _link(name, written)


def _link(name: str, written: str) -> Link:
    table = {key: value for key, value in _kinds()[name].items() if key != "begins"}
    return build(Link, table | {"bytes_per_s": _rate(name, written)}, f"links.toml: {name}", name=name)


def _rate(name: str, written: str) -> float | None:
    """Bytes a second in one direction, ``None`` where neither the kind nor the device's words say it."""
    known: float | None = _kinds()[name].get("bytes_per_s")
    if known is not None:
        return known
    if both := _BOTH_WAYS.search(written):
        return int(both[1]) * 1e9 / 2
    if one := _ONE_WAY.search(written):
        return int(one[1] or 1) * int(one[2]) * 1e9 / 8
    return None
