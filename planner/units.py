"""Bytes to text and back, in one place. GiB is 2**30, GB is 10**9; they are never mixed."""

import re
from pathlib import PurePath

from planner.errors import PlannerError
from planner.printable import printable

MIB = 2**20
GIB = 2**30

_BYTES_PER_UNIT = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": MIB,
    "gib": GIB,
    "tib": 2**40,
}
_SIZE = re.compile(r"([0-9]+)(?:\.([0-9]+))?\s*([a-z]*)", re.ASCII)
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+", re.ASCII)
_MAX_BYTES = 2**60
_MAX_TEXT = 40
_LEAST_BARE_BYTES = 2**16  # below, somebody has left out GiB or MB
_LONG_TIMES = ((2 * 86_400, 86_400, "days"), (2 * 3_600, 3_600, "h"), (600, 60, "min"))
"""From how many seconds on a time is said in a unit, that unit in seconds, and its name."""


def parse_bytes(text: str | int, what: str = "size") -> int:
    """Bytes in a text such as ``8GiB``, ``24 GB`` or ``1610612736``; fractions are rounded down.

    Raises PlannerError, naming *what*, for anything else, negative or above one EiB, and for a number without a unit
    that can hardly be bytes.

    >>> parse_bytes("1.5GiB"), parse_bytes("24 GB"), parse_bytes("8589934592")
    (1610612736, 24000000000, 8589934592)
    """
    written = str(text).strip()
    match = _SIZE.fullmatch(written.lower()) if len(written) <= _MAX_TEXT else None
    unit = match and _BYTES_PER_UNIT.get(match[3])
    if not match or not unit:
        raise PlannerError(
            f"{what} {shorten(written)!r} is not a size: write a number and a unit, such as 8GiB, 24GB or 512MiB."
        )
    fraction = match[2] or ""
    if not match[3] and 0 < int(match[1]) < _LEAST_BARE_BYTES:
        raise PlannerError(
            f"{what} {written!r} has no unit, and is too small for bytes: write {written}GiB or {written}GB."
        )
    size: int = int(match[1] + fraction) * unit // 10 ** len(fraction)
    if size > _MAX_BYTES:
        raise PlannerError(f"{what} {written} is more than any machine has: the limit here is 1,048,576 TiB.")
    return size


def format_bytes(size: float, digits: int = 2) -> str:
    """A size as people read it, in whole bytes: GiB, or MiB below 0.1 GiB, or bytes below 0.1 MiB.

    >>> format_bytes(6_703_125_000), format_bytes(3_624_960), format_bytes(12_288)
    ('6.24 GiB', '3.46 MiB', '12,288 B')
    """
    size = round(size)
    magnitude = abs(size)
    if magnitude >= GIB // 10:
        return f"{_minus(size)}{magnitude / GIB:,.{digits}f} GiB"
    if magnitude >= MIB // 10:
        return f"{_minus(size)}{magnitude / MIB:,.{digits}f} MiB"
    return f"{_minus(size)}{magnitude:,} B"


def format_size(size: int) -> str:
    """The size of a card: whole GiB without decimals.

    >>> format_size(8 * GIB), format_size(25_382_879_232)
    ('8 GiB', '23.64 GiB')
    """
    return format_bytes(size, 0 if size % GIB == 0 else 2)


def format_rate(size: float) -> str:
    """Bytes per token in decimal units, as short as people compare them.

    >>> format_rate(131_072), format_rate(819_200), format_rate(1_024)
    ('131 kB', '819 kB', '1.02 kB')
    """
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            value = size / scale
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{size:.0f} B" if size == int(size) else f"{size:.3g} B"


def format_count(number: int) -> str:
    """A whole number with separators. ``format_count(65378)`` is ``65,378``."""
    return f"{_minus(number)}{abs(number):,}"


