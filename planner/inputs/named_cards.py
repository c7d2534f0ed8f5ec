"""From the name or the size of a card, or a list of these, to the devices that are meant."""

from functools import cache

from planner import presets
from planner.deployment import CPU, MAX_PARALLEL, Device
from planner.errors import PlannerError
from planner.units import format_size, parse_bytes, shorten


def choose_card(name: str | None, memory: str | None, host_memory: str | None) -> Device:
    """As ``choose_device``, but for a machine without a card, which may be said by its *host_memory* alone."""
    if memory is None and is_without_card(name):
        return _machine((name or "").strip().lower(), host_memory)
    return choose_device(name, memory)


def is_without_card(name: str | None) -> bool:
    """Whether the device called *name* is a machine that computes with its processor."""
    device = (name or "").strip().lower()
    return device == CPU or (bool(device) and presets.find_device(device).vendor == CPU)


def listed_cards(listed: str) -> tuple[Device, ...]:
    """The cards of a list such as ``rtx-4090,24GiB``, in its order; raises PlannerError for what is no card."""
    words = [word.strip() for word in listed.split(",")]
    if len(words) > MAX_PARALLEL or not all(words):
        raise PlannerError(
            f"devices = {shorten(listed)!r} is not a list of cards: write up to {MAX_PARALLEL:,} names or "
            "sizes, such as rtx-4090,rtx-3060 or 24GiB,12GiB."
        )
    cards = tuple(choose_device(None, word) if word[:1].isdigit() else presets.find_device(word) for word in words)
    machine = next((card for card in cards if card.vendor == CPU), None)
    if machine is not None:
        raise PlannerError(f"{machine.title} is no card: name it alone, by --device {machine.name}.")
    return cards


def choose_device(name: str | None, memory: str | None) -> Device:
    """A device by name, or one with *memory* and nothing else known; exactly one must be given."""
    if (name is None) == (memory is None):
        given = "both were" if name is not None else "neither was"
        raise PlannerError(f"Give either --device or --memory, or the cards by --devices; {given} given.")
    if name is not None:
        return presets.find_device(name)
    size = parse_bytes(memory or "", "memory")
    if size == 0:
        raise PlannerError("memory = 0 is not possible: give the size of one card, such as 8GiB.")
    return stated_device(size)


def _machine(device: str, host_memory: str | None) -> Device:
    """A machine without a card by its name, or of which only what its memory has to give is said."""
    if host_memory is None:
        if device != CPU:
            return presets.find_device(device)
        names = ", ".join(name for name, one in presets.devices().items() if one.vendor == CPU)
        raise PlannerError(f"{CPU} is a machine without a card: give --host-memory 12GiB, or name one of: {names}.")
    size = parse_bytes(host_memory, "host_memory")
    return Device(name=CPU, title=f"PC without GPU, {format_size(size)}", memory_bytes=size, vendor=CPU)


@cache
def stated_device(memory_bytes: int) -> Device:
    """A card of which only the size is known; all of it counts as usable."""
    return Device(name="stated", title=f"{format_size(memory_bytes)} card", memory_bytes=memory_bytes)
