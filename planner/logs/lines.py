"""A log as numbered lines of plain text, read piece by piece: it may be huge, coloured or hostile."""

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from planner.errors import BadFile
from planner.logs.plain import plain_lines
from planner.units import shorten_path

MAX_LINE_CHARACTERS = 16_384
"""A longer line is read in pieces: the longest real ones, engines' whole configurations, have about half of that."""
MAX_CHARACTERS = 2**28
"""What follows is not read: the memory lines come when an engine starts."""

_HEAD_BYTES, _MAX_ZEROS = 4_096, 8
"""More zeros at the beginning than a terminal leaves in a text: weights, a picture, a program."""
_MAX_COMMAND_CHARACTERS = 4_096
_CONTINUES = ("\\", "^", "`")
_CONTINUED = re.compile(r"\s(?:\\|(?<=[\w\"'/.] )[\^`])\s{0,8}$")
"""A command that goes on in the next line, in the shells of Linux and Windows."""
_BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16", codecs.BOM_UTF8: "utf-8-sig"}


def text_stream(text: str) -> IO[str]:
    """A pasted log, to be read as a file would be."""
    return io.StringIO(text, newline="\n")


def bytes_stream(data: bytes) -> IO[str]:
    """The content of a log file, to be read as the file would be. Raises BadFile for what is no text."""
    if _encoding(data) == "utf-8" and data[:_HEAD_BYTES].count(0) > _MAX_ZEROS:
        raise BadFile("The file is no text: give what the engine printed when it started.")
    return io.TextIOWrapper(io.BytesIO(data), encoding=_encoding(data), errors="replace", newline="\n")


def open_log(path: Path) -> IO[str]:
    """A log file, UTF-8 unless it begins with another mark (PowerShell writes UTF-16); bad bytes become "�"."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        return path.open(encoding=_encoding(head), errors="replace", newline="\n")
    except OSError as error:
        raise BadFile(f"{shorten_path(path)} cannot be read: {error.strerror or error}.") from error


def _encoding(head: bytes) -> str:
    """By its mark; without one, of a text with a zero at every second place UTF-16."""
    marked = next((name for mark, name in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)
    if marked is not None:
        return marked
    for name, odd in (("utf-16-le", 1), ("utf-16-be", 0)):
        halves = head[odd:_HEAD_BYTES:2], head[1 - odd : _HEAD_BYTES : 2]
        if len(halves[0]) > 1 and not any(halves[0]) and all(halves[1]):
            return name
    return "utf-8"


def numbered_lines(stream: IO[str]) -> Iterator[tuple[int, str]]:
    """Each line with its number, from 1, as the engine wrote it; a command over several lines as one.

    A carriage return inside a line (progress bars) begins a new one with the same number.
    """
    command, first = "", 0
    for number, piece in _pieces(stream):
        for part in piece.rstrip("\n").split("\r"):
            for line in plain_lines(part) if part else ():
                going_on = _CONTINUED.search(line) if line.rstrip().endswith(_CONTINUES) else None
                if going_on and len(command) + len(line) < _MAX_COMMAND_CHARACTERS:
                    command, first = f"{command}{line[: going_on.start()]} ", first or number
                    continue
                yield (first or number), f"{command}{line.lstrip()}"[:MAX_LINE_CHARACTERS] if command else line
                command, first = "", 0
    if command:
        yield first, command


def _pieces(stream: IO[str]) -> Iterator[tuple[int, str]]:
    """Each line, or each bounded piece of one that is longer, with the line's number."""
    number, read = 1, 0
    while read < MAX_CHARACTERS and (piece := stream.readline(MAX_LINE_CHARACTERS)):
        read += len(piece)
        yield number, piece
        number += piece.endswith("\n")
