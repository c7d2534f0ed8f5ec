"""Tables out of a command: on a terminal, as JSON, CSV, Markdown or a workbook, to stdout or into a file."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from planner import export
from planner.errors import PlannerError
from planner.export import Row

FORMATS = ("text", "json", "csv", "markdown", "xlsx")


def add_format(parser: argparse.ArgumentParser) -> None:
    """``--format`` and its short form ``--json``."""
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--json", dest="format", action="store_const", const="json")


def rows_as(form: str, rows: Sequence[Row], nothing: str) -> str | bytes:
    """*rows* in this format; *nothing* on a terminal when there are none."""
    match form:
        case "json":
            return export.to_json(rows) + "\n"
        case "csv":
            return export.to_csv(rows)
        case "markdown":
            return export.to_markdown(rows)
        case "xlsx":
            return export.to_xlsx(rows, "KV Budget")
        case _:
            from planner.text.plan import listing_text

            return (listing_text(rows) if rows else nothing) + "\n"


def write(content: str | bytes, file: Path | None, option: str) -> None:
    """To *file*, or to stdout where none was named with *option*."""
    if file is not None:
        try:
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        except (OSError, ValueError) as error:
            raise PlannerError(f"{file} cannot be written: {getattr(error, 'strerror', None) or error}.") from error
    elif isinstance(content, str):
        print(content, end="")
    else:
        raise PlannerError(f"An xlsx table needs a file: add {option} table.xlsx.")
