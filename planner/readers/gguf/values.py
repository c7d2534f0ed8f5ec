"""Strict, typed access to the metadata of one GGUF model, under its architecture's prefix."""

from planner.errors import UnsupportedModel
from planner.readers.gguf.header import Metadata, Skipped, Value
from planner.units import counted, shorten

_LARGEST = 2**31


class GgufValues:
    """Keys of ``general.architecture``, such as ``attention.head_count`` for ``llama.attention.head_count``."""

    __slots__ = ("_metadata", "_used", "architecture")

    def __init__(self, metadata: Metadata, architecture: str) -> None:
        self._metadata, self.architecture = metadata, architecture
        self._used: set[str] = set()

    def has(self, key: str) -> bool:
        return self._get(key) is not None

    def spelled(self, key: str) -> str:
        """*key* as the file has it, under its architecture, to be shown."""
        return f"{shorten(self.architecture)}.{shorten(key)}"

    def unused(self) -> list[str]:
        """Its keys that were not asked for and stand for something, in order: 0, false and nothing add nothing."""
        prefix = f"{self.architecture}."
        own = (key.removeprefix(prefix) for key, value in self._metadata.items() if key.startswith(prefix) and value)
        return sorted(key for key in own if key not in self._used)

    def integer(self, key: str, minimum: int = 0) -> int:
        """The whole number at *key*; raises UnsupportedModel where it is missing."""
        value = self.optional_integer(key, minimum)
        if value is None:
            raise UnsupportedModel(f"{self.where}: key {self.spelled(key)} is missing.")
        return value

    def optional_integer(self, key: str, minimum: int = 0) -> int | None:
        """The whole number at *key*, None where it is missing."""
        value = self._get(key)
        return None if value is None else self._whole(key, value, minimum)

    def is_array(self, key: str) -> bool:
        return isinstance(self._get(key), tuple)

    def per_layer(self, key: str, number: int, at_least: int | None = None) -> list[int] | None:
        """A number for each of *number* layers, from an array or one for all; None where *key* is missing.

        An array of *at_least* so many is enough: the rest take its largest. It may go on with layers for prediction.
        """
        value = self._get(key)
        if value is None:
            return None
        if not isinstance(value, tuple):
            return [self._whole(key, value, 0)] * number
        least = number if at_least is None else at_least
        most = max(number, self.optional_integer("block_count") or 0)
        if not least <= len(value) <= most:
            raise UnsupportedModel(
                f"{self.where}: {self.spelled(key)} has {counted(len(value), 'entry')} for {counted(least, 'layer')}."
            )
        entries = [self._whole(key, entry, 0) for entry in value[:number]]
        return entries + [max(entries, default=0)] * (number - len(entries))

    @property
    def where(self) -> str:
        return f"GGUF architecture {shorten(self.architecture)!r}"

    def _get(self, key: str) -> Value | None:
        self._used.add(key)
        return self._metadata.get(f"{self.architecture}.{key}")

    def _whole(self, key: str, value: object, minimum: int) -> int:
        if type(value) is not int or not minimum <= value < _LARGEST:
            shown = counted(value.length, "value") if isinstance(value, Skipped) else shorten(str(value))
            raise UnsupportedModel(f"{self.where}: {self.spelled(key)} is {shown}, not a sensible whole number.")
        return value
