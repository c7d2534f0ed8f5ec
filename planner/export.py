"""Rows to CSV, Markdown, JSON and, through a library imported on use, XLSX."""

import io
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

Row = Mapping[str, Any]


def to_json(value: Any) -> str:
    """Indented JSON of dataclasses, mappings, rows; units are in the keys."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=_plain)


def to_csv(rows: Sequence[Row]) -> str:
    """CSV with a header line; ``None`` is an empty field."""
    import csv

    stream = io.StringIO()
    if rows:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return stream.getvalue()


def to_markdown(rows: Sequence[Row], right: Collection[str] = ()) -> str:
    """A pipe table; numbers and the columns named in *right* to the right."""
    if not rows:
        return ""
    header = list(rows[0])
    rule = ["---:" if key in right or isinstance(rows[0][key], int | float) else "---" for key in header]
    lines = [[_escape(key) for key in header], rule, *([_escape(row[key]) for key in header] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def to_xlsx(rows: Sequence[Row], title: str) -> bytes:
    """A workbook with one sheet: bold header, numbers as numbers."""
    from openpyxl import Workbook
    from openpyxl.styles import Font

    book = Workbook()
    sheet = book.active
    sheet.title = title[:31]
    if rows:
        sheet.append(list(rows[0]))
        for cell in sheet[1]:
            cell.font = Font(bold=True)
        for row in rows:
            sheet.append([_cell(value) for value in row.values()])
        sheet.freeze_panes = "A2"
        for column, key in zip(sheet.columns, rows[0], strict=True):
            sheet.column_dimensions[column[0].column_letter].width = max(12, len(key) + 2)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula is kept as text."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def _escape(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
