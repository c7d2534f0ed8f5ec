"""Arguments to functions, results to text or JSON. Exit 0: fits or done, 1: does not fit, 2: bad input."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import NoReturn

from planner.errors import PlannerError
from planner.units import shorten

FITS, DOES_NOT_FIT, BAD_INPUT = 0, 1, 2


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence on stderr instead of the usage block."""
        raise PlannerError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")
