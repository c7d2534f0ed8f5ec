"""The share of the arithmetic rate that whole prompts reach, where llama-bench and LocalScore measured them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import median

from planner import format_presets, presets
from planner.catalogue import performance_presets
from planner.speed.constants import SpeedConstants, parts
from planner.speed.rates import arithmetic_of
from tests.speed_readings.bench import prefill_readings
from tests.speed_readings.fitting import maker
from tests.speed_readings.reading import Group, Reading, Unseen, error, range_for
from tests.speed_readings.table import bench

FEW = 5
"""Fewer errors than this say nothing of nine in ten."""
NUMBERS = ("int8", "fp16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The share of the rate of *numbers* that a group's prompts reach, and the range that holds nine of ten."""

    share: float
    range: float


def prompts_of(group: Group, numbers: str, constants: SpeedConstants, without: str = "") -> Prompts | None:
    """What is known but for the card *without*; ``None`` where no device of the family multiplies *numbers*, or the
    engine's prompts were never measured.

    The errors are of prompts that were predicted from as far away: the group's own, else its engine's on cards of the
    same maker, else any engine's there, else all.
    """
    engine, family, _ = group
    if numbers not in _numbers_on(engine, family) or engine not in {row.engine for row in prefill_readings()}:
        return None
    rows = [row for row in prefill_readings() if row.numbers == numbers and row.card != without]
    far, nearest = _nearest(group, rows)
    unseen = [(row, found) for row, found in _unseen(numbers, far) if row.card != without]
    errors: list[Unseen] = []
    for counts in (
        lambda row: row.group == group,
        lambda row: (row.engine, maker(row.family)) == (engine, maker(family)),
        lambda row: maker(row.family) == maker(family),
        lambda row: True,
    ):
        if len(errors) < FEW:
            errors = [(row.card, found) for row, found in unseen if counts(row)]
    return Prompts(share=_share(nearest, constants), range=range_for(errors))


@cache
def unseen_prompts() -> list[tuple[Reading, float, float]]:
    """Every prompt, its error by constants and a share without its card, and the range that these have."""
    found = []
    for row in prefill_readings():
        own = bench()[1][row.group].without[row.card]
        prompts = prompts_of(row.group, row.numbers, own, without=row.card)
        assert prompts is not None
        found.append((row, error(row, replace(own, arithmetic_efficiency=prompts.share)), prompts.range))
    return found


@cache
def _unseen(numbers: str, far: int) -> list[tuple[Reading, float]]:
    """Prompts that multiply *numbers* with their errors, as told by others so *far* away, their own card left out."""
    found = []
    rows = [row for row in prefill_readings() if row.numbers == numbers]
    for row in rows:
        own = bench()[1][row.group].without[row.card]
        told = _by_distance(row.group, [other for other in rows if other.card != row.card])[far]
        if told:
            found.append((row, error(row, replace(own, arithmetic_efficiency=_share(told, own)))))
    return found


@cache
def _numbers_on(engine: str, family: str) -> set[str]:
    """What *engine* multiplies on devices of *family*, whatever the weights."""
    kernels, known = performance_presets.kernels_of(engine), format_presets.formats()
    found = (
        arithmetic_of(device, [known[name]], kernels)
        for device in map(presets.find_device, performance_presets.family_devices())
        if family in ("any", performance_presets.device_family(device.name))
        for name in ("q4_0", "fp16")
    )
    return {rate.numbers for rate in found if rate is not None}


def _nearest(group: Group, rows: Sequence[Reading]) -> tuple[int, list[Reading]]:
    """Of *rows* those that say most of *group*, and how far away they are."""
    return next((far, found) for far, found in enumerate(_by_distance(group, rows)) if found or far == FARTHEST)


def _by_distance(group: Group, rows: Sequence[Reading]) -> list[list[Reading]]:
    """First of models alike, with experts or without, then of any: of the engine on that family; of other engines
    there; of the engine on cards of that maker; of the engine anywhere. Last all."""
    engine, family, experts = group
    found = []
    for some in ([row for row in rows if row.experts == experts], rows):
        found += [
            [row for row in some if (row.engine, row.family) == (engine, family)],
            [row for row in some if row.family == family],
            [row for row in some if (row.engine, maker(row.family)) == (engine, maker(family))],
            [row for row in some if row.engine == engine],
        ]
    return [*found, list(rows)]


FARTHEST = 8


def _share(rows: Sequence[Reading], constants: SpeedConstants) -> float:
    """The median, of what time is left for arithmetic."""
    return median(min(1.0, _arithmetic_share(row, constants)) for row in rows)


def _arithmetic_share(reading: Reading, constants: SpeedConstants) -> float:
    known = parts(reading.measured.work, constants)
    left_s = reading.measured.seconds - (known.total_s - known.arithmetic_s)
    return reading.measured.work.arithmetic_s / max(left_s, reading.measured.work.arithmetic_s)
