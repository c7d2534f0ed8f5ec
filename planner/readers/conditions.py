"""A family's rules for one config, once the conditions that depend on its values are settled."""

from collections.abc import Mapping
from dataclasses import replace

from planner.errors import UnsupportedModel
from planner.readers.block_configs import block_values
from planner.readers.family import Family
from planner.readers.values import Values

ANY = "*"
"""In a condition: whatever the file says, as long as it says something."""


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
    forced: dict[str, object] = {}
    structure = family.structure
    for condition in family.conditions:
        if all(_holds(values, key, wanted) for key, wanted in condition.keys.items()):
            if condition.refused:
                raise UnsupportedModel(f"{values.where} {condition.refused}.")
            structure = replace(structure, **condition.structure)  # type: ignore[arg-type]
            for key, value in condition.values.items():
                forced[key] = values.get(value) if isinstance(value, str) else value
    if structure.layers == "blocks":
        forced |= block_values(values)
    if not forced and structure is family.structure:
        return family, values
    settled = Values(table, model_type, family.aliases, defaults, forced, place=place, lifted=places)
    return replace(family, structure=structure), settled


def _holds(values: Values, key: str, wanted: object) -> bool:
    return values.has(key) if wanted == ANY else values.get(key) == wanted
