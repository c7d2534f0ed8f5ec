"""pydantic at the edges: the planner's own dataclasses validated, dumped and described, without a second set of models.

pydantic costs more to import than a plan to make, so it is imported on first use; a plan from presets never does.
"""

from functools import cache
from typing import Any, TypeVar

from planner.errors import PlannerError

T = TypeVar("T")
MAX_PROBLEMS = 3


@cache
def _adapter(cls: type) -> Any:
    from pydantic import ConfigDict, TypeAdapter

    return TypeAdapter(cls, config=ConfigDict(extra="forbid", strict=False))


def validate(cls: type[T], value: Any, what: str) -> T:
    """*value* as a *cls*; unknown keys are refused. Raises PlannerError naming *what* and each path that is wrong."""
    from pydantic import ValidationError

    try:
        validated: T = _adapter(cls).validate_python(value)
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:MAX_PROBLEMS]]
        raise PlannerError(f"{what} is not valid: {'; '.join(problems)}.") from error
    return validated


def schema(cls: type) -> dict[str, Any]:
    """The JSON Schema of *cls*."""
    described: dict[str, Any] = _adapter(cls).json_schema()
    return described
