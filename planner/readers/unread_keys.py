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
    strange = strange_keys(table, accepted, (*rules.harmless, *rules.idle))
    adding = [key for key in strange if is_like(key, rules.structural) and _may_add(key, table[key], counted)]
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
    is_renamed = value in counted if key.endswith(_SIZES) and isinstance(value, int) else False
    return value is True or not isinstance(value, (int, float)) or (value > 1 and not is_renamed)
