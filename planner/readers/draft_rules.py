"""Files of drafts for speculation, which stand under the model_type of a model that they are not."""

from collections.abc import Mapping

from planner.errors import UnsupportedModel
from planner.readers.families import table_in, texts_in
from planner.readers.strange_keys import is_empty, is_like
from planner.records import dataclass
from planner.units import shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRules:
    """By which *keys* of a config, and which *classes* that it names, as patterns, a draft shows."""

    keys: tuple[str, ...]
    classes: tuple[str, ...]

    def check(self, config: Mapping[str, object]) -> None:
        """Raise for the *config* of a draft: it has layers that its model_type has not, and lacks others."""
        named = config.get("architectures")
        texts = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        signs = (
            *(f"key {key!r}" for key in self.keys if not is_empty(config.get(key))),
            *(f"class {shorten(name)}" for name in texts if is_like(name, self.classes)),
        )
        if signs:
            raise UnsupportedModel(
                f"The config is one of a draft for speculation ({signs[0]}), which reads another model's states and "
                "cannot be planned alone; plan the model that it drafts for, with --draft-model eagle or mtp."
            )


def parse_draft_rules(table: object, path: str) -> DraftRules:
    """The rules in *table*; raises BadPreset by path."""
    found = table_in(table, path)
    keys, classes = (tuple(texts_in(found.get(name, []), f"{path}.{name}")) for name in ("keys", "classes"))
    return DraftRules(keys=keys, classes=classes)
