"""Rows as columns of text and as Markdown: readings to the byte, never rounded to a unit, shares to four digits."""

from collections.abc import Sequence
from typing import Any

from planner.export import to_markdown

_TEXT_WIDTH = 40


def text_table(rows: Sequence[dict[str, Any]]) -> str:
    """Columns in the order of the first row's keys, numbers to the right; no rows: a word that says so.

    >>> print(text_table([{"tokens": 8192, "share": 0.25, "model": "A"}]))
    tokens  share  model
     8,192   0.25  A
    """
    if not rows:
        return "no readings"
    keys = list(rows[0])
    body = [[_short(_cell(row.get(key))) for key in keys] for row in rows]
    widths = [max(len(line[column]) for line in [keys, *body]) for column in range(len(keys))]
    right = [isinstance(rows[0][key], int | float) for key in keys]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [keys, *body]
    )


def markdown_table(rows: Sequence[dict[str, Any]]) -> str:
    """The same as a pipe table, without the columns that are empty in every row.

    >>> print(markdown_table([{"tokens": 8192, "free_bytes": None, "share": 0.123456}]).splitlines()[-1])
    | 8,192 | 0.1235 |
    """
    keys = [key for key in rows[0] if any(row.get(key) not in (None, "") for row in rows)] if rows else []
    numbers = {key for key in keys if any(isinstance(row.get(key), int | float) for row in rows)}
    return to_markdown([{key: _cell(row.get(key)) for key in keys} for row in rows], numbers)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _short(text: str) -> str:
    return text if len(text) <= _TEXT_WIDTH else text[: _TEXT_WIDTH - 1] + "…"
