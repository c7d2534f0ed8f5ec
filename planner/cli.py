"""Finds the command, hands it its arguments, and turns a PlannerError into one sentence and exit code 2.

Start-up time counts: only the called command is imported, and only its parser is built.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from planner.commands import BAD_INPUT, COMMANDS, DONE
from planner.errors import PlannerError
from planner.printable import printable
from planner.units import shorten

DESCRIPTION = "How much context, for how many users, on which card."
HELP_WIDTH = 100
EXIT_CODES = "Exit code 0: it fits, or done; 1: it does not fit; 2: bad input."


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence instead of the usage block."""
        raise PlannerError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


class _Help(argparse.HelpFormatter):
    """A fixed width: asking the terminal for its own imports much that a plan does not need."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=HELP_WIDTH)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    collects = gc.isenabled()
    gc.disable()  # a command is over before rounds of collection would pay: they are a twentieth of its start
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    finally:
        if collects:
            gc.enable()


def _main(words: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        if sys.stdout is None:
            raise PlannerError("There is nowhere to write to: standard output is closed.")
        code = _run(words)
        sys.stdout.flush()
    except PlannerError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        _drop_output()
        return DONE
    except OSError as error:
        _drop_output()
        what = (
            "What was found cannot be written"
            if error.filename is None
            else f"{printable(str(error.filename))} cannot be used"
        )
        print(f"{what}: {error.strerror or error}.", file=sys.stderr)
        return BAD_INPUT
    return code


def _drop_output() -> None:
    """The reader of our output has gone or its disk is full; what is still buffered has nowhere to go either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return DONE if words else BAD_INPUT
    name, *rest = words
    if name not in COMMANDS:
        raise PlannerError(f"Command {shorten(name)!r} is not known; choose one of: {', '.join(COMMANDS)}.")
    path, text = COMMANDS[name]
    command = import_module(path)
    parser = _Parser(prog=f"kvbudget {name}", description=f"{text[0].upper()}{text[1:]}.", formatter_class=_Help)
    parser.set_defaults(command=name)
    command.add_arguments(parser)
    words = _joined(rest)
    arguments = parser.parse_args(words)
    if hasattr(command, "unused"):
        from planner.commands.given import refuse_unused, typed

        refuse_unused(typed(parser, words), command.unused(arguments))
    code: int = command.run(arguments)
    return code


def _joined(words: list[str]) -> list[str]:
    """*words* with each negative number joined to its option, for the parser would take it for an option of its own.

    A path in the home folder is written out: behind an equals sign, or between quotes, a shell leaves its tilde.
    Raises PlannerError for an option with nothing behind its equals sign.
    """
    joined: list[str] = []
    for word in words:
        option, equals, value = word.partition("=")
        if option.startswith("--") and value.startswith("~/"):
            word = f"{option}={os.path.expanduser(value)}"
        elif word.startswith("~/"):
            word = os.path.expanduser(word)
        if option.startswith("--") and equals and value.strip() in ("", "--"):
            raise PlannerError(f"{shorten(option)} has no value: give one, or leave the option out.")
        if joined and joined[-1].startswith("--") and "=" not in joined[-1] and word[:1] == "-" and word[1:2].isdigit():
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {text}" for name, (_, text) in COMMANDS.items()]
    options = "kvbudget COMMAND --help lists its options."
    return "\n".join(["usage: kvbudget COMMAND …", "", DESCRIPTION, "", *lines, "", options, EXIT_CODES])
