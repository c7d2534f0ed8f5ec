"""How fast a memory is read, as a person states it."""

import re

from planner.errors import PlannerError
from planner.units import parse_bytes, shorten

CHANNEL_BYTES = 8
"""A memory channel is 64 bits wide, whatever the generation (JEDEC JESD79-4 and JESD79-5, modules of 64 data bits)."""
_CHANNELS = re.compile(r"([1-9][0-9]?)\s*[x×*]\s*ddr[2-9]?\s*-?\s*([1-9][0-9]{2,4})", re.ASCII)
_A_SECOND = "/s"


def parse_bandwidth(text: str) -> int:
    """Bytes a second in a text such as ``960GB/s``, or of so many channels: ``2xDDR5-5600``.

        channels · transfers a second · 8 bytes

    Raises PlannerError for anything else, and for none at all.

    >>> parse_bandwidth("960 GB/s"), parse_bandwidth("2xDDR5-5600"), parse_bandwidth("2 x ddr4-3200")
    (960000000000, 89600000000, 51200000000)
    """
    written = text.strip().lower()
    if channels := _CHANNELS.fullmatch(written):
        return int(channels[1]) * int(channels[2]) * 10**6 * CHANNEL_BYTES
    if not written.endswith(_A_SECOND):
        raise PlannerError(
            f"bandwidth {shorten(text)!r} is not a rate: write bytes a second, such as 80GB/s, or how many channels "
            "and what is printed on the memory's modules, such as 2xDDR5-5600."
        )
    rate = parse_bytes(written.removesuffix(_A_SECOND), "bandwidth")
    if rate == 0:
        raise PlannerError("bandwidth = 0 is not possible: give what the memory reads a second, such as 80GB/s.")
    return rate
