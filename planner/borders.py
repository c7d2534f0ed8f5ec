"""pydantic at the edges: the planner's own dataclasses validated, without a second set of models.

pydantic costs more to import than a plan to make, so it is imported on first use; a plan from presets never does.
"""

from dataclasses import is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from planner.errors import PlannerError

T = TypeVar("T")
MAX_PROBLEMS = 3


@cache
def _adapter(cls: type) -> Any:
    from pydantic import TypeAdapter

    _forbid_unknown_keys(cls)
    return TypeAdapter(cls)


def _forbid_unknown_keys(cls: type) -> None:
    """Tell pydantic to refuse unknown keys in *cls* and in the dataclasses that its fields hold."""
    cls.__pydantic_config__ = {"extra": "forbid"}  # type: ignore[attr-defined]
    for hint in get_type_hints(cls).values():
        for part in (hint, *get_args(hint)):
            if is_dataclass(part) and isinstance(part, type) and not hasattr(part, "__pydantic_config__"):
                _forbid_unknown_keys(part)


def validate(cls: type[T], value: Any, what: str) -> T:
    """*value* as a *cls*; unknown keys are refused. Raises PlannerError naming *what* and each path that is wrong."""
    from pydantic import ValidationError

    try:
        validated: T = _adapter(cls).validate_python(value)  # type: ignore[arg-type]
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:MAX_PROBLEMS]]
        raise PlannerError(f"{what} is not valid: {'; '.join(problems)}.") from error
    return validated
