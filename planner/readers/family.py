"""Knowledge by model_type, as the readers use it."""

import re
from collections.abc import Mapping
from dataclasses import field

from planner.formats import Role
from planner.readers.structure import LayerKind, Structure
from planner.records import dataclass

FAMILY_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.+-]{0,79}", re.ASCII)
"""What a model_type may be called, and the file that describes it."""
Size = int | str
"""A number, or the name of a dimension of the layer or of a config key, or a difference of two: ``a - b``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TowerRule:
    """How to count a tower or projector: *layout* names the rule, *config* the key of its own config, "" for none.

    Without *layout* the config's own model_type names it. A *layout* that the readers lack says that the file has such
    weights, which are then named as not counted; so they are where a key has another value than those in *known*.
    *optional*: a config of null says that there is none; other classes build the one of their defaults. *stated*: only
    files with that config have the tower.
    """

    kind: str
    config: str = ""
    layout: str = ""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    known: Mapping[str, tuple[Size, ...]] = field(default_factory=dict)
    optional: bool = False
    stated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraTensor:
    """A tensor that only a few families have. *rows* and *columns* are products of sizes.

    *place* is ``layer``, ``dense`` (layers without experts), ``experts`` (layers with them), a kind of layer or
    ``outer``; *only_if* names a config key that must be true or above zero; text tokens use it if *active*.
    """

    name: str
    columns: tuple[Size, ...]
    rows: tuple[Size, ...] = (1,)
    role: Role = Role.LINEAR
    place: str = "layer"
    only_if: str = ""
    active: bool = True
    replicated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Where every key of *keys* has its value: other switches, and values that replace the file's own.

    The value ``*`` is any that the file itself gives, an empty one none. What replaces a value is a number, a key, or a
    key with a number added, taken off, multiplied or divided by: ``sliding_window_size + 1``. *refused*: why such files
    cannot be counted.
    """

    keys: Mapping[str, object]
    structure: Mapping[str, object] = field(default_factory=dict)
    values: Mapping[str, Size] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What a model_type's class does beyond its config.

    *refused* says why it cannot be read, *note* what every plan of the family should say, *same_as* which family's
    class it has under another name, *classes* which type's rules a model class follows where files name the wrong
    type. *nested* leads to the text model's config in a wrapper, *nested_model_type* is its
    type where the file omits it, *nested_defaults* are the wrapper's own text dimensions, used with a warning, *lifted*
    leads from a key of the text model to where the wrapper has it.
    *known* lists the values that a key may have where another would change what is counted, *filled* the keys where
    null, too, is the class's default.
    *covered* are objects of the file that another rule counts, *per_layer* keys that may list a number for each layer.
    *stated* are keys that the family's files always have and that decide much: one without them is said. A wrapper's
    lead from the top of its file.
    *layer_kinds* says what its words for layers mean. *instead* names, by kind of layer or for ``all``, the keys that
    come before a dimension's usual one.
    """

    model_type: str
    source: str
    retrieved: str
    refused: str = ""
    same_as: str = ""
    note: str = ""
    nested: tuple[str, ...] = ()
    nested_model_type: str = ""
    classes: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defaults: Mapping[str, object] = field(default_factory=dict)
    lifted: Mapping[str, str] = field(default_factory=dict)
    nested_defaults: Mapping[str, object] = field(default_factory=dict)
    known: Mapping[str, tuple[Size, ...]] = field(default_factory=dict)
    filled: tuple[str, ...] = ()
    covered: tuple[str, ...] = ()
    per_layer: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    structure: Structure = field(default_factory=Structure)
    layer_kinds: Mapping[str, LayerKind] = field(default_factory=dict)
    instead: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    extra: tuple[ExtraTensor, ...] = ()
    towers: tuple[TowerRule, ...] = ()

    @property
    def own_keys(self) -> frozenset[str]:
        """The keys that the class is known to read, in every spelling."""
        spellings = (spelling for names in self.aliases.values() for spelling in names)
        asked = (key for condition in self.conditions for key in condition.keys)
        instead = (key for keys in self.instead.values() for pair in keys.items() for key in pair)
        return frozenset((*spellings, *self.aliases, *self.defaults, *asked, *instead))
