"""A TOML file of many tables, cut at its headers: a plan names one device and one model, and parses only those.

Parsing a file whole costs more than planning does. Cut and whole give the same tables; the tests compare them.
"""

import re
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.errors import BadPreset

_HEADER = re.compile(r'^\[(?:"([^"\n]+)"|([A-Za-z0-9_-]+))[.\]]', re.MULTILINE)


class TomlTables:
    """The top-level tables of the file at *path*, each parsed when asked for. *shown* is its name in complaints."""

    def __init__(self, path: Path, shown: str) -> None:
        self.shown = shown
        try:
            self._text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise BadPreset(f"presets/{shown} cannot be read: {error}.") from error

    @cached_property
    def _texts(self) -> dict[str, str]:
        return _cut(self._text)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __contains__(self, key: str) -> bool:
        return key in self._text and key in self._texts  # a file that does not have the name is not cut up

    def parse(self, key: str) -> Any:
        """The table called *key*; raises BadPreset naming the file."""
        try:
            return tomllib.loads(self._texts[key])[key]
        except tomllib.TOMLDecodeError as error:
            raise BadPreset(f"presets/{self.shown} cannot be read: {key}: {error}.") from error

    def mentioning(self, name: str) -> Iterator[str]:
        """Keys of the tables called *name*, or with *name* between quotes somewhere; both in lower case."""
        if name not in self._text.lower():
            return iter(())
        quoted = f'"{name}"'
        return (key for key, text in self._texts.items() if key.lower() == name or quoted in text.lower())

    def containing(self, words: str) -> Iterator[str]:
        """Keys of the tables with *words*, in lower case, somewhere."""
        if words not in self._text.lower():
            return iter(())
        return (key for key, text in self._texts.items() if words in text.lower())


def _cut(text: str) -> dict[str, str]:
    """Each first-level key with the text of all its headers; what stands before the first header is a comment."""
    parts: dict[str, list[str]] = {}
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    for header, end in zip(headers, ends, strict=True):
        parts.setdefault(header[1] or header[2], []).append(text[header.start() : end])
    return {key: "".join(texts) for key, texts in parts.items()}
