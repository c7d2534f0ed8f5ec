"""One measured step, what it shares with others, and the rows that it comes from."""

import csv
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planner.catalogue import performance_presets
from planner.catalogue.links import find_link
from planner.inputs.choices import Choices, choose
from planner.speed.constants import SpeedConstants
from planner.speed.fit import Measured, predicted_s
from planner.speed.work import Model, prepare_speed

DATA = Path(__file__).parents[1] / "data"
Row = dict[str, str]
Group = tuple[str, str, bool]
"""Engine, family of devices, whether the model has experts."""
Unseen = tuple[str, float]
"""The card that a reading was of, or what else the constants had not seen, and their error there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One measured step. *card* is left out together, *rig* is one machine and format, *model* whose step it was.

    One user's steps of models with experts are a rig each: how long a layer takes differs by the model.
    *is_alone*: of one user, which does not tell how fast arithmetic goes: it waits for memory. *numbers*: what a prompt
    multiplies. *is_more*: of the rows beside those of ``llama_bench.csv``.
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
    numbers: str = ""
    is_more: bool = False

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
def model_for(model: str, card: str, weights: str, kv_cache: str, tensor_parallel: int, engine: str = "vllm") -> Model:
    chosen = choose(
        Choices(model=model, device=card, weights=weights, kv_cache=kv_cache, tensor_parallel=tensor_parallel)
    )
    kernels, link = performance_presets.kernels_of(engine), find_link(chosen.deployment.device)
    return prepare_speed(chosen.architecture, chosen.deployment, kernels, link)


def error(reading: Reading, constants: SpeedConstants) -> float:
    return predicted_s(reading.measured.work, constants) / reading.measured.seconds - 1


def factor(error: float) -> float:
    """How many times too long or too short a prediction is that is off by *error*, less 1: what a range holds.

    >>> factor(0.25), factor(-0.2)
    (0.25, 0.25)
    """
    return max(1 + error, 1 / (1 + error)) - 1


def range_for(errors: Iterable[Unseen]) -> float:
    """The factor that holds nine of ten of a source's errors, for nine of ten sources, the next one counted among them.

    Readings of one card lie together, so that cards are counted (split conformal prediction over sources).
    >>> range_for([("a", 0.1), ("a", 0.2), ("b", 0.5)])
    0.5
    """
    factors: dict[str, list[float]] = {}
    for source, found in errors:
        factors.setdefault(source, []).append(factor(found))
    sources = sorted(sorted(some)[math.ceil(0.9 * len(some)) - 1] for some in factors.values())
    return sources[min(len(sources), math.ceil(0.9 * (len(sources) + 1))) - 1] if sources else 0.0


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
