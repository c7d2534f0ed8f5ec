"""Typed access to one ``quantization_config``, with sentences that name it."""

from collections.abc import Iterable
from typing import Self

from planner.errors import UnsupportedModel
from planner.readers.lookups import MISSING
from planner.readers.values import Values
from planner.units import counted, shorten


class Settings(Values):
    """The values of one quantisation's config, or of an object inside it."""

    __slots__ = ()

    @property
    def where(self) -> str:
        return f"quantization_config ({shorten(self.model_type)})"

    def names(self, *keys: str) -> tuple[str, ...]:
        """The module names at whichever of *keys* has any; lists of lists are taken as one."""
        for key in keys:
            value = self.get(key)
            if value is None:
                continue
            entries = [value] if isinstance(value, str) else value
            if not isinstance(entries, list):
                raise self.wrong(key, value, "a list of module names")
            flat = [name for entry in entries for name in (entry if isinstance(entry, list) else [entry])]
            if not all(isinstance(name, str) for name in flat):
                raise self.wrong(key, value, "a list of module names")
            if flat:
                return tuple(flat)
        return ()

    def bits(self, key: str, *known: int) -> int:
        """The number of bits at *key*, one of *known*."""
        bits = self.integer(key)
        if bits not in known:
            raise self.wrong(key, bits, f"one of {', '.join(map(str, known))}")
        return bits

    def number_within(self, key: str, low: float, high: float, default: float | None = None) -> float:
        """The number at *key*, whole or not, from *low* to *high*."""
        value = self.get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.wrong(key, value, f"a number from {low:g} to {high:g}")
        return float(value)

    def group_size(self, key: str = "group_size") -> int:
        """Elements of a row that share a scale; 0, as in a Scale, where −1 means the whole row."""
        size = self.optional_integer(key, minimum=-1)
        if not size:
            raise self.wrong(key, size, "a group size, or -1 for whole rows")
        return max(size, 0)

    def uneven(self, key: str, entries: int, layers: int) -> UnsupportedModel:
        return UnsupportedModel(
            f"{self.where}: key {self.spelled(key)!r} has {counted(entries, 'entry')}; it must have {layers:,}."
        )

    def items(self) -> Iterable[tuple[str, object]]:
        return self._table.items()

    def inner(self, key: str) -> Self | None:
        """The object at *key*, None where it is null or absent."""
        table = self.table(key)
        return None if table is None else type(self)(table, self.model_type, place=self.spelled(key))

    def required(self, key: str) -> Self:
        """The object at *key*; raises UnsupportedModel where there is none."""
        inner = self.inner(key)
        if inner is None:
            raise self.wrong(key, None, "an object of settings")
        return inner

    def variants(self, key: str) -> dict[str, Self]:
        """The objects by name in the object at *key*, each with the settings here for what it leaves out."""
        return {name: self.variant(f"{key}.{name}", value) for name, value in (self.table(key) or {}).items()}

    def variant(self, key: str, value: object) -> Self:
        """The object *value* at *key*, with the settings here for what it leaves out."""
        if not isinstance(value, dict):
            raise self.wrong(key, value, "an object of settings")
        return type(self)(value, self.model_type, defaults=self._table, place=self._placed(key))

    def spelled(self, key: str) -> str:
        """*key* with its place, which is outside for what an object of settings leaves to those around it."""
        outside = self._at(key) is MISSING and key in self._defaults
        return key if outside else shorten(self._placed(key))
