"""pydantic at the edges: the planner's own dataclasses validated, without a second set of models.

pydantic costs more to import than a plan to make, so it is imported on first use; a plan from presets never does.
"""

import json
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


def validate(cls: type[T], value: Any, what: str, *, strict: bool = False) -> T:
    """*value* as a *cls*; unknown keys are refused. Raises PlannerError naming *what* and each path that is wrong.

    With *strict* it is JSON's own: no number is made of a text, or of true.
    """
    from pydantic import ValidationError

    adapter = _adapter(cls)  # type: ignore[arg-type]
    try:
        validated: T = (
            adapter.validate_json(json.dumps(value), strict=True) if strict else adapter.validate_python(value)
        )
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:MAX_PROBLEMS]]
        raise PlannerError(f"{what} is not valid: {'; '.join(problems)}.") from error
    return validated
