"""What a reader is handed beside the file itself, so that it never opens one."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from planner.formats import NumberFormat
from planner.readers.family import Family
from planner.records import dataclass

if TYPE_CHECKING:
    from planner.readers.unknown import UnknownRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """*formats* by name; *find_family* gives a model_type's family or None; *unknown_rules* what to do without one.

    The two are functions because a plan should load only the families that it names.
    """

    formats: Mapping[str, NumberFormat]
    find_family: Callable[[str], Family | None]
    unknown_rules: Callable[[], "UnknownRules"]
