"""Measurements in words: sizes, the hardware line, what a run's end means."""

from collections.abc import Mapping
from typing import Any

from measure.findings import Finding
from planner.units import GIB, counted, format_bytes, format_count

STOPPED = 130


def size_words(one: Finding, value: float) -> str:
    """One side of a pair: bytes as sizes, all else as a count."""
    return format_bytes(round(value)) if one.quantity.endswith("bytes") else format_count(round(value))


def hardware_title(found: Mapping[str, Any]) -> str:
    """``AMD EPYC, 2 cores, no GPU``, or the card's name."""
    if found["kind"] == "cpu":
        name = str(found["title"]).rpartition(", ")[0]  # after it come the threads that PyTorch uses
        return f"{name}, {counted(found['cores'], 'core')}, no GPU"
    return f"{found['title']}, one of {found['cards']} cards" if found["cards"] > 1 else str(found["title"])


def hardware_line(found: Mapping[str, Any]) -> str:
    """Memory, versions, and what a reading here is good for."""
    total, free = (found[key] / GIB for key in ("total_bytes", "free_bytes"))
    good_for = "sizes are exact here, speeds are this CPU's" if found["kind"] == "cpu" else f"driver {found['driver']}"
    return f"{total:.1f} GiB, {free:.1f} free now · torch {found['torch'].partition('+')[0]} · {good_for}"


def others_line(found: Mapping[str, Any]) -> str:
    """What else holds memory there."""
    others = ", ".join(f"{one['name']} {format_bytes(one['bytes'])}" for one in found["others"])
    return f"Also there: {others}." if others else "Nothing else of size is there."


def duration(seconds: float) -> str:
    """About how long: ``40 s``, ``5 minutes``."""
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    return f"{round(seconds / 60)} minutes"


def end_words(exit_code: int | None, said: str) -> str:
    """What became of a run."""
    match exit_code:
        case 0:
            return "Done: every case gave a reading."
        case 1:
            return "Done. Some cases gave no reading; why stands with their experiment below."
        case 130 | -15:
            return "Stopped. What was finished is kept; Run goes on from there."
        case None:
            return "It ended while nobody watched; what was finished is kept, and Run goes on from there."
        case _:
            return said or f"It ended with exit code {exit_code}."
