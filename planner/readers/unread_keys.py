"""Keys of a known family's file that look like more layers or sizes, and that nothing reads."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.readers.family import Family
from planner.readers.strange_keys import is_like, named, strange_keys
from planner.readers.values import Values
from planner.units import shorten

if TYPE_CHECKING:
    from planner.readers.unknown import UnknownRules

_SIZES = ("_size", "_dim", "_heads")


def unread_keys(table: Mapping[str, object], values: Values, family: Family, rules: "UnknownRules") -> tuple[str, ...]:
    """A warning for keys of *table* that may stand for more than *family*'s rules have counted."""
    accepted = values.used | family.own_keys | rules.bounded | set(family.covered)
    counted = {table[key] for key in values.used & table.keys() if type(table[key]) is int}
    flat = {**table, **_in_objects(table, family)}
    harmless = (*rules.harmless, *rules.idle)
    strange = [key for key in strange_keys(flat, accepted, harmless) if not is_like(_last(key), harmless)]
    adding = [key for key in strange if is_like(_last(key), rules.structural) and _may_add(key, flat[key], counted)]
    if not adding:
        return ()
    return (
        f"The config has {named(adding, values)}, which model_type {shorten(values.model_type)!r} is not known to "
        "read: what that may add in layers, tensors or caches is not counted.",
    )


def _may_add(key: str, value: object, counted: set[object]) -> bool:
    """Whether *value* is more than a leftover: on, a text, a list, or a number that is no other name's for the same."""
    if isinstance(value, dict):
        return False  # an object is refused, or counted as a part
    is_renamed = key.endswith(_SIZES) and "." not in key and isinstance(value, int) and value in counted
    return value is True or not isinstance(value, (int, float)) or (value > 1 and not is_renamed)


def _in_objects(table: Mapping[str, object], family: Family) -> dict[str, object]:
    """What stands in the objects of *table* that *family* reads keys of, such as DBRX's ``attn_config.kv_n_heads``."""
    names = {key.partition(".")[0] for key in family.own_keys if "." in key}
    objects = {name: found for name in names if isinstance(found := table.get(name), dict)}
    return {f"{name}.{key}": value for name, found in objects.items() for key, value in found.items()}


def _last(key: str) -> str:
    return key.rpartition(".")[2]
