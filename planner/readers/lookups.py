"""Where a value stands: one table of a config, its keys by every spelling, and sentences that name them as it does."""

from collections.abc import Mapping, Sequence

from planner.errors import UnsupportedModel
from planner.units import counted, shorten

MISSING = object()
"""What is found where nothing is written."""
_SHOWN_SPELLINGS = 4


class Lookups:
    """One table under Hugging Face's usual keys: a family's spellings (*aliases*) come first, *defaults* fill gaps.

    A key that is there with ``null`` is ``None``, whatever its default. Aliases with a dot reach into a nested object.
    *forced* values come before the file's own. ``used`` collects the spellings that were looked up and found, and
    ``filled`` the keys that only had a default.
    *place* is where the table stands in its file, such as ``text_config``; *lifted* leads to keys that stand elsewhere.
    """

    __slots__ = ("_aliases", "_defaults", "_forced", "_lifted", "_table", "filled", "model_type", "place", "used")

    def __init__(
        self,
        table: Mapping[str, object],
        model_type: str,
        aliases: Mapping[str, Sequence[str]] | None = None,
        defaults: Mapping[str, object] | None = None,
        forced: Mapping[str, object] | None = None,
        place: str = "",
        lifted: Mapping[str, str] | None = None,
    ) -> None:
        self.model_type = model_type
        self.place = place
        self.used: set[str] = set()
        self.filled: set[str] = set()
        self._table = table
        self._aliases = aliases or {}
        self._defaults = defaults or {}
        self._forced = forced or {}
        self._lifted = lifted or {}

    def written(self, key: str) -> object:
        """What is forced, or in the file itself under *key* or an alias, null where only nulls are, else a marker."""
        if key in self._forced:
            self.used.update(self._spellings(key))
            return self._forced[key]
        found: object = MISSING
        for spelling in self._spellings(key):
            value = self._at(spelling)
            if value is not MISSING:
                self.used.add(spelling.partition(".")[0])
                if value is not None:
                    return value
                found = None
        return found

    def in_file(self, key: str) -> object:
        """What the file itself has under *key* or an alias, whatever is forced; null where it has neither."""
        found = (self._at(spelling) for spelling in self._spellings(key))
        return next((value for value in found if value is not MISSING and value is not None), None)

    def has(self, key: str) -> bool:
        """Whether the file itself gives *key* a value other than null."""
        return self.written(key) not in (None, MISSING)

    def is_set(self, key: str) -> bool:
        """Whether *key* has a value: the file's, or the class's where the file leaves it out."""
        return self.get(key) is not None

    def get(self, key: str) -> object:
        """The value of *key*, its default, or None."""
        value = self.written(key)
        if value is not MISSING:
            return value
        if key in self._defaults:
            self.filled.add(key)
        return self._defaults.get(key)

    @property
    def where(self) -> str:
        return f"model_type {shorten(self.model_type)!r}"

    def wrong(self, key: str, value: object, expected: str) -> UnsupportedModel:
        return UnsupportedModel(f"{self.where}: key {self.spelled(key)!r} is {_show(value)}; it must be {expected}.")

    def uneven(self, key: str, entries: int, layers: int) -> UnsupportedModel:
        counts = f"{counted(entries, 'entry')} for {counted(layers, 'layer')}"
        return UnsupportedModel(f"{self.where}: key {self.spelled(key)!r} has {counts}.")

    def missing(self, key: str) -> UnsupportedModel:
        """That *key* is missing or null, under whichever of its spellings a file may have it."""
        if self.written(key) is not MISSING or key in self._lifted:
            return UnsupportedModel(f"{self.where}: key {self.spelled(key)!r} is null; add it to the config.")
        names = " or ".join(repr(self._placed(spelling)) for spelling in self._spellings(key)[:_SHOWN_SPELLINGS])
        return UnsupportedModel(f"{self.where}: key {names} is missing; add it to the config.")

    def spelled(self, key: str) -> str:
        """*key* as the file writes it, or else the family, with its place: ``text_config.n_layer``."""
        if self.written(key) is MISSING and key in self._lifted:
            return self._lifted[key]
        spellings = self._spellings(key)
        found = [spelling for spelling in spellings if self._at(spelling) is not MISSING]
        filled = [spelling for spelling in found if self._at(spelling) is not None]
        return self._placed((filled or found or spellings)[0])

    def _spellings(self, key: str) -> tuple[str, ...]:
        return (*self._aliases.get(key, ()), key)

    def _placed(self, spelling: str) -> str:
        return f"{self.place}.{spelling}" if self.place else spelling

    def _at(self, spelling: str) -> object:
        """The value at a key or, with dots, deep in objects and lists: ``ffn_config.moe_top_k``, ``sizes.0``."""
        found: object = self._table
        for part in spelling.split("."):
            if isinstance(found, Mapping) and part in found:
                found = found[part]
            elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            else:
                return MISSING
        return found


def _show(value: object) -> str:
    """A user's value in a sentence: short, and never slow to print."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (list, dict)):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return shorten(repr(value)) if not isinstance(value, str) else repr(shorten(value))
