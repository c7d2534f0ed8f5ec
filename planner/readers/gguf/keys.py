"""Keys of a GGUF file that nothing was built from: whether more may be kept than they let be counted."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from planner.errors import BadPreset, UnsupportedModel
from planner.readers.gguf.values import GgufValues
from planner.records import dataclass

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufKeys:
    """What an architecture's keys are about, as patterns of what follows its name.

    *harmless* ones keep nothing beyond the file's tensors, *bounded* ones can only make a cache smaller. *parts* belong
    to layers of a kind that llama.cpp tells by their tensors or by the architecture.
    """

    harmless: tuple[str, ...]
    bounded: tuple[str, ...]
    parts: tuple[str, ...]

    def check_understood(self, values: GgufValues) -> None:
        """Raise for an architecture that is not known where its file has keys that its upper bound does not cover."""
        strange = _other_than(values.unused(), (*self.harmless, *self.bounded))
        if strange:
            raise UnsupportedModel(
                f"{values.where} is not known, and its file has keys that may keep more than attention does: "
                f"{_listed(values, strange)}; only a file without them can be counted."
            )

    def strange(self, values: GgufValues) -> str:
        """What to say of keys that a known architecture has and that nobody here knows; empty where there are none."""
        strange = _other_than(values.unused(), (*self.harmless, *self.bounded, *self.parts))
        if not strange:
            return ""
        return (
            f"Keys of the file that are not understood here, so that it may keep more than is counted: "
            f"{_listed(values, strange)}."
        )

    def idle(self, values: GgufValues) -> str:
        """What to say of keys of layers that the file does not have; empty where there are none."""
        idle = [key for key in values.unused() if _is_like(key, self.parts)]
        if not idle:
            return ""
        return (
            f"The file has keys of layers that {values.where} does not have or tell by them, and no tensors for such: "
            f"{_listed(values, idle)}. Nothing is counted for these."
        )


def parse_gguf_keys(table: Mapping[str, object]) -> GgufKeys:
    """The lists in *table*, as presets/gguf.toml holds them under keys; raises BadPreset by path."""
    found: dict[str, tuple[str, ...]] = {}
    for name in ("harmless", "bounded", "parts"):
        patterns = table.get(name)
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise BadPreset(f"gguf.toml: keys.{name} must be a list of patterns.")
        found[name] = tuple(patterns)
    return GgufKeys(**found)


def _other_than(keys: Iterable[str], patterns: tuple[str, ...]) -> list[str]:
    return [key for key in keys if not _is_like(key, patterns)]


def _is_like(key: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in patterns)


def _listed(values: GgufValues, keys: list[str]) -> str:
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return ", ".join(values.spelled(key) for key in keys[:_SHOWN]) + more
