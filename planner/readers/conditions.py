"""A family's rules for one config, once the conditions that depend on its values are settled."""

from collections.abc import Mapping
from dataclasses import replace

from planner.readers.block_configs import block_values
from planner.readers.family import Family
from planner.readers.values import Values


def settle(
    family: Family,
    table: Mapping[str, object],
    model_type: str,
    fallback: Mapping[str, object],
    lifted: Mapping[str, object],
) -> tuple[Family, Values]:
    """*family* as it applies to *table*, and the table's values.

    *lifted* values come from the file around the table; *fallback* fills what neither file nor class gives.
    """
    defaults = {**fallback, **family.defaults, **lifted}
    values = Values(table, model_type, family.aliases, defaults)
    forced: dict[str, object] = {}
    structure = family.structure
    for condition in family.conditions:
        if all(values.get(key) == wanted for key, wanted in condition.keys.items()):
            structure = replace(structure, **condition.structure)  # type: ignore[arg-type]
            for key, value in condition.values.items():
                forced[key] = values.get(value) if isinstance(value, str) else value
    if structure.layers == "blocks":
        forced |= block_values(values)
    if not forced and structure is family.structure:
        return family, values
    return replace(family, structure=structure), Values(table, model_type, family.aliases, defaults, forced)
