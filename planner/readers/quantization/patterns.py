"""Globs and regular expressions from a file, rewritten into a subset that matches in time linear in the name.

Files choose modules by patterns, and a pattern from a file may be hostile. What quantisers write is simple: literal
text, ``.*``, single characters, classes and groups of alternatives. That is parsed here and everything else is refused.
What stands between two wildcards becomes an atomic group: found at its first place or not at all, so that nothing
backtracks far.
"""

import re

from planner.errors import UnsupportedModel
from planner.units import shorten

_DEEPEST = 4
_MOST_REPEATS = 2
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_WILD = {"*": "", "+": "."}


def glob_source(pattern: str) -> str:
    """Python's regular expression for a shell *pattern* that names a module or one that contains it.

    >>> glob_source("layers.*.mlp"), glob_source("mtp*")
    ('layers\\\\..*\\\\.mlp(?:\\\\.|$)', 'mtp.*')
    """
    pieces, position = [""], 0
    while position < len(pattern):
        character = pattern[position]
        if character == "*":
            pieces.append("")
        elif character == "?":
            pieces[-1] += "."
        elif character == "[":
            source, position = _character_class(pattern, position)
            pieces[-1] += source
            continue
        else:
            pieces[-1] += re.escape(character)
        position += 1
    if pieces[-1]:
        pieces[-1] += r"(?:\.|$)"
    return _join(pieces[0], [("", piece) for piece in pieces[1:]])


def regex_source(pattern: str) -> str:
    """Python's regular expression for *pattern*, to be matched from the start of a name; raises UnsupportedModel.

    >>> regex_source(r".*mlp\\.(gate|up)_proj.*")
    '(?>.*?mlp\\\\.(?:gate|up)_proj).*'
    """
    parser = _Parser(pattern)
    source = parser.alternatives(0)
    if parser.position < len(pattern):
        raise _refused(pattern)
    return source


class _Parser:
    """Recursive descent over one regular expression. Wildcards are allowed outside groups only."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.repeats = 0

    def alternatives(self, depth: int) -> str:
        if depth > _DEEPEST:
            raise _refused(self.pattern)
        found = [self._sequence(depth)]
        while self._take("|"):
            found.append(self._sequence(depth))
        return "|".join(found)

    def _sequence(self, depth: int) -> str:
        if self.position == 0:
            self._take("^")
        first, rest = "", list[tuple[str, str]]()
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            wild = self._wildcard(depth)
            if wild is not None:
                rest.append((wild, ""))
            elif rest:
                rest[-1] = (rest[-1][0], rest[-1][1] + self._atom(depth))
            else:
                first += self._atom(depth)
        return _join(first, rest)

    def _wildcard(self, depth: int) -> str | None:
        pattern, start = self.pattern, self.position
        if pattern[start] != "." or pattern[start + 1 : start + 2] not in ("*", "+"):
            return None
        if depth:
            raise _refused(pattern)
        self.position += 2
        self._take("?")
        return _WILD[pattern[start + 1]]

    def _atom(self, depth: int) -> str:
        character = self.pattern[self.position]
        if character == "(":
            return self._group(depth)
        if character == "[":
            source, self.position = _character_class(self.pattern, self.position)
        elif character == "\\":
            source = self._escape()
        elif character in "^*+?{}":
            raise _refused(self.pattern)
        else:
            self.position += 1
            source = character if character in ".$" else re.escape(character)
        if source == "$" and self.pattern[self.position : self.position + 1] not in ("", "|", ")"):
            raise _refused(self.pattern)
        return source + self._repeat(source)

    def _group(self, depth: int) -> str:
        self.position += 1
        if self._take("?") and not self._take(":"):
            raise _refused(self.pattern)
        source = self.alternatives(depth + 1)
        if not self._take(")"):
            raise _refused(self.pattern)
        optional = "?" if self._take("?") else ""
        if self.pattern[self.position : self.position + 1] in ("*", "+", "{", "?"):
            raise _refused(self.pattern)
        return f"(?:{source}){optional}"

    def _escape(self) -> str:
        escaped = self.pattern[self.position + 1 : self.position + 2]
        self.position += 2
        if escaped in _CLASSES:
            return f"[{_CLASSES[escaped]}]"
        if not escaped or escaped.isalnum():
            raise _refused(self.pattern)
        return re.escape(escaped)

    def _repeat(self, source: str) -> str:
        for sign in "?+*":
            if self._take(sign):
                self.repeats += 1
                self._take("?")
                # A repeated atom stays within one part of a name, where there is little to backtrack over.
                crosses = sign != "?" and re.fullmatch(source, ".") is not None
                if (
                    crosses
                    or self.repeats > _MOST_REPEATS
                    or self.pattern[self.position : self.position + 1] in ("*", "+", "?")
                ):
                    raise _refused(self.pattern)
                return sign
        if self.pattern[self.position : self.position + 1] == "{":
            raise _refused(self.pattern)
        return ""

    def _take(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.position)
        self.position += len(text) if found else 0
        return found


def _character_class(pattern: str, start: int) -> tuple[str, int]:
    """The class that opens at *start*, and the position after it: letters, digits, ``_ . -`` and ranges."""
    end = pattern.find("]", start + 2)
    inside = pattern[start + 1 : end] if end > 0 else ""
    negated = inside[:1] in ("^", "!")
    members = inside[1:] if negated else inside
    for name, source in _CLASSES.items():
        members = members.replace(f"\\{name}", source)
    members = members.replace("\\.", ".").replace("\\-", "-")
    if not members or not all(member.isascii() and (member.isalnum() or member in "_.-") for member in members):
        raise _refused(pattern)
    # Names are matched one a line, so that a negated class must not run over the end of one.
    source = f"[^{members}\\n]" if negated else f"[{members}]"
    try:
        re.compile(source)
    except re.error:
        raise _refused(pattern) from None
    return source, end + 1


def _join(first: str, rest: list[tuple[str, str]]) -> str:
    source = first
    for position, (least, piece) in enumerate(rest):
        last = position == len(rest) - 1
        source += f".*{least}{piece}" if last else f"(?>{least}.*?{piece})"
    return source


def _refused(pattern: str) -> UnsupportedModel:
    return UnsupportedModel(f"The module pattern {shorten(pattern)!r} is not of a kind that is understood.")
