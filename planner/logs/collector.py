"""From lines to starts: which engine speaks, where a start begins, and lines that a terminal broke in two."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from typing import IO

from planner.logs.draft import Draft
from planner.logs.lines import numbered_lines
from planner.logs.patterns import Format, Pattern, readings_in, settings_in
from planner.logs.readings import Reading, Readings, Start

MAX_STARTS = 1_000
MAX_READINGS = 10_000
"""Of one start; eight devices of the longest known log print fewer than 200."""
_MESSAGE_CHARACTERS, _PREFIX_CHARACTERS, _WINDOW_CHARACTERS, _WORD_CHARACTERS = 400, 200, 1_200, 64
_MAX_PIECES = 16
"""How much of the lines before may belong to a broken one: the longest known line is about 600 long."""
_MAX_BROKEN = 10_000
"""Lines that are taken for the rest of another: a terminal breaks what is pasted from it, and no paste is longer."""
_KEPT_LINES = 256
"""Lines that are not looked at again where they come again, as those of a traceback do."""
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BROKEN = re.compile(r"\w+\n\w+", re.ASCII)
# A line that begins so is one of its own, not the rest of another.
_OWN_LINE = re.compile(
    r"\s{0,8}(?:\x1b|\(\w{1,40} pid=|\[|\d{4}[-/]\d\d|\d\d[-:]\d\d|INFO|WARN|ERROR|DEBUG|"
    r"time=|llama_|llm_|print_info|load_tensors)"
)
_Found = tuple[Pattern, Format, re.Match[str]]
Finish = Mapping[str, Callable[[Iterable[Reading]], tuple[Reading, ...]]]


def collect(stream: IO[str], formats: Sequence[Format], finish: Finish) -> Readings:
    """Every start in *stream*; starts that print nothing about memory are left out."""
    collector = _Collector(formats)
    number = 0
    for number, line in numbered_lines(stream):
        collector.feed(number, line)
    starts = tuple(
        Start(
            engine=draft.engine,
            line=draft.line,
            version=draft.version,
            last=draft.last,
            day=draft.day,
            sources=tuple(draft.sources),
            model=draft.model,
            settings=draft.settings,
            readings=finish.get(draft.engine, tuple)(draft.readings),
            failure=draft.failure,
        )
        for draft in _with_memory(collector.drafts)
    )
    return Readings(starts=starts, lines=number, cut=bool(stream.read(1)))


def _with_memory(drafts: Iterable[Draft]) -> list[Draft]:
    """Those that print something about memory. What only names itself is the one before it, pasted out of order."""
    kept: list[Draft] = []
    for draft in drafts:
        if draft.readings or draft.failure:
            kept.append(draft)
        elif kept and kept[-1].engine == draft.engine:
            kept[-1].learn(draft.version, draft.model, {}, is_weak=True)
    return kept


def _broken_words(before: str, line: str) -> list[str]:
    """What a line's end and the next one's beginning are together; nothing where a word ends between them."""
    both = f"{before[-_WORD_CHARACTERS:]}\n{line[:_WORD_CHARACTERS]}"
    found = _BROKEN.search(both)
    return _WORD.findall(found[0].replace("\n", "")) if found else []


class _Collector:
    def __init__(self, formats: Sequence[Format]) -> None:
        self._by_word: dict[str, list[tuple[Pattern, Format]]] = {}
        for of in formats:
            for found in of.patterns:
                self._by_word.setdefault(found.word, []).append((found, of))
        self._engines = {of.engine for of in formats}
        self._speaks = {word: of.engine for of in formats for word in of.words}
        self._look = lru_cache(maxsize=_KEPT_LINES)(self._look_at)
        self._known = frozenset(self._by_word) | frozenset(self._speaks)
        self._speaking = ""
        self._tried = 0
        self._ahead: tuple[Format, Draft] | None = None
        self._before: deque[tuple[str, frozenset[str]]] = deque(maxlen=_MAX_PIECES)
        self.drafts: list[Draft] = []

    def feed(self, number: int, line: str) -> None:
        """Takes what *line* says, and what it completes of the lines before it."""
        words, speaking, matches = self._look(line)
        self._speaking = speaking or self._speaking
        if _OWN_LINE.match(line):
            self._before.clear()
        for found, of, match in matches:
            self._take(found, of, match, number)
        if self._before and self._tried < _MAX_BROKEN:
            self._tried += 1
            self._complete(line, words, number)
        if line.strip():
            self._before.append((line, words))

    def _look_at(self, line: str) -> tuple[frozenset[str], str, Sequence[_Found]]:
        """The words of *line* that are known, whose engine they show to speak, and every format in it."""
        every = self._known.intersection(_WORD.findall(line))
        words, heard = every & self._by_word.keys(), every & self._speaks.keys()
        return words, self._speaks[min(heard)] if heard else "", self._matches(line, words) if words else ()

    def _complete(self, line: str, words: Set[str], number: int) -> None:
        """What *line* is the end of. A terminal cuts anywhere, a mail program between words."""
        pieces = [text for text, _ in self._before]
        taken = set()
        wanted = frozenset[str]().union(words, *(found for _, found in self._before))
        wanted |= self._by_word.keys() & set(_broken_words(pieces[-1], line))
        if not wanted:
            return
        for glue, rest in (("", line), (" ", line.lstrip())):
            rest = rest[:_WINDOW_CHARACTERS]
            before = glue.join(map(str.strip, pieces) if glue else pieces)
            head = before[-_WINDOW_CHARACTERS:] + glue
            for found, of, match in self._matches(head + rest, wanted):
                is_across = match.start() < len(head) < match.end()
                if is_across and id(found) not in taken and not found.regex.match(head, match.start()):
                    self._take(found, of, match, number)
                    taken.add(id(found))

    def _matches(self, text: str, words: Iterable[str]) -> list[_Found]:
        """Everything in *text* that has one of *words*, in the order in which it stands there."""
        found = [
            (found, of, match)
            for word in words
            for found, of in self._by_word[word]
            for match in found.regex.finditer(text)
        ]
        return sorted(found, key=lambda each: (each[2].start(), each[0].word))

    def _take(self, found: Pattern, of: Format, match: re.Match[str], number: int) -> None:
        # An error says again what its worker has printed.
        rank = "" if found.fails else of.rank(match.string[max(0, match.start() - _PREFIX_CHARACTERS) : match.start()])
        readings = list(readings_in(match, number, rank))
        settings = {**found.sets, **settings_in(match)}
        groups = match.groupdict()
        pairs = groups.get("pairs__")
        if found.pairs and pairs:
            settings = dict(found.pairs(pairs)) | settings
        draft = self._draft(found, of, readings, groups.get("rank__") or rank, number)
        draft.learn(
            (groups.get("version__") or "").rstrip("."),
            groups.get("model__") or settings.get("model") or settings.get("model_path") or "",
            settings,
            found.is_weak,
        )
        draft.last = found.last or draft.last
        draft.come_from(*(groups.get(name) or "" for name in ("day__", "source__", "said__")))
        if found.recovers:
            draft.failure = None
        if len(draft.readings) < MAX_READINGS:
            draft.readings += readings
        if found.fails:
            is_weak = found.is_weak or of.is_anyones
            draft.fail(found.fails, match.string[match.start() :][:_MESSAGE_CHARACTERS].strip(), number, is_weak)

    def _draft(self, found: Pattern, of: Format, readings: Sequence[Reading], rank: str, number: int) -> Draft:
        """The start that this line belongs to. A mere setting in another engine's log may be of one that is to come."""
        engine = found.engine or of.engine
        current = self.drafts[-1] if self.drafts else None
        if of.is_anyones:
            if current is None:
                current = self._new(self._speaking or engine, number, None)
                current.is_anyones = not self._speaking
            return current
        if current is not None and current.is_anyones:
            current.engine, current.is_anyones = engine, False
        if current is not None and (of.engine == current.engine or self._variant(of, current)):
            is_next = found.begins and current.has_begun and (current.failure or current.printed(rank))
            if is_next or (found.launches and current.is_launched):
                current = self._new(engine, number, current)
        elif current is None or readings or found.begins or found.fails:
            current = self._announced(of) or self._new(engine, number, None)
        else:
            return self._announce(of, engine, number)
        current.has_begun |= found.begins
        current.is_launched |= found.launches
        if found.engine:
            current.engine = found.engine
        return current

    def _announce(self, of: Format, engine: str, number: int) -> Draft:
        """What another engine says of itself before its own start, such as its version; nothing comes of it alone."""
        if self._ahead is None or self._ahead[0] is not of:
            self._ahead = of, Draft(engine=engine, line=number)
        return self._ahead[1]

    def _announced(self, of: Format) -> Draft | None:
        """The start that *of* has announced, begun."""
        if self._ahead is None or self._ahead[0] is not of or len(self.drafts) >= MAX_STARTS:
            return None
        draft, self._ahead = self._ahead[1], None
        self.drafts.append(draft)
        return draft

    def _variant(self, of: Format, current: Draft) -> bool:
        """Whether *current* is of a variant of the engine *of*, which has no format of its own."""
        return current.engine not in self._engines and any(p.engine == current.engine for p in of.patterns)

    def _new(self, engine: str, number: int, before: Draft | None) -> Draft:
        draft = Draft(engine=engine, line=number)
        if before is not None:
            draft.version, draft.engine = before.version, before.engine
            draft.settings = {key: before.settings[key] for key in ("device",) if key in before.settings}
        if len(self.drafts) < MAX_STARTS:
            self.drafts.append(draft)
        return draft
