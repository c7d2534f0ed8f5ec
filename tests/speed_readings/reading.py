"""One measured step, what it shares with others, and the rows that it comes from."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planner import performance_presets
from planner.choices import Choices, choose
from planner.links import find_link
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, predicted_s
from planner.speed.work import Model, prepare_speed

DATA = Path(__file__).parents[1] / "data"
Row = dict[str, str]
Group = tuple[str, str, bool]
"""Engine, family of devices, whether the model has experts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One measured step. *card* is left out together, *rig* is one machine and format, *model* whose step it was.

    *is_alone*: of one user, which does not tell how fast arithmetic goes: it waits for memory.
    """

    engine: str
    family: str
    experts: bool
    model: str
    card: str
    rig: tuple[str, ...]
    measured: Measured
    is_crowd_sourced: bool = False
    is_alone: bool = False

    @property
    def group(self) -> Group:
        return self.engine, self.family, self.experts

    @property
    def is_possible(self) -> bool:
        """Whether reading the bytes at the full rate takes no longer than was measured."""
        return self.measured.seconds >= self.measured.work.ceiling_s


def rows_of(name: str) -> list[Row]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def model_for(model: str, card: str, weights: str, kv_cache: str, tensor_parallel: int) -> Model:
    chosen = choose(
        Choices(model=model, device=card, weights=weights, kv_cache=kv_cache, tensor_parallel=tensor_parallel)
    )
    eight_bit, link = performance_presets.eight_bit_formats(), find_link(chosen.deployment.device)
    return prepare_speed(chosen.architecture, chosen.deployment, eight_bit, link)


def error(reading: Reading, constants: SpeedConstants) -> float:
    return predicted_s(reading.measured.work, constants) / reading.measured.seconds - 1


def quantile(errors: Iterable[float], share: float) -> float:
    """Of the errors' sizes, by nearest rank; 0 of none."""
    ordered = sorted(map(abs, errors))
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def by_rig(readings: Iterable[Reading]) -> Iterator[list[Reading]]:
    """The readings of each machine and format, the quickest first: the lightest load, the smallest model."""
    rigs: dict[tuple[str, ...], list[Reading]] = {}
    for reading in readings:
        rigs.setdefault(reading.rig, []).append(reading)
    return (sorted(rigs[rig], key=lambda one: one.measured.seconds) for rig in sorted(rigs))
