"""Rows as columns of text: readings to the byte, never rounded to a unit."""

from collections.abc import Sequence
from typing import Any

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
    body = [[_cell(row.get(key)) for key in keys] for row in rows]
    widths = [max(len(line[column]) for line in [keys, *body]) for column in range(len(keys))]
    right = [isinstance(rows[0][key], int | float) for key in keys]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in [keys, *body]
    )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text if len(text) <= _TEXT_WIDTH else text[: _TEXT_WIDTH - 1] + "…"
