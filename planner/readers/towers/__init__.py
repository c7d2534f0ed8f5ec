"""Vision and audio towers of multimodal models, and the projectors into the text model, counted from their configs."""

from collections.abc import Callable, Mapping

from planner.architecture import Tensor, Tower
from planner.errors import UnsupportedModel
from planner.formats import NumberFormat, Role
from planner.readers.family import Family, TowerRule
from planner.readers.towers.audio import AUDIO
from planner.readers.towers.parts import Parts
from planner.readers.towers.projectors import PROJECTORS
from planner.readers.towers.vision import VISION
from planner.readers.values import Values

LAYOUTS: Mapping[str, Mapping[str, Callable[[Values, Values, int], Parts]]] = {
    "vision": VISION,
    "audio": AUDIO,
    "speech": {},
    "projector": PROJECTORS,
}
"""By kind of tower, what its layouts are."""


def read_towers(
    top: Values, family: Family, text_size: int, stored: NumberFormat
) -> tuple[tuple[Tower, ...], tuple[str, ...]]:
    """The towers that *family* says the file has beside a text model of *text_size*, and a warning for uncounted ones.

    Those of an unknown kind are left to ``beside.py``.

    Where the class may have none a config of null says so; else, as without the key, the tower's size is not known.
    """
    rules = [
        rule
        for rule in family.towers
        if not (rule.optional and top.is_null(rule.config))
        and not (rule.stated and not top.has(rule.config))
        and not of_unknown_kind(top, rule)
    ]
    towers = [_read(top, rule, family.model_type, text_size, stored) for rule in rules]
    missing = dict.fromkeys(rule.kind for rule, tower in zip(rules, towers, strict=True) if tower is None)
    found = tuple(tower for tower in towers if tower is not None)
    if not missing:
        return found, ()
    return found, (f"Weights of the {' and '.join(missing)} part are not counted: they do not follow from this file.",)


def of_unknown_kind(top: Values, rule: TowerRule) -> bool:
    """Whether the tower's own model_type, by which *rule* would count it, is not one that the readers know."""
    table = top.table(rule.config) if rule.config and not rule.layout else None
    return bool(table) and Values(table or {}, rule.kind).text("model_type") not in LAYOUTS[rule.kind]


def _read(top: Values, rule: TowerRule, model_type: str, text_size: int, stored: NumberFormat) -> Tower | None:
    """One tower, or None where its config or its layout is not understood."""
    table = top.table(rule.config) if rule.config else {}
    if table is None:
        return None
    tower = Values(table, f"{model_type}: {rule.config}", rule.aliases, rule.defaults)
    layout = LAYOUTS[rule.kind].get(rule.layout or tower.text("model_type"))
    if layout is None or any(tower.has(key) and tower.get(key) not in known for key, known in rule.known.items()):
        return None
    try:
        return tower_of(rule.kind, layout(tower, top, text_size), stored)
    except UnsupportedModel:
        return None


def tower_of(kind: str, parts: Parts, stored: NumberFormat) -> Tower:
    """The tower that is made of *parts*."""
    return Tower(
        kind=kind,
        tensors=tuple(
            Tensor(name=name, role=Role.TOWER, rows=rows, columns=columns, count=count, stored=stored)
            for name, rows, columns, count in parts
        ),
    )
