"""Arguments to functions, results to text or JSON. Exit 0: fits or done, 1: does not fit, 2: bad input.

``argparse`` and imports on use, since start-up time counts.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from planner.choices import QUANTIZE, Choices, choose, load_model
from planner.engines import ENGINES
from planner.errors import PlannerError

if TYPE_CHECKING:
    from planner.export import Row

DONE, DOES_NOT_FIT, BAD_INPUT = 0, 1, 2
TABLE_FORMATS = ("text", "json", "csv", "markdown", "xlsx")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence instead of the usage block."""
        raise PlannerError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        arguments = _parser().parse_args(argv)
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except PlannerError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader of our output has gone; what is still buffered has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="kvbudget", description="How much context, for how many users, on which card.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser, metavar="COMMAND")

    plan = commands.add_parser("plan", help="one model on one card: what fits, and every byte")
    plan.add_argument("--model", required=True, help="preset name or alias, config.json, or a directory with one")
    plan.add_argument("--device", help="a name from 'kvbudget devices'")
    plan.add_argument("--memory", help="one card's memory instead of a device, such as 8GiB")
    plan.add_argument("--device-count", type=_whole, help="default: tensor × pipeline parallel")
    plan.add_argument("--weights", help="a name from 'kvbudget formats'; default: as the checkpoint stores them")
    _add_storage(plan)
    plan.add_argument("--users", type=_whole, default=1, help="requests resident at once; default 1")
    plan.add_argument("--tensor-parallel", type=_whole)
    plan.add_argument("--pipeline-parallel", type=_whole)
    plan.add_argument("--json", action="store_true", help="one object on stdout and nothing else")
    plan.set_defaults(run=_plan)

    table = commands.add_parser("table", help="models × weight formats × memory sizes")
    table.add_argument("--models", required=True, type=_names, help="names separated by commas")
    table.add_argument("--memory", type=_names, default=["8GiB", "16GiB", "24GiB"], help="sizes separated by commas")
    table.add_argument("--weights", type=_names, default=[None], help="formats separated by commas")
    _add_storage(table)
    table.add_argument("--format", choices=TABLE_FORMATS, default="text")
    table.add_argument("--json", dest="format", action="store_const", const="json")
    table.add_argument("--output", type=Path, help="write to this file instead of stdout")
    table.set_defaults(run=_table)

    which = commands.add_parser("which", help="the devices that serve a model, or the models that a device runs")
    which.add_argument("--model", help="list the devices that do it, smallest first")
    which.add_argument("--device", help="list the models and formats that it runs, largest first")
    which.add_argument("--memory", help="the same for a size instead of a device, such as 8GiB")
    which.add_argument("--weights", type=_names, help="formats to try; default: as published, int8, int4-g128")
    _add_storage(which)
    which.add_argument("--users", type=_whole, default=1, help="requests resident at once; default 1")
    which.add_argument("--json", action="store_true")
    which.set_defaults(run=_which)

    inspect = commands.add_parser("inspect", help="a model layer by layer: kinds, growth, parameters by role")
    inspect.add_argument("model", help="preset name or alias, config.json, or a directory with one")
    inspect.add_argument(
        "--kv-cache", help="format of keys and values; default 16-bit unless the checkpoint says otherwise"
    )
    inspect.add_argument("--json", action="store_true")
    inspect.set_defaults(run=_inspect)

    for name, text in (
        ("models", "the model presets"),
        ("devices", "the cards with nominal and usable memory"),
        ("formats", "the number formats with bytes and elements of a block"),
        ("engines", "the engines whose rules are known"),
    ):
        listing = commands.add_parser(name, help=text)
        listing.add_argument("--json", action="store_true")
        listing.set_defaults(run=_list)

    check = commands.add_parser("check", help="validate every file in presets/")
    check.set_defaults(run=_check)
    return parser


