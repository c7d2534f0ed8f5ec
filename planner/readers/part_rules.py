"""What may stand beside a text model, by which keys an upper bound of it is built, and which of them cost nothing."""

from collections.abc import Mapping, Sequence

from planner.errors import UnsupportedModel
from planner.readers.families import spellings_in, table_in, texts_in
from planner.readers.strange_keys import largest, named, strange_keys
from planner.readers.values import Values
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRules:
    """Keys of towers and of what is around them: *understood* ones and their *aliases*, *harmless* ones as patterns."""

    understood: frozenset[str]
    harmless: tuple[str, ...]
    aliases: Mapping[str, tuple[str, ...]]

    @property
    def known(self) -> frozenset[str]:
        """What is understood, in every spelling."""
        return self.understood.union(*self.aliases.values())

    def values(self, table: Mapping[str, object], model_type: str, place: str) -> Values:
        """*table*, which stands at *place* in its file, by usual keys: the larger where it has one twice."""
        return Values(table, model_type, self.aliases, forced=largest(table, self.aliases), place=place)

    def check(self, table: Mapping[str, object], harmless: Sequence[str], values: Values) -> None:
        """Raise for a key of a tower's *table* that is neither understood nor like one of *harmless*, here or there."""
        self._check(table, self.known, harmless, values)

    def check_around(self, table: Mapping[str, object], text: str, harmless: Sequence[str], values: Values) -> None:
        """The same for what is around the key *text*: keys of towers are understood where there is another object."""
        own = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
        is_alone = not any(key != text and isinstance(value, Mapping) and value for key, value in table.items())
        self._check(own, frozenset() if is_alone else self.known, harmless, values)

    def _check(
        self, table: Mapping[str, object], accepted: frozenset[str], harmless: Sequence[str], values: Values
    ) -> None:
        strange = strange_keys(table, accepted, (*self.harmless, *harmless))
        if strange:
            raise UnsupportedModel(
                f"{values.where} is not known, and what it has beside its text model has keys that are not understood: "
                f"{named(strange, values)}; take that out to plan the text model alone."
            )


def parse_part_rules(table: object, path: str) -> PartRules:
    """The rules in *table*; raises BadPreset by path."""
    found = table_in(table, path)
    aliases = spellings_in(table_in(found.get("aliases", {}), f"{path}.aliases"), f"{path}.aliases")
    return PartRules(
        understood=frozenset(texts_in(found.get("understood", []), f"{path}.understood")),
        harmless=tuple(texts_in(found.get("harmless", []), f"{path}.harmless")),
        aliases={usual: (usual, *spellings) for usual, spellings in aliases.items()},
    )
