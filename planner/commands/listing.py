import argparse

from planner.commands import DONE
from planner.commands.options import add_json, print_rows
from planner.listings import LISTINGS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    print_rows(LISTINGS[arguments.command](), arguments.json, "There are none.")
    return DONE