def _add_storage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quantize", choices=QUANTIZE, help="which tensors take --weights; default linear")
    parser.add_argument(
        "--kv-cache", help="format of keys and values; default 16-bit unless the checkpoint says otherwise"
    )
    parser.add_argument("--kv-cache-k", help="format of the keys alone")
    parser.add_argument("--kv-cache-v", help="format of the values alone")
    parser.add_argument("--engine", default="minimum", help=f"one of: {', '.join(ENGINES)}")
    parser.add_argument("--context", type=_whole, help="tokens per request; default 8,192 or the model's limit")
    parser.add_argument("--overhead", help="everything else on the card as one stated size, such as 1.5GiB")


def _whole(text: str) -> int:
    digits = text.replace(",", "").replace("_", "")
    if len(digits) > 20 or not digits.isascii() or not digits.lstrip("-").isdigit():
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number")
    return int(digits)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("at least one name is needed")
    return names


def _choices(arguments: argparse.Namespace, **given: Any) -> Choices:
    names = {field.name for field in fields(Choices)}
    return Choices(**{name: value for name, value in vars(arguments).items() if name in names} | given)


def _plan(arguments: argparse.Namespace) -> int:
    from planner.answer import answer

    choices = _choices(arguments)
    chosen = choose(choices)
    result = answer(chosen.architecture, chosen.deployment, chosen.workload)
    if arguments.json:
        from planner.export import to_json

        print(to_json(result))
    else:
        from planner.cli_text import plan_text

        print(plan_text(choices, chosen.architecture, result))
    return DONE if result.fits else DOES_NOT_FIT


def _which(arguments: argparse.Namespace) -> int:
    from planner import which

    asked = arguments.model, arguments.device or arguments.memory
    if (asked[0] is None) == (asked[1] is None):
        raise PlannerError("Give --model to list devices, or --device or --memory to list models; one of the two.")
    weights = arguments.weights or which.WEIGHTS
    if arguments.model is not None:
        architecture = load_model(arguments.model)
        rows = [which.device_row(match) for match in which.devices_for(_choices(arguments), architecture, weights)]
    else:
        rows = [which.model_row(match) for match in which.models_for(_choices(arguments, model=""), weights)]
    _print_rows(rows, arguments.json, "Nothing in the presets does this; ask for less context or fewer users.")
    return DONE if rows else DOES_NOT_FIT


def _print_rows(rows: "Sequence[Row]", as_json: bool, nothing: str) -> None:
    if as_json:
        from planner.export import to_json

        print(to_json(rows))
    else:
        from planner.cli_text import listing_text

        print(listing_text(rows) if rows else nothing)


def _inspect(arguments: argparse.Namespace) -> int:
    from planner.choices import choose_cache
    from planner.inspection import inspect_model

    architecture = load_model(arguments.model)
    cache_format = choose_cache(arguments.kv_cache, architecture)
    found = inspect_model(architecture, cache_format, cache_format)
    if arguments.json:
        from planner.export import to_json

        print(to_json(found))
    else:
        from planner.cli_text import inspection_text

        print(inspection_text(found))
    return DONE


def _table(arguments: argparse.Namespace) -> int:
    from planner import export
    from planner.cli_text import table_text
    from planner.table import as_row, table

    base = _choices(arguments, model="", memory=None, weights=None)
    cells = table(arguments.models, arguments.memory, arguments.weights, base)
    rows = [as_row(cell) for cell in cells]
    match arguments.format:
        case "json":
            content: str | bytes = export.to_json(rows) + "\n"
        case "csv":
            content = export.to_csv(rows)
        case "markdown":
            content = export.to_markdown(rows)
        case "xlsx":
            content = export.to_xlsx(rows, "KV Budget")
        case _:
            content = table_text(cells) + "\n"
    _write(content, arguments.output)
    return DONE


def _write(content: str | bytes, output: Path | None) -> None:
    if output is not None:
        try:
            output.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise PlannerError(f"{output} cannot be written: {error.strerror or error}.") from error
    elif isinstance(content, str):
        print(content, end="")
    else:
        raise PlannerError("An xlsx table needs a file: add --output table.xlsx.")


def _list(arguments: argparse.Namespace) -> int:
    from planner.listings import LISTINGS

    _print_rows(LISTINGS[arguments.command](), arguments.json, "There are none.")
    return DONE


def _check(arguments: argparse.Namespace) -> int:
    from planner.check import check_presets

    for line in check_presets():
        print(line)
    return DONE
