"""The families and formats in presets/: what the readers' tests read with."""

import tomllib
from functools import cache
from pathlib import Path

from planner import format_presets
from planner.readers.families import parse_family
from planner.readers.family import Family
from planner.readers.knowledge import Knowledge
from planner.readers.unknown import UnknownRules, parse_unknown_rules

FAMILIES = Path(__file__).parents[2] / "presets" / "class_defaults"
FORMATS = format_presets.formats()


NAMES = frozenset(path.stem for path in FAMILIES.glob("*.toml")) - {"_unknown"}


@cache
def find_family(model_type: str) -> Family | None:
    path = FAMILIES / f"{model_type}.toml"
    if model_type not in NAMES:
        return None
    return parse_family(model_type, tomllib.loads(path.read_text(encoding="utf-8")))


@cache
def unknown_rules() -> UnknownRules:
    return parse_unknown_rules(tomllib.loads((FAMILIES / "_unknown.toml").read_text(encoding="utf-8")))


KNOWLEDGE = Knowledge(formats=FORMATS, find_family=find_family, unknown_rules=unknown_rules)
