"""What stands beside a text model in its file and nothing is known to read: an upper bound of it, or a refusal."""

from collections.abc import Mapping, Sequence

from planner.architecture import Tower
from planner.errors import UnsupportedModel
from planner.readers.decoder import Decoder
from planner.readers.strange_keys import is_empty, is_like
from planner.readers.towers import tower_of
from planner.readers.towers.bounds import tower_bound
from planner.readers.unknown import UnknownRules
from planner.readers.unread_parts import UnreadPart
from planner.readers.values import Values
from planner.units import shorten

_KINDS = {"vision": "vision", "visual": "vision", "image": "vision", "audio": "audio", "speech": "audio"}
"""What the keys of towers' configs say, and which kind of tower that is."""
_CONFIGS = ("config", "cfg")
_JOINING = ("projector", "aligner", "connector")
"""What keys of configs say that join a tower to the text model, as every bound of a tower does."""


def read_beside(
    parts: Sequence[UnreadPart], top: Values, decoder: Decoder, rules: UnknownRules
) -> tuple[tuple[Tower, ...], tuple[str, ...]]:
    """Bounds of *parts*, which no rule reads, beside *decoder* in the file *top*, and a warning that names them.

    Raises UnsupportedModel for a part that cannot be bounded: what is no tower may keep a cache of its own.
    """
    weighty = [part for part in parts if _weighs(part, rules)]
    if not weighty:
        return (), ()
    names = ", ".join(shorten(part.place) for part in weighty)
    return tuple(_bound(part, top, decoder, rules) for part in weighty), (
        f"{top.where} is not known to have {names}: counted as an upper bound, with what may lead from it into the "
        "text model.",
    )


def _bound(part: UnreadPart, top: Values, decoder: Decoder, rules: UnknownRules) -> Tower:
    kind = next((kind for word, kind in _KINDS.items() if word in part.key), "")
    if not kind:
        raise UnsupportedModel(
            f"{top.where} is not known to have {shorten(part.place)!r}, and what that adds does not follow from this "
            "file; take it out to plan the rest."
        )
    tower = rules.beside.values(part.table, top.model_type, part.place)
    rules.beside.check(part.table, rules.harmless, tower)
    around = rules.beside.values(part.around, top.model_type, part.place.rpartition(".")[0])
    return tower_of(kind, tower_bound(kind, tower, around, decoder.hidden_size), decoder.stored)


def _weighs(part: UnreadPart, rules: UnknownRules) -> bool:
    """Whether *part* may describe weights of its own: it has sizes, or is a model's config that leaves them out."""
    if is_like(part.key, rules.harmless):
        return False
    is_config = part.key.endswith(_CONFIGS) and not any(word in part.key for word in _JOINING)
    is_model = not part.table or part.table.get("model_type") or any(word in part.key for word in _KINDS)
    return (is_config and bool(is_model)) or _has_sizes(part.table)


def _has_sizes(table: Mapping[str, object]) -> bool:
    return any(
        (type(value) is int and value > 1) or (isinstance(value, Mapping) and _has_sizes(value))
        for value in table.values()
        if not is_empty(value)
    )
