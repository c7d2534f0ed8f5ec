"""A log as numbered lines of plain text, read piece by piece: it may be huge, coloured or hostile."""

import codecs
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from planner.errors import BadFile
from planner.units import shorten_path

MAX_LINE_CHARACTERS = 16_384
"""A longer line is read in pieces: the longest real ones, engines' whole configurations, have about half of that."""
MAX_CHARACTERS = 2**28
"""What follows is not read: the memory lines come when an engine starts."""

_HEAD_BYTES, _MAX_ZEROS = 4_096, 8
"""More zeros at the beginning than a terminal leaves in a text: weights, a picture, a program."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))")
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
            head = file.read(4)
        return path.open(encoding=_encoding(head), errors="replace", newline="\n")
    except OSError as error:
        raise BadFile(f"{shorten_path(path)} cannot be read: {error.strerror or error}.") from error


def _encoding(head: bytes) -> str:
    return next((name for mark, name in _BYTE_ORDER_MARKS.items() if head.startswith(mark)), "utf-8")


def numbered_lines(stream: IO[str]) -> Iterator[tuple[int, str]]:
    """Each line with its number, from 1, without colours and line ends.

    A carriage return inside a line (progress bars) begins a new one with the same number.
    """
    number, read = 1, 0
    while read < MAX_CHARACTERS and (piece := stream.readline(MAX_LINE_CHARACTERS)):
        read += len(piece)
        for part in piece.split("\r"):
            if part and part != "\n":
                yield number, _ESCAPE.sub("", part).rstrip("\n") if "\x1b" in part else part.rstrip("\n")
        number += piece.endswith("\n")
