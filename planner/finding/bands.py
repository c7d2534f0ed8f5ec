"""Classes for a table's cells: *loads* is not *fits*, and 337 tokens must not look like 65,378."""

from enum import IntEnum, StrEnum

from planner.budget import TIGHT_TOKENS
from planner.finding.table import TableRow
from planner.records import dataclass
from planner.units import format_bytes, format_count


class Show(StrEnum):
    """What a table's cells say: tokens left for one user, or users at the table's context."""

    TOKENS = "tokens"
    USERS = "users"


class Band(IntEnum):
    """A cell's class, from nothing to plenty."""

    OVER = 0
    TIGHT = 1
    LITTLE = 2
    SOME = 3
    MUCH = 4
    PLENTY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The least that each band from LITTLE on takes, and what the legend calls every band."""

    from_little: tuple[int, int, int, int]
    words: tuple[str, str, str, str, str, str]


SCALES = {
    Show.TOKENS: Scale(
        from_little=(TIGHT_TOKENS, 8_192, 32_768, 131_072),
        words=("✕ does not fit", "▲ loads, too short to use", "2k – 8k", "8k – 32k", "32k – 128k", "over 128k"),
    ),
    Show.USERS: Scale(
        from_little=(1, 4, 16, 64),
        words=("✕ does not fit", "▲ loads, not one user", "1 – 3", "4 – 15", "16 – 63", "64 or more"),
    ),
}
"""1k = 1,024 tokens."""


def band(cell: TableRow, show: Show) -> Band:
    """The class of *cell*; what memory does not limit is plenty."""
    if not cell.loads:
        return Band.OVER
    count = _count(cell, show)
    if count is None:
        return Band.PLENTY
    return Band(1 + sum(count >= least for least in SCALES[show].from_little))


def cell_text(cell: TableRow, show: Show = Show.TOKENS, digits: int = 2, over: str = " over") -> str:
    """``65,378``, ``▲ 337``, ``✕ 6.54 GiB over`` or ``any length``."""
    if not cell.loads:
        return f"✕ {format_bytes(cell.short_bytes, digits)}{over}"
    count = _count(cell, show)
    if count is None:
        return "any length" if show is Show.TOKENS else "any number"
    return ("▲ " if band(cell, show) is Band.TIGHT else "") + format_count(count)


def _count(cell: TableRow, show: Show) -> int | None:
    return cell.max_context_tokens if show is Show.TOKENS else cell.max_users
