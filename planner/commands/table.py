import argparse
from pathlib import Path

from planner.commands import DONE
from planner.commands.exports import add_format, rows_as, write
from planner.commands.given import Unused
from planner.commands.options import (
    add_storage,
    choices_from,
    names,
    unused_host_memory,
    unused_quantize,
    unused_storage,
)
from planner.finding.table import TableRow, as_row, table
from planner.text.plan import table_text
from planner.text.table import as_markdown


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", required=True, type=names, help="names separated by commas")
    parser.add_argument("--memory", type=names, default=["8GiB", "16GiB", "24GiB"], help="sizes separated by commas")
    parser.add_argument("--weights", type=names, default=[None], help="formats separated by commas")
    add_storage(parser)
    add_format(parser)
    parser.add_argument("--output", type=Path, help="write to this file instead of stdout")


def unused(arguments: argparse.Namespace) -> Unused:
    """What has no effect beside what was given."""
    yield from unused_storage(arguments)
    yield from unused_quantize(arguments)
    yield from unused_host_memory(arguments)


def run(arguments: argparse.Namespace) -> int:
    base = choices_from(arguments, model="", memory=None, weights=None)
    content = _content(arguments.format, table(arguments.models, arguments.memory, arguments.weights, base))
    write(content, arguments.output, "--output")
    return DONE


def _content(form: str, cells: tuple[TableRow, ...]) -> str | bytes:
    match form:
        case "markdown":
            return as_markdown(cells)
        case "text":
            return table_text(cells) + "\n"
        case _:
            return rows_as(form, [as_row(cell) for cell in cells], "")
