import argparse

from planner.check import check_presets
from planner.commands import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None: every file is checked."""


def run(arguments: argparse.Namespace) -> int:
    for line in check_presets():
        print(line)
    return DONE
