"""A model_type that nothing is known about: an upper bound where every key is understood, else a refusal."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fnmatch import fnmatchcase

from planner.errors import BadPreset, UnsupportedModel
from planner.readers.families import parse_family
from planner.readers.family import Family
from planner.readers.values import Values
from planner.records import dataclass
from planner.units import shorten

UNKNOWN = "_unknown"
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRules:
    """*family* is the upper bound's structure, and *understood* the keys it is built from.

    Keys that match *harmless* cost no memory, *bounded* ones only lower it. *refused* gives the reason by model_type,
    *architectures* the model_type by class name for files that lack it.
    """

    family: Family
    understood: frozenset[str]
    harmless: tuple[str, ...]
    bounded: frozenset[str]
    refused: Mapping[str, str]
    architectures: Mapping[str, str]

    def check_refused(self, model_type: str) -> None:
        """Raise for a model_type that is known to be something else than a decoder."""
        reason = self.refused.get(model_type)
        if reason:
            raise UnsupportedModel(f"model_type {shorten(model_type)!r} {reason}.")

    def bounding_family(self, table: Mapping[str, object]) -> Family:
        """The upper bound's family for *table*: with learned positions, unless the file speaks of rotary ones."""
        if any(key.startswith(("rope_", "rotary_")) for key in table):
            return self.family
        return replace(self.family, structure=replace(self.family.structure, position_embeddings=True))

    def check_understood(self, table: Mapping[str, object], values: Values) -> None:
        """Raise if *table* has a key that the upper bound does not cover."""
        spellings = {spelling for names in self.family.aliases.values() for spelling in names}
        self._refuse_strange(table, values, self.understood | spellings)

    def check_used(self, table: Mapping[str, object], values: Values) -> None:
        """Raise if a key that is understood had no part in what was built from *table*."""
        self._refuse_strange(table, values, values.used)

    def warning(self, model_type: str) -> str:
        """What the plan of an unknown *model_type* is."""
        return (
            f"model_type {shorten(model_type)!r} is not known: the plan is an upper bound, with full attention in "
            "every layer and every optional tensor counted."
        )

    def _refuse_strange(self, table: Iterable[str], values: Values, accepted: AbstractSet[str]) -> None:
        strange = [
            key
            for key in table
            if key not in accepted
            and key not in self.bounded
            and not any(fnmatchcase(key, pattern) for pattern in self.harmless)
        ]
        if strange:
            named = ", ".join(repr(shorten(values.spelled(key))) for key in sorted(strange)[:_SHOWN])
            more = f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else ""
            raise UnsupportedModel(
                f"{values.where} is not known, and its config has keys that are not understood: {named}{more}; "
                "only a config of a known model_type, or one without these keys, can be counted."
            )


def parse_unknown_rules(table: Mapping[str, object]) -> UnknownRules:
    """The rules in *table*, as presets/class_defaults/_unknown.toml holds them; raises BadPreset by path."""
    lists = {key: table.get(key) for key in ("understood", "harmless", "bounded")}
    for key, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise BadPreset(f"class_defaults/{UNKNOWN}.toml: {key} must be a list of strings.")
    refused = table.get("refused", {})
    if not isinstance(refused, Mapping) or not all(isinstance(types, list) for types in refused.values()):
        raise BadPreset(f"class_defaults/{UNKNOWN}.toml: refused must be lists of model types by reason.")
    architectures = table.get("architectures", {})
    if not isinstance(architectures, Mapping):
        raise BadPreset(f"class_defaults/{UNKNOWN}.toml: architectures must be model types by class name.")
    rest = {key: value for key, value in table.items() if key not in (*lists, "refused", "architectures")}
    return UnknownRules(
        family=parse_family(UNKNOWN, rest),
        understood=frozenset(lists["understood"] or ()),  # type: ignore[call-overload]
        harmless=tuple(lists["harmless"] or ()),  # type: ignore[arg-type]
        bounded=frozenset(lists["bounded"] or ()),  # type: ignore[call-overload]
        architectures={str(name): str(model_type) for name, model_type in architectures.items()},
        refused={str(model_type): str(reason) for reason, types in refused.items() for model_type in types},
    )
