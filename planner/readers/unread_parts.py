"""Objects of a file, around its text model and in it, that nothing is known to read."""

from collections.abc import Iterator, Mapping

from planner.readers.decoder import Decoder
from planner.readers.text_config import TextConfig
from planner.readers.values import Values
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadPart:
    """The object *table*, at *place* in its file, under *key* of what it stands in, which is *around* it."""

    place: str
    key: str
    table: Mapping[str, object]
    around: Mapping[str, object]


def unread_parts(config: Mapping[str, object], top: Values, text: TextConfig, decoder: Decoder) -> Iterator[UnreadPart]:
    """Objects around the text model, and in it, that nothing reads.

    An empty one says as much as none, but in a wrapper that nobody knows, whose class has sizes of its own.
    """
    read = _read_paths(top, text, decoder)
    table, path = config, text.place.split(".") if text.place else []
    for level in range(len(path) + 1):
        for key, value in table.items():
            place = ".".join((*path[:level], key))
            is_read = any(f"{way}.".startswith(f"{place}.") for way in read)
            if isinstance(value, dict) and (value or text.has_stand_in) and not is_read:
                yield UnreadPart(place=place, key=key, table=value, around=table)
        if level < len(path):
            table = table[path[level]]  # type: ignore[assignment]


def _read_paths(top: Values, text: TextConfig, decoder: Decoder) -> frozenset[str]:
    """Where something was read, or would be, by the rules of the text model's class and of the wrapper's."""
    wrapper, family = text.wrapper or decoder.family, decoder.family
    towers = {rule.config for rule in wrapper.towers}
    unknown: set[str] = set()
    if towers:
        from planner.readers.towers import of_unknown_kind

        unknown = {rule.config for rule in wrapper.towers if of_unknown_kind(top, rule)}
    around = {*towers, *wrapper.covered, *wrapper.own_keys, *top.used, text.place} - unknown
    inside = (f"{text.place}.{key}" if text.place else key for key in (*family.own_keys, *decoder.values.used))
    return frozenset(filter(None, (*around, *inside)))
