import argparse
from pathlib import Path

from planner import export
from planner.cli_text import table_text
from planner.commands import DONE
from planner.commands.options import add_storage, choices_from, names
from planner.errors import PlannerError
from planner.table import TableRow, as_row, table
from planner.table_words import as_markdown

FORMATS = ("text", "json", "csv", "markdown", "xlsx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", required=True, type=names, help="names separated by commas")
    parser.add_argument("--memory", type=names, default=["8GiB", "16GiB", "24GiB"], help="sizes separated by commas")
    parser.add_argument("--weights", type=names, default=[None], help="formats separated by commas")
    add_storage(parser)
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--json", dest="format", action="store_const", const="json")
    parser.add_argument("--output", type=Path, help="write to this file instead of stdout")


def run(arguments: argparse.Namespace) -> int:
    base = choices_from(arguments, model="", memory=None, weights=None)
    content = _content(arguments.format, table(arguments.models, arguments.memory, arguments.weights, base))
    if arguments.output is not None:
        _write(content, arguments.output)
    elif isinstance(content, str):
        print(content, end="")
    else:
        raise PlannerError("An xlsx table needs a file: add --output table.xlsx.")
    return DONE


def _content(form: str, cells: tuple[TableRow, ...]) -> str | bytes:
    rows = [as_row(cell) for cell in cells]
    match form:
        case "json":
            return export.to_json(rows) + "\n"
        case "csv":
            return export.to_csv(rows)
        case "markdown":
            return as_markdown(cells)
        case "xlsx":
            return export.to_xlsx(rows, "KV Budget")
        case _:
            return table_text(cells) + "\n"


def _write(content: str | bytes, output: Path) -> None:
    try:
        output.write_bytes(content.encode() if isinstance(content, str) else content)
    except (OSError, ValueError) as error:
        raise PlannerError(f"{output} cannot be written: {getattr(error, 'strerror', None) or error}.") from error
