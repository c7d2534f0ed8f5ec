"""A model_type that nothing is known about: an upper bound where every key is understood, else a refusal.

Where a file gives one thing twice, such as two counts of experts, the class reads one of them and the larger bounds it.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from planner.errors import BadPreset, UnsupportedModel
from planner.readers.draft_rules import DraftRules, parse_draft_rules
from planner.readers.families import parse_family
from planner.readers.family import Family
from planner.readers.part_rules import PartRules, parse_part_rules
from planner.readers.strange_keys import largest, named, strange_keys
from planner.readers.values import Values
from planner.records import dataclass
from planner.units import shorten

UNKNOWN = "_unknown"
_UNKNOWN = "is not known"
_TIED = "tie_word_embeddings"
_HEADS = "num_attention_heads"
_LISTS = ("understood", "harmless", "bounded", "structural", "idle", "wrapped")
_SHARED = ("shared_expert_intermediate_size", "n_shared_experts")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRules:
    """*family* is the upper bound's structure, and *understood* the keys it is built from.

    Keys that match *harmless* cost no memory, *bounded* ones only lower it. Those like *structural* ones may add to it
    where a family does not read them, unless they are *idle*. *refused* gives the reason by model_type, *names* by what
    names begin with that do not tell it, *architectures* the model_type by class name for files that lack it, *wrapped*
    the keys under which wrappers keep their text model, *beside* what may stand beside it, *drafts* how files of drafts
    are told.
    """

    family: Family
    understood: frozenset[str]
    harmless: tuple[str, ...]
    bounded: frozenset[str]
    structural: tuple[str, ...]
    idle: tuple[str, ...]
    refused: Mapping[str, str]
    names: Mapping[str, str]
    architectures: Mapping[str, str]
    wrapped: tuple[str, ...]
    beside: PartRules
    drafts: DraftRules

    def check_refused(self, model_type: str) -> None:
        """Raise for a model_type that is known to be something else than a decoder."""
        reason = self.refused.get(model_type)
        if reason:
            raise UnsupportedModel(f"model_type {shorten(model_type)!r} {reason}.")

    def kind_by_name(self, name: str) -> str:
        """Why a model of that *name*, small letters with hyphens between words, is refused; else empty.

        It begins with a model_type, or with one of ``names``; the longest such beginning counts.
        """
        known = {model_type.lower().replace("_", "-"): reason for model_type, reason in self.refused.items()}
        words = name.split("-")
        beginnings = ("-".join(words[:count]) for count in range(len(words), 0, -1))
        return next((reason for each in beginnings if (reason := self.names.get(each) or known.get(each))), "")

    def bound(self, table: Mapping[str, object], model_type: str, place: str) -> tuple[Family, Values]:
        """The upper bound's family for *table*, which stands at *place* in its file, and the table's values.

        Positions are learned, unless the file speaks of rotary ones. Raises UnsupportedModel for keys that the upper
        bound does not cover.
        """
        family = self.family
        if not any(key.startswith(("rope_", "rotary_")) for key in table):
            family = replace(family, structure=replace(family.structure, position_embeddings=True))
        written = Values(table, model_type, family.aliases, family.defaults, place=place)
        self._check_understood(table, written)
        forced = {
            **dict.fromkeys(self.bounded - {_TIED}),
            **self._largest(table, written),
            **_widths(written),
            **_head_sizes(written),
        }
        bound = Values(table, model_type, family.aliases, family.defaults, forced, place=place)
        bound.used.update(key for key in _SHARED if key in forced)
        return family, bound

    def _largest(self, table: Mapping[str, object], values: Values) -> dict[str, object]:
        """The largest of what *table* has under several spellings of one key."""
        found = largest(table, self.family.aliases)
        if _HEADS in found:
            spellings = (*self.family.aliases[_HEADS], _HEADS)
            least = min(number for name in spellings if type(number := table.get(name)) is int)
            raise values.wrong(_HEADS, found[_HEADS], f"{least} as well, or given once")
        return dict(found)

    def _check_understood(self, table: Mapping[str, object], values: Values) -> None:
        spellings = {spelling for names in self.family.aliases.values() for spelling in names}
        self._refuse_strange(table, values, self.understood | spellings)

    def check_used(self, table: Mapping[str, object], values: Values) -> None:
        """Raise if a key that is understood had no part in what was built from *table*."""
        self._refuse_strange(table, values, values.used)

    def check_known(self, table: Mapping[str, object], values: Values, family: Family, why: str = "") -> None:
        """Raise, saying *why* it matters, for a key of *table* that *family*, whose class it is, does not have."""
        self._refuse_strange(table, values, values.used | family.own_keys, why or _UNKNOWN)

    def without_foreign(self, table: Mapping[str, object], family: Family) -> Mapping[str, object]:
        """*table* without the keys that would lower the count and that *family*'s class is not known to read."""
        own = family.own_keys
        return {key: value for key, value in table.items() if key not in self.bounded or key in own}

    def warning(self, model_type: str) -> str:
        """What the plan of an unknown *model_type* is."""
        return (
            f"model_type {shorten(model_type)!r} is not known: the plan is an upper bound, with full attention in "
            "every layer, every optional tensor counted, and the larger of two figures for one thing."
        )

    def _refuse_strange(
        self, table: Mapping[str, object], values: Values, accepted: AbstractSet[str], why: str = _UNKNOWN
    ) -> None:
        """Raise for a key that stands for something and is not *accepted*: it may add to what is counted."""
        strange = strange_keys(table, accepted | self.bounded, self.harmless)
        if strange:
            raise UnsupportedModel(
                f"{values.where} {why}, and its config has keys that are not understood: "
                f"{named(strange, values)}; only a config of a known model_type, or one without these keys, can be "
                "counted."
            )


