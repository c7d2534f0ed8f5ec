"""A family's rules for one config, once the conditions that depend on its values are settled."""

from collections.abc import Mapping
from dataclasses import replace

from planner.errors import UnsupportedModel
from planner.readers.block_configs import block_values
from planner.readers.family import Family
from planner.readers.values import Values

ANY = "*"
"""In a condition: whatever the file says, as long as it says something."""
NOTHING = ""
"""In a condition: that the file says nothing, or null."""


def settle(
    family: Family,
    table: Mapping[str, object],
    model_type: str,
    fallback: Mapping[str, object],
    lifted: Mapping[str, tuple[object, str]],
    place: str = "",
) -> tuple[Family, Values]:
    """*family* as it applies to *table*, and the table's values.

    *lifted* are values and their places in the file around the table, which stands at *place* in it; *fallback* fills
    what neither file nor class gives.
    """
    defaults = {**fallback, **family.defaults, **{key: value for key, (value, _) in lifted.items()}}
    places = {key: written for key, (_, written) in lifted.items()}
    values = Values(table, model_type, family.aliases, defaults, place=place, lifted=places)
    for key, known in family.known.items():
        value = values.get(key)
        if value is not None and value not in known:
            raise values.wrong(key, value, f"one of {', '.join(map(str, known))}")
    forced: dict[str, object] = {key: family.defaults[key] for key in family.filled if values.is_null(key)}
    structure = family.structure
    for condition in family.conditions:
        if all(_holds(values, key, wanted) for key, wanted in condition.keys.items()):
            if condition.refused:
                raise UnsupportedModel(f"{values.where} {condition.refused}.")
            structure = replace(structure, **condition.structure)  # type: ignore[arg-type]
            for key, value in condition.values.items():
                forced[key] = _computed(values, value) if isinstance(value, str) else value
    if structure.layers == "blocks":
        forced |= block_values(values)
    if not forced and structure is family.structure:
        return family, values
    settled = Values(table, model_type, family.aliases, defaults, forced, place=place, lifted=places)
    return replace(family, structure=structure), settled


def _holds(values: Values, key: str, wanted: object) -> bool:
    if wanted in (ANY, NOTHING):
        return values.has(key) is (wanted == ANY)
    return values.get(key) == wanted


def _computed(values: Values, size: str) -> object:
    """The value at a key, or the whole number at it with another added, taken off, multiplied or divided by."""
    key, sign, number = (*size.split(" "), "", "")[:3]
    if not sign:
        return values.get(key)
    whole = values.optional_integer(key)
    if whole is None:
        return None
    return {"+": whole + int(number), "-": whole - int(number), "*": whole * int(number), "//": whole // int(number)}[
        sign
    ]
