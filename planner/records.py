"""``@dataclass(frozen=True, slots=True, kw_only=True)``, made in a tenth of the time.

The standard decorator compiles six methods for each class, which for the classes of one plan is a third of the command
line's start. Here the methods are shared: the fields, ``fields``, ``replace``, ``asdict`` and pydantic's adapters are
the standard library's, and type checkers see its decorator. An instance takes a little longer to make, so the
simulator, which makes millions, has the standard one.
"""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: Literal[True], slots: Literal[True], kw_only: Literal[True]) -> Callable[[type], type]:
        """A decorator of one class; the three words stand at each class because readers and type checkers need them."""
        return _record


def _record(cls: type) -> type:
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)
    names = [field.name for field in dataclasses.fields(made)]
    made.__init__ = _init_of(made)
    made.__repr__ = _repr
    values = attrgetter(*names) if names else lambda record: ()

    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    made.__eq__ = equal
    made.__hash__ = lambda self: hash(values(self))
    made.__setattr__ = _refuse_set
    made.__delattr__ = _refuse_delete
    made.__getstate__ = _state
    made.__setstate__ = _set_state
    return made  # type: ignore[no-any-return]


def _init_of(cls: Any) -> Callable[..., None]:
    # A slot's own descriptor writes where __setattr__ refuses to.
    rows = [
        (field.name, getattr(cls, field.name).__set__, field.default, field.default_factory)
        for field in dataclasses.fields(cls)
    ]
    names = {name for name, *_ in rows}
    finish = getattr(cls, "__post_init__", None)
    missing = dataclasses.MISSING

    def init(self: object, **values: object) -> None:
        if not values.keys() <= names:
            raise TypeError(f"{cls.__name__} has no {', '.join(sorted(values.keys() - names))}")
        for name, put, default, factory in rows:
            if name in values:
                put(self, values[name])
            elif default is not missing:
                put(self, default)
            elif factory is not missing:
                put(self, factory())
            else:
                raise TypeError(f"{cls.__name__} needs {name}")
        if finish is not None:
            finish(self)

    return init


def _repr(self: Any) -> str:
    shown = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_set(self: object, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
