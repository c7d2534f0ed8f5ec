import argparse
import re
from collections.abc import Iterator, Sequence

from planner.commands import DONE
from planner.commands.options import add_json, print_rows
from planner.export import Row
from planner.listings import LISTINGS, setting_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    if parser.get_default("command") == "engines":
        parser.add_argument("name", nargs="?", help="list the settings of this engine, with their defaults by version")
    else:
        parser.add_argument("words", nargs="*", help="only the rows in which each word stands, such as: qwen3 apache")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    name, words = getattr(arguments, "name", None), getattr(arguments, "words", ())
    rows = LISTINGS[arguments.command]() if name is None else setting_rows(name)
    found = [row for row in rows if _has_all(row, words)]
    print_rows(found, arguments.json, "There is none with all of these words." if words else "There are none.")
    return DONE


def _has_all(row: Row, words: Sequence[str]) -> bool:
    """Whether each of *words* stands in *row*; a number is no part of a longer one, 8b none of 0.8b."""
    text = "\n".join(_texts(row)).lower()
    wanted = (("(?<![0-9.])" if word[:1].isdigit() else "") + re.escape(word.lower()) for word in words)
    return all(re.search(each, text) for each in wanted)


def _texts(row: Row) -> Iterator[str]:
    """What a row says of its subject; where that was read says nothing of it."""
    for key, value in row.items():
        if not key.endswith("source"):
            yield from map(str, value if isinstance(value, list) else [value])
