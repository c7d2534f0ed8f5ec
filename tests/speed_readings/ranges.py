"""How often ranges hold: each is as wide as the errors of other cards say, and constants have not seen the card."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from planner.catalogue import performance_presets
from tests.speed_readings.fitting import Result, fitted
from tests.speed_readings.prefill import FEW, unseen_prompts
from tests.speed_readings.reading import Group, Reading, Unseen, error, factor, range_for
from tests.speed_readings.table import bench, serving

STRIX = "– more rows of Strix Halo"
"""Above all of models with experts of which no other card tells."""
Held = tuple[Reading, bool]
"""A reading, and whether its range holds it."""


def nearest_errors(
    group: Group,
    readings: Sequence[Reading],
    results: Mapping[Group, Result],
    errors_of: Callable[[Result], Mapping[int, float]],
    without: str = "",
) -> list[Unseen]:
    """Of cards but for *without*: the group's own, where these are few the engine's, else all.

    One user's answers of models with experts differ by the model more than by the card, so that models are counted.
    """
    alone = {group: results[group]} if group in results else {}
    errors: list[Unseen] = []
    enough = 0
    for some in (alone, of_engine(results, group[0], group[2]), results):
        if enough < FEW:
            places = [
                (readings[place], found)
                for one in some.values()
                for place, found in errors_of(one).items()
                if readings[place].card != without
            ]
            errors = [(reading.card, found) for reading, found in places]
            by_model = {reading.model for reading, _ in places if reading.is_alone and reading.experts}
            enough = len(by_model) or len(errors)
    return errors


def of_engine(results: Mapping[Group, Result], engine: str, experts: bool) -> dict[Group, Result]:
    """Results of an engine's families, those apart left out."""
    apart = performance_presets.families_apart()
    return {
        group: result
        for group, result in results.items()
        if (group[0], group[2]) == (engine, experts) and group[1] not in apart
    }


def other_models(group: Group, possible: Sequence[Reading]) -> list[Unseen]:
    """Errors of each model of a group with constants from the others: no other card says anything of these."""
    members = [reading for reading in possible if reading.group == group]
    errors = []
    for model in sorted({reading.model for reading in members}):
        rest = [reading for reading in possible if reading.group != group or reading.model != model]
        constants = fitted(group, rest, card=None)
        assert constants is not None
        errors += [(model, error(reading, constants)) for reading in members if reading.model == model]
    return errors


def steps(readings: Sequence[Reading], results: Mapping[Group, Result]) -> Iterator[Held]:
    """Steps, as planned for a card, or of those apart a model, that nobody measured."""
    possible = [reading for reading in readings if reading.is_possible]
    for group, result in results.items():
        if group[1] in performance_presets.families_apart():
            models = other_models(group, possible)
            for model, found in models:
                reading = next(one for one in possible if one.group == group and one.model == model)
                yield reading, factor(found) <= range_for(one for one in models if one[0] != model)
            continue
        for place, found in result.unseen.items():
            width = range_for(nearest_errors(group, readings, results, _unseen, readings[place].card))
            yield readings[place], factor(found) <= width


def calibrated_steps(readings: Sequence[Reading], results: Mapping[Group, Result]) -> Iterator[Held]:
    """The same with one measured row of the machine: the narrower of both ranges."""
    for group, result in results.items():
        for place, found in result.calibrated.items():
            card = readings[place].card
            width = min(
                range_for(nearest_errors(group, readings, results, errors_of, card))
                for errors_of in (_unseen, _calibrated)
            )
            yield readings[place], factor(found) <= width


def _unseen(result: Result) -> Mapping[int, float]:
    return result.unseen


def _calibrated(result: Result) -> Mapping[int, float]:
    return result.calibrated


def is_apart(one: Held) -> bool:
    """Whether it counts in a line of its own."""
    return one[0].is_crowd_sourced or one[0].is_more


def table() -> list[str]:
    """The table of METHOD.md: how many of the readings lie within their ranges."""
    alone, own, busy = list(steps(*bench())), list(calibrated_steps(*bench())), list(steps(*serving()))
    prompts = [(reading, factor(found) <= width) for reading, found, width in unseen_prompts()]
    lines = ["| Ranges that hold what was measured | Rows | Hold |", "|---|---:|---:|"]
    for title, held in (
        ("one user's answers: llama.cpp", [one for one in alone if not is_apart(one)]),
        ("– LocalScore, crowd-sourced", [one for one in alone if one[0].is_crowd_sourced]),
        (STRIX, [one for one in alone if one[0].is_more]),
        ("– with one calibration row", [one for one in own if not one[0].is_more]),
        (f"{STRIX}, with one calibration row", [one for one in own if one[0].is_more]),
        ("prompts: llama.cpp", [one for one in prompts if not one[0].is_crowd_sourced]),
        ("– LocalScore, crowd-sourced", [one for one in prompts if one[0].is_crowd_sourced]),
        ("servers' steps, prompts counted", busy),
        ("– with one calibration row", list(calibrated_steps(*serving()))),
    ):
        lines.append(f"| {title} | {len(held)} | {sum(holds for _, holds in held) / len(held):.0%} |")
    return lines
