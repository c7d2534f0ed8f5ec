"""A line as the engine wrote it: without what terminals, web pages and log collectors put around it."""

import html
import json
import re
from collections.abc import Iterator

# A colour as a terminal gets it, and what is left of it where the escape character was lost or written out.
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,256}(?:\x07|\x1b\\))"
    r"|(?:\^\[|\\u001b|\\x1b|\\033|#033|␛|�)?\[(?:\d{1,3}(?:;\d{1,3}){0,4})?m"
)
_TAG = re.compile(r"</?(?:a|b|code|em|i|mark|small|span|strong|td|tt|u)\b[^<>]{0,300}>", re.IGNORECASE)
_BREAK = re.compile(r"</?(?:br|div|li|p|pre|tr)\b[^<>]{0,300}>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z]{2,8});")
_SPACES = str.maketrans(dict.fromkeys("\xa0\u2007\u2009\u202f", " "))
_RECORD = re.compile(r"\{\s{0,4}\"")
_MAX_BEFORE_RECORD = 200
"""What a collector writes before a record: a container's name and a time."""


def plain_lines(line: str) -> Iterator[str]:
    """The lines in *line*: several where a record holds a whole message, none for a record without text."""
    # A colour is given back at the end of what is coloured.
    if "\x1b" in line or "[0m" in line or "[m" in line:
        line = _ESCAPE.sub("", line)
    if "<" in line:
        line, *rest = _BREAK.split(_TAG.sub("", line))
        if rest:
            for each in (line, *rest):
                yield from plain_lines(each)
            return
    if "&" in line:
        line = _ENTITY.sub(lambda found: html.unescape(found[0]), line)
    if not line.isascii():
        line = line.translate(_SPACES)
    if '"' in line and (record := _RECORD.search(line, 0, _MAX_BEFORE_RECORD)):
        yield from _record_lines(line, record.start())
    else:
        yield line


def _record_lines(line: str, start: int) -> Iterator[str]:
    """The text of a JSON record. One that is cut, or is no record, is only freed of its escapes."""
    try:
        found = json.loads(line[start:])
    except (ValueError, RecursionError):
        freed = line.replace('\\"', '"').replace("\\/", "/")
        yield from freed.split("\\n") if "\\n" in freed and freed[start + 1 : start + 2] == '"' else (freed,)
        return
    texts = [text for text in found.values() if isinstance(text, str)] if isinstance(found, dict) else []
    if texts:
        for part in max(texts, key=len).splitlines():
            yield from plain_lines(part) if _ESCAPE.search(part) else (part,)
    if not texts or max(map(len, texts)) < len(line) // 4:
        yield line
