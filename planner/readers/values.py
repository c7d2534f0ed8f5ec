"""Strict, typed access to the values of one config: what is read as a dimension is a whole number in sane bounds."""

from collections.abc import Mapping, Sequence

from planner.errors import UnsupportedModel
from planner.readers.lookups import Lookups
from planner.units import format_count

# No real model comes near these; they keep every product of dimensions small enough to add up quickly.
_LARGEST = 2**24
_LARGEST_BY_KEY = {
    "hidden_size": 2**20,
    "num_hidden_layers": 4096,
    "num_nextn_predict_layers": 4096,
    "num_attention_heads": 2**16,
    "num_key_value_heads": 2**16,
    "num_experts": 2**16,
    "max_position_embeddings": 2**40,
    "sliding_window": 2**40,
    "ngram_vocab_size_base": 2**30,
}


class Values(Lookups):
    """Typed readings of a table's keys."""

    __slots__ = ()

    def integer(self, key: str, minimum: int = 1) -> int:
        """The whole number at *key*; raises UnsupportedModel where it is missing or null."""
        value = self.optional_integer(key, minimum)
        if value is None:
            raise self.missing(key)
        return value

    def optional_integer(self, key: str, minimum: int = 1) -> int | None:
        """The whole number at *key*, None where it is null, or absent without a default."""
        value = self.get(key)
        return None if value is None else self._whole(key, value, minimum)

    def flag(self, key: str) -> bool:
        """The boolean at *key*; null and absent without a default are false."""
        value = self.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(key, value, "true or false")

    def text(self, key: str) -> str:
        """The string at *key*, empty where it is null or absent without a default."""
        value = self.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        raise self.wrong(key, value, "a string")

    def choice(self, key: str, *known: str) -> str:
        """The string at *key*, one of *known*, empty where it is null or absent without a default."""
        value = self.text(key)
        if value and value not in known:
            raise self.wrong(key, value, f"one of {', '.join(known)}")
        return value

    def choices(self, key: str, length: int, *known: str) -> list[str]:
        """A list of strings, each one of *known*, one a layer of *length*."""
        found = self.strings(key, length)
        for value in found:
            if value not in known:
                raise self.wrong(f"{key}", value, f"a list of {', '.join(known)}")
        return found

    def switches(self, key: str, length: int) -> list[bool]:
        """A list of 0 and 1, one a layer of *length*."""
        found = self.integers(key, length)
        for value in found:
            if value > 1:
                raise self.wrong(key, value, "a list of 0 and 1")
        return [value == 1 for value in found]

    def strings(self, key: str, length: int | None = None) -> list[str]:
        """A list of strings, one a layer where *length* says how many layers there are."""
        found = self._list(key, length)
        for value in found:
            if not isinstance(value, str):
                raise self.wrong(key, value, "a list of strings")
        return [str(value) for value in found]

    def tables(self, key: str, length: int) -> list[Mapping[str, object]]:
        """A list of one object a layer."""
        found = self._list(key, length)
        if not all(isinstance(entry, dict) for entry in found):
            raise self.wrong(key, found, "a list of objects")
        return found  # type: ignore[return-value]

    def integers(self, key: str, length: int | None = None, minimum: int = 0) -> list[int]:
        """A list of whole numbers, one a layer where *length* says how many layers there are."""
        return [self._whole(key, value, minimum) for value in self._list(key, length)]

    def indices(self, key: str) -> frozenset[int]:
        """Layers by number, in a list or in a string such as ``3,4,5``."""
        value = self.get(key)
        if not isinstance(value, str):
            return frozenset(self.integers(key))
        parts = value.replace(" ", "").split(",")
        if not all(part.isdecimal() and len(part) < 6 for part in parts):
            raise self.wrong(key, value, "layer numbers with commas between them")
        return frozenset(int(part) for part in parts)

    def same_in_all_layers(self, key: str, minimum: int = 1) -> int | None:
        """The whole number at *key*, also where a list repeats it for every layer."""
        if not self.is_list(key):
            return self.optional_integer(key, minimum)
        found = set(self.integers(key, minimum=minimum))
        if len(found) != 1:
            raise UnsupportedModel(
                f"{self.where}: key {self.spelled(key)!r} differs between layers, which is not understood here."
            )
        return found.pop()

    def in_layers(self, key: str, usual: Sequence[int | None], minimum: int = 1) -> list[int | None]:
        """*usual* for each layer, with what ``per_layer_config`` says of some instead, as newer files spell exceptions.

        Its keys are layer numbers, with leading zeros or without.
        """
        sizes = list(usual)
        for name, layer in (self.table("per_layer_config") or {}).items():
            if not (name.isdecimal() and len(name) < 6 and int(name) < len(sizes) and isinstance(layer, Mapping)):
                raise self.wrong("per_layer_config", name, "objects by layer number")
            if layer.get(key) is not None:
                sizes[int(name)] = self._whole(key, layer[key], minimum)
        return sizes

    def number(self, key: str) -> float:
        """The positive number at *key*, whole or not."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _LARGEST:
            raise self.wrong(key, value, "a positive number")
        return float(value)

    def numbers(self, key: str, length: int) -> list[float]:
        """A list of numbers, one a layer."""
        found = []
        for value in self._list(key, length):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < _LARGEST:
                raise self.wrong(key, value, "a list of positive numbers")
            found.append(float(value))
        return found

    def entries(self, key: str) -> list[object]:
        """The list at *key*, whatever it holds."""
        return self._list(key, None)

    def is_null(self, key: str) -> bool:
        """Whether the file has *key* and says null."""
        return self.written(key) is None

    def is_list(self, key: str) -> bool:
        return isinstance(self.get(key), list)

    def table(self, key: str) -> Mapping[str, object] | None:
        """The object at *key*, None where it is null or absent."""
        value = self.get(key)
        if value is None or isinstance(value, dict):
            return value
        raise self.wrong(key, value, "an object")

    def _whole(self, key: str, value: object, minimum: int) -> int:
        largest = _LARGEST_BY_KEY.get(key, _LARGEST)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= largest:
            raise self.wrong(key, value, f"a whole number from {minimum} to {format_count(largest)}")
        return value

    def _list(self, key: str, length: int | None) -> list[object]:
        value = self.get(key)
        if not isinstance(value, list):
            raise self.wrong(key, value, "a list")
        if length is None or len(value) == length:
            return value
        # Some files go on with the layers for multi-token prediction.
        if len(value) == length + (self.optional_integer("num_nextn_predict_layers", minimum=0) or 0):
            return value[:length]
        raise self.uneven(key, len(value), length)