def format_parameters(number: int) -> str:
    """A parameter count in billions or millions, few of them in full.

    >>> format_parameters(8_030_261_248), format_parameters(494_032_768), format_parameters(141_120)
    ('8.03 B', '494 M', '141,120')
    """
    if number >= 10**9:
        return f"{number / 10**9:,.2f} B"
    return f"{number / 10**6:,.0f} M" if number >= 10**7 else format_count(number)


def format_seconds(seconds: float) -> str:
    """A time with three digits, whole seconds from a hundred on; a long one in minutes, hours or days.

    >>> format_seconds(0.0123), format_seconds(4.56), format_seconds(456.7)
    ('12.3 ms', '4.56 s', '457 s')
    >>> format_seconds(1_234), format_seconds(123_863), format_seconds(1_000_000)
    ('20.6 min', '34.4 h', '11.6 days')
    """
    if seconds < 1:
        return f"{1e3 * seconds:.3g} ms"
    for least, unit_s, unit in _LONG_TIMES:
        if seconds >= least:
            return f"{seconds / unit_s:.1f} {unit}" if seconds < 100 * unit_s else f"{seconds / unit_s:,.0f} {unit}"
    return f"{seconds:.2f} s" if seconds < 100 else f"{seconds:.0f} s"


def format_error(error: float) -> str:
    """How far off to both sides, from a share of 1: in percent, and beyond a doubling as a factor.

    >>> format_error(0.19), format_error(48.2)
    ('±19%', 'a factor of 49')
    """
    return f"±{error:.0%}" if error < 1 else f"a factor of {1 + error:,.0f}"


def format_figure(value: float) -> str:
    """A rate or a price as short as people compare them: two digits, whole from ten on.

    >>> format_figure(0.4321), format_figure(7.26), format_figure(43.2), format_figure(1_234.5)
    ('0.43', '7.3', '43', '1,234')
    """
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def format_pace(value: float) -> str:
    """Tokens a second with one decimal; few of them with two digits, for none at all is another answer.

    >>> format_pace(1_234.56), format_pace(0.0234), format_pace(0.0)
    ('1,234.6', '0.023', '0.0')
    """
    return f"{value:,.1f}" if value >= 0.95 or value == 0 else f"{value:.2g}"


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "request"), counted(1_200, "request")
    ('1 request', '1,200 requests')
    """
    return counted_words(f"{number:,}", noun)


def counted_words(figure: str, noun: str) -> str:
    """The same for a figure that is written already: what reads as one is one.

    >>> counted_words("1", "request"), counted_words("0.25", "request"), counted_words("2", "entry")
    ('1 request', '0.25 requests', '2 entries')
    """
    if figure == "1":
        return f"{figure} {noun}"
    return f"{figure} {noun[:-1]}ies" if noun.endswith("ry") else f"{figure} {noun}s"


def words_for_tokens(tokens: int) -> int:
    """About how many English words fit: 1,000 tokens are about 750 words, to two digits.

    >>> words_for_tokens(337), words_for_tokens(44_992)
    (250, 34000)
    """
    words = tokens * 3 // 4
    scale: int = 10 ** max(0, len(str(words)) - 2)
    return (words + scale // 2) // scale * scale


def ungrouped(text: str) -> str:
    """A whole number without the commas between its thousands; *text* itself where its commas are others.

    >>> ungrouped("131,072"), ungrouped("4,4"), ungrouped("4")
    ('131072', '4,4', '4')
    """
    return text.replace(",", "") if _GROUPED.fullmatch(text.strip()) else text


def shorten(text: str, limit: int = 60) -> str:
    """A user's own text, cut and without control characters, so that an error stays one readable line."""
    flat = printable(text)
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def shorten_path(path: PurePath, limit: int = 80) -> str:
    """A path cut at its beginning: the end says which file it is."""
    text = printable(str(path))
    return text if len(text) <= limit else f"…{text[1 - limit :]}"


def _minus(number: int) -> str:
    return "−" if number < 0 else ""
