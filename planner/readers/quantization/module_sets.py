"""Sets of modules as a file writes them: full names, parts of names, shell patterns and regular expressions."""

import re
from collections.abc import Iterable, Iterator

from planner.errors import UnsupportedModel
from planner.readers.quantization.module_names import ModuleName, Parts, is_beside, is_tower, parse_name, runs, spelled
from planner.readers.quantization.patterns import glob_source, regex_source
from planner.records import dataclass

_REGEX_MARK = "re:"
_REGEX_SIGNS = frozenset("\\^$()|+")
_GLOB_SIGNS = frozenset("*?[")
_MOST_PATTERN_CHARACTERS = 8192
_MOST_COMBINATIONS = 64
_LONGEST_NAME = 512
_IN_ONE_LAYER = re.compile(r"((?:\w+\.)*)(?:layers|h|blocks)\.(\d{1,6})\.(.+)")
_ONE_EXPERT = re.compile(r"experts(\\?\.)\d+")
# What stands before the layers, and the word by which patterns show that they mean it.
_AROUND = frozenset({("lm_head",), ("embed_tokens",)})
_PREFIXES = {
    "": "",
    "model.": "",
    "model.language_model.": "language_model",
    "language_model.model.": "language_model",
    "transformer.": "transformer",
    "backbone.": "backbone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a tensor's module is: in layer *layer*, or outside with None; *prediction* counts the layers for MTP.

    *modules* are its names below the layer, more than one where it stands for several of the file's.
    """

    modules: tuple[Parts, ...]
    layer: int | None = None
    prediction: int | None = None


class ModuleSet:
    """The modules that any of *entries* names, by itself or as a part of what it names.

    An entry with ``re:`` is a regular expression from the start of a name, one with ``*`` a shell pattern, any other a
    name: in full, or some neighbouring parts of it (``mlp.gate``, ``lm_head``). Raises UnsupportedModel for patterns
    that are not understood or too many.
    """

    __slots__ = ("_anywhere", "_compiled", "_general", "_in_layer", "_layer_globs", "_prediction", "_words")

    def __init__(self, entries: Iterable[str]) -> None:
        self._anywhere: set[Parts] = set()
        self._in_layer: dict[int, set[Parts]] = {}
        self._prediction: dict[int | None, set[Parts]] = {}
        general: set[str] = set()
        globs: dict[int, set[str]] = {}
        for entry in entries:
            if len(entry) > _LONGEST_NAME:
                raise UnsupportedModel(f"A module name has {len(entry):,} characters; up to {_LONGEST_NAME} are read.")
            if entry.startswith((_REGEX_MARK, ".*")) or not _REGEX_SIGNS.isdisjoint(entry):
                general.add(regex_source(_any_expert(entry.removeprefix(_REGEX_MARK))))
            elif not _GLOB_SIGNS.isdisjoint(entry):
                _add_glob(_any_expert(entry), globs, general)
            else:
                self._add_name(parse_name(entry))
        self._layer_globs = {layer: tuple(sorted(sources)) for layer, sources in globs.items()}
        distinct = set(self._layer_globs.values())
        self._words = "\n".join(sorted(general.union(*distinct)))
        if len(self._words) > _MOST_PATTERN_CHARACTERS or len(distinct) > _MOST_COMBINATIONS:
            raise UnsupportedModel("The patterns that choose modules are too many to be read.")
        # Most layers have the same patterns, so that a model of many layers compiles few.
        self._compiled = {sources: _compile(sources) for sources in distinct}
        self._general = _compile(sorted(general)) if general else None

    def __bool__(self) -> bool:
        return bool(self._anywhere or self._in_layer or self._prediction or self._words)

    @property
    def in_layers(self) -> bool:
        """Whether it names something of the layers that answer, not what is around them or predicts."""
        patterns = (words for words in self._words.splitlines() if not is_beside(words))
        return bool(self._in_layer or self._anywhere - _AROUND) or any(patterns)

    def names(self, place: Place) -> bool:
        """Whether exactly the module at *place* is named, not one around it, and by no pattern."""
        named = self._anywhere if place.layer is None else self._anywhere | self._in_layer.get(place.layer, set())
        return not named.isdisjoint(place.modules)

    def __contains__(self, place: Place) -> bool:
        own = frozenset().union(*map(runs, place.modules))
        if not self._anywhere.isdisjoint(own):
            return True
        if place.layer is None:
            return self._matches(self._general, place, self._prefixes())
        if not own.isdisjoint(self._in_layer.get(place.layer, ())):
            return True
        if place.prediction is not None and self._predicted(place.prediction, own):
            return True
        globs = self._layer_globs.get(place.layer)
        return (globs is not None and self._matches(self._compiled[globs], place, [""])) or self._matches(
            self._general, place, self._heads(place.layer, place.prediction)
        )

    def _add_name(self, name: ModuleName | None) -> None:
        if name is None:
            return
        for parts in name.spellings:
            if name.mtp:
                self._prediction.setdefault(name.layer, set()).add(parts)
            elif name.layer is None:
                self._anywhere.add(parts)
            else:
                self._in_layer.setdefault(name.layer, set()).add(parts)

    def _predicted(self, prediction: int, own: frozenset[Parts]) -> bool:
        return any(not own.isdisjoint(self._prediction.get(number, ())) for number in (None, prediction))

    def _matches(self, pattern: re.Pattern[str] | None, place: Place, heads: Iterable[str]) -> bool:
        """Whether *pattern* matches a name of *place*: one of *heads* and a spelling below it, all searched at once."""
        if pattern is None:
            return False
        names = [name for parts in place.modules for name in spelled(parts, self._words)]
        return pattern.search("\n".join(head + name for head in heads for name in names)) is not None

    def _heads(self, layer: int, prediction: int | None) -> Iterator[str]:
        for prefix in self._prefixes():
            yield f"{prefix}{'h' if prefix == 'transformer.' else 'layers'}.{layer}."
        if prediction is not None:
            yield f"mtp.layers.{prediction}."
            yield f"mtp.{prediction}."

    def _prefixes(self) -> Iterator[str]:
        return (prefix for prefix, word in _PREFIXES.items() if word in self._words)


def _any_expert(pattern: str) -> str:
    """*pattern* for the first expert where it is for some one expert: all of them are stored alike."""
    return _ONE_EXPERT.sub(r"experts\g<1>0", pattern)


def _add_glob(glob: str, globs: dict[int, set[str]], general: set[str]) -> None:
    match = _IN_ONE_LAYER.fullmatch(glob)
    if match is None or "mtp" in match[1]:
        general.add(glob_source(glob))
    elif not is_tower(match[1].split(".")):
        globs.setdefault(int(match[2]), set()).add(glob_source(match[3]))


def _compile(sources: Iterable[str]) -> re.Pattern[str]:
    return re.compile(f"^(?:{'|'.join(sources)})", re.MULTILINE)