def _head_sizes(values: Values) -> dict[str, object]:
    """The widest that a head can be where *values* share the hidden size among other numbers of heads in each layer.

    Values as wide as keys, where a file says less: a class may not read that.
    """
    if values.is_list("head_dim"):
        return {}
    per_layer = values.is_list(_HEADS)
    heads = min(values.integers(_HEADS, minimum=1), default=0) if per_layer else values.optional_integer(_HEADS)
    head_dim = values.optional_integer("head_dim") or (values.integer("hidden_size") // heads if heads else 0)
    sizes: dict[str, object] = {"head_dim": head_dim} if per_layer and head_dim else {}
    if (values.same_in_all_layers("v_head_dim") or head_dim) < head_dim:
        sizes["v_head_dim"] = head_dim
    return sizes


def _widths(values: Values) -> dict[str, object]:
    """The width of an expert and of all shared ones: the larger where a file has a width for dense layers as well."""
    wide, narrow = (values.optional_integer(key) for key in ("intermediate_size", "moe_intermediate_size"))
    width = max(wide or 0, narrow or 0)
    shared, number = (values.optional_integer(key, minimum=0) or 0 for key in _SHARED)
    widths: dict[str, object] = {"moe_intermediate_size": width} if width else {}
    if shared or number:
        widths |= {"shared_expert_intermediate_size": max(shared, number * width), "n_shared_experts": number}
    return widths


def parse_unknown_rules(table: Mapping[str, object]) -> UnknownRules:
    """The rules in *table*, as presets/class_defaults/_unknown.toml holds them; raises BadPreset by path."""
    lists = {key: table.get(key) for key in _LISTS}
    for key, value in lists.items():
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise BadPreset(f"class_defaults/{UNKNOWN}.toml: {key} must be a list of strings.")
    refused, named_so = _by_reason(table, "refused", "model types"), _by_reason(table, "names", "beginnings")
    architectures = table.get("architectures", {})
    if not isinstance(architectures, Mapping):
        raise BadPreset(f"class_defaults/{UNKNOWN}.toml: architectures must be model types by class name.")
    own = (*lists, "refused", "names", "architectures", "beside", "drafts")
    rest = {key: value for key, value in table.items() if key not in own}
    return UnknownRules(
        family=parse_family(UNKNOWN, rest),
        understood=frozenset(lists["understood"] or ()),  # type: ignore[call-overload]
        harmless=tuple(lists["harmless"] or ()),  # type: ignore[arg-type]
        bounded=frozenset(lists["bounded"] or ()),  # type: ignore[call-overload]
        structural=tuple(lists["structural"] or ()),  # type: ignore[arg-type]
        idle=tuple(lists["idle"] or ()),  # type: ignore[arg-type]
        wrapped=tuple(lists["wrapped"] or ()),  # type: ignore[arg-type]
        beside=parse_part_rules(table.get("beside", {}), f"class_defaults/{UNKNOWN}.toml: beside"),
        drafts=parse_draft_rules(table.get("drafts", {}), f"class_defaults/{UNKNOWN}.toml: drafts"),
        architectures={str(name): str(model_type) for name, model_type in architectures.items()},
        refused=refused,
        names=named_so,
    )


def _by_reason(table: Mapping[str, object], key: str, what: str) -> dict[str, str]:
    """The reason by each entry of the lists at *key*, which stand by reason."""
    lists = table.get(key, {})
    if not isinstance(lists, Mapping) or not all(isinstance(entries, list) for entries in lists.values()):
        raise BadPreset(f"class_defaults/{UNKNOWN}.toml: {key} must be lists of {what} by reason.")
    return {str(entry): str(reason) for reason, entries in lists.items() for entry in entries}
