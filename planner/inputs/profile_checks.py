"""What a profile's file may not say: sizes that shapes give, one item twice, figures that its own passes contradict."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import Any

from planner.calibration import CalibrationProfile
from planner.errors import PlannerError
from planner.printable import printable

EXACT = ("weights", "cache")
"""Items that follow from shapes: no reading takes their place."""
CLOSE = 0.01
"""Beyond the error that a profile states of readings left out: its passes were all in the fit."""


def plain(value: Any) -> Any:
    """*value* of JSON, with a mark in each text for what a terminal would act on."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {printable(key): plain(each) for key, each in value.items()}
        case list():
            return [plain(each) for each in value]
        case _:
            return value


def check_profile(profile: CalibrationProfile, name: str) -> None:
    """Raises PlannerError for the first thing that no measurement leaves in the file called *name*."""
    taken: set[str] = set()
    for item in profile.items:
        exact = next((each for each in (item.name, *item.replaces) if each in EXACT), None)
        if exact is not None:
            raise PlannerError(f"{name} has {exact} as a measured item: that follows from the model's shapes.")
        twice = next((each for each in {item.name, *item.replaces} if each in taken), None)
        if twice is not None:
            raise PlannerError(f"{name} measures {twice} twice: keep the item that is meant, or measure again.")
        taken |= {item.name, *item.replaces}
    if (speed := profile.speed) is not None:
        errors = [abs(speed.seconds(one) / one.seconds - 1) for one in profile.passes if one.seconds]
        _check_error(errors, speed.worst_error, f"{name}: its times")
    for item in profile.items:
        worst = item.error
        if worst is not None and profile.subject.is_machine:
            _check_error(_errors(profile, item.name), worst, f"{name}: {item.name}")


def _errors(profile: CalibrationProfile, name: str) -> Iterator[float]:
    """How far the item called *name* is from each of the passes that it was fitted to."""
    (item,) = (each for each in profile.items if each.name == name)
    for one in profile.passes:
        above = None if one.peak_bytes is None else one.peak_bytes - (one.cache_bytes or 0)
        by_name = {"context and libraries": one.outside_bytes, "activations": above, "allocator slack": one.slack_bytes}
        if read := by_name.get(name):
            yield abs(item.line(one.requests * one.new_tokens).bytes / read - 1)


def _check_error(errors: Iterable[float], stated: float, what: str) -> None:
    found = list(errors)
    if found and median(found) > stated + CLOSE:
        raise PlannerError(
            f"{what} are {median(found):.0%} from its own passes in the median, and it says {stated:.0%} at most: "
            "measure again."
        )
