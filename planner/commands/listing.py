import argparse

from planner.commands import DONE
from planner.commands.options import add_json, print_rows
from planner.listings import LISTINGS, setting_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    if parser.get_default("command") == "engines":
        parser.add_argument("name", nargs="?", help="list the settings of this engine, with their defaults by version")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    name = getattr(arguments, "name", None)
    rows = LISTINGS[arguments.command]() if name is None else setting_rows(name)
    print_rows(rows, arguments.json, "There are none.")
    return DONE
