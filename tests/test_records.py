"""The quick decorator makes what the standard one makes."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, replace

import pytest
from pydantic import TypeAdapter, ValidationError

from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Two ends and a name."""

    start: int
    end: int = 9
    names: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("ends before it starts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point3(Point):
    z: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No field at all."""


def test_values_defaults_and_factories() -> None:
    first, second = Span(start=1), Span(start=1)
    assert (first.start, first.end, first.names) == (1, 9, {})
    assert first.names is not second.names
    assert repr(first) == "Span(start=1, end=9)"


def test_a_wrong_call_names_the_field() -> None:
    with pytest.raises(TypeError, match="Span needs start"):
        Span()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Span has no stop"):
        Span(start=1, stop=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Point(1, 2)  # type: ignore[misc]


def test_the_check_after_construction_runs_in_replace_too() -> None:
    with pytest.raises(ValueError, match="ends before"):
        Span(start=10)
    with pytest.raises(ValueError, match="ends before"):
        replace(Span(start=1), start=10)


def test_nothing_can_be_written_or_added() -> None:
    point = Point(x=1, y=2)
    with pytest.raises(FrozenInstanceError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        point.other = 3  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        del point.x
    assert not hasattr(point, "__dict__")


def test_equal_by_class_and_value() -> None:
    assert Point(x=1, y=2) == Point(x=1, y=2) != Point(x=2, y=1)
    assert Point3(x=1, y=2) != Point(x=1, y=2)
    assert Point3(x=1, y=2).z == 0
    assert Nothing() == Nothing()
    assert len({Point(x=1, y=2), Point(x=1, y=2), Nothing(), Nothing()}) == 2


def test_the_standard_library_and_pydantic_know_it() -> None:
    assert [each.name for each in dataclasses.fields(Point3)] == ["x", "y", "z"]
    assert dataclasses.asdict(Point3(x=1, y=2)) == {"x": 1, "y": 2, "z": 0}
    adapter = TypeAdapter(Span)
    assert adapter.validate_python({"start": 3}) == Span(start=3)
    with pytest.raises(ValidationError, match="end"):
        adapter.validate_python({"start": 3, "end": "x"})


@pytest.mark.parametrize("record", [Span(start=1, names={"a": 2}), Point3(x=1, y=2, z=3), Nothing()])
def test_copies_are_equal(record: object) -> None:
    assert copy.copy(record) == record
    assert copy.deepcopy(record) == record
    assert pickle.loads(pickle.dumps(record)) == record
