"""Constants from readings of a group and of its kin; and their errors on cards that the fit had not seen."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.catalogue import performance_presets
from planner.speed.constants import SpeedConstants
from planner.speed.fit import calibrate, fit
from tests.speed_readings.reading import Group, Reading, by_rig, error

START = SpeedConstants(
    engine="",
    family="",
    layer_s=45e-6,
    read_efficiency=0.85,
    link_efficiency=0.15,  # as the sums of 1 MiB of links.toml's source have it
    median_error=0.0,
    p90_error=0.0,
    source="",
    calibrated_median_error=0.0,
    calibrated_p90_error=0.0,
)
TOLD = 0.05
"""Steps that spend less of their time computing do not tell how fast that goes: one user's answers."""
SEVERAL = 3
"""With fewer cards than this in a family, its fixed time a layer is that of its kin together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One group's constants, and errors of readings: unseen, and with one row of the same machine as calibration.

    *without*: the constants for each card, fitted without it.
    """

    constants: SpeedConstants
    without: dict[str, SpeedConstants]
    unseen: dict[int, float]
    calibrated: dict[int, float]


def fitted(group: Group, readings: Sequence[Reading], card: str | None) -> SpeedConstants | None:
    """Constants for *group* from everything but *card*: from its own family, over its kin, over all engines."""
    engine, family, experts = group
    apart = performance_presets.families_apart()
    others = [r for r in readings if r.experts == experts and r.card != card]
    all_engines = [r for r in others if r.family not in apart]
    kin = [r for r in all_engines if r.engine == engine]
    kin = [r for r in kin if maker(r.family) == maker(family)] or kin
    own = [r for r in others if r.engine == engine and r.family == family]
    found = (
        replace(START, expert_rows=performance_presets.expert_rows())
        if experts and engine in performance_presets.servers()
        else START
    )
    for level in (all_engines, kin):
        found = fitted_to(level, found) if level else found
    if own:
        found = fitted_to(own, found, keep_layer=len({r.card for r in own}) < SEVERAL)
    if kin and all(reading.is_alone for reading in kin):
        found = replace(found, hidden_rows=1)
    return found if own or all_engines else None


def fitted_to(readings: Sequence[Reading], base: SpeedConstants, keep_layer: bool = False) -> SpeedConstants:
    """*base* fitted to *readings*, its share of the arithmetic rate kept where they do not tell it."""
    steps = [reading.measured for reading in readings]
    computing = max(step.work.arithmetic_s / step.seconds for step in steps) / base.arithmetic_efficiency
    return fit(steps, base, keep_layer=keep_layer, keep_arithmetic=computing < TOLD)


def evaluate(readings: Sequence[Reading]) -> dict[Group, Result]:
    """Every group's constants, and errors of *readings*, by their place there, on cards that the fit had not seen."""
    possible = [reading for reading in readings if reading.is_possible]
    places = {id(reading): place for place, reading in enumerate(readings)}
    groups: dict[Group, list[Reading]] = defaultdict(list)
    for reading in possible:
        groups[reading.group].append(reading)
    results = {}
    for group, members in sorted(groups.items()):
        whole = fitted(group, possible, card=None)
        assert whole is not None
        result = Result(constants=whole, without={}, unseen={}, calibrated={})
        for card in sorted({reading.card for reading in members}):
            constants = fitted(group, possible, card)
            if constants is None:
                continue
            result.without[card] = constants
            held = [reading for reading in members if reading.card == card]
            result.unseen.update((places[id(reading)], error(reading, constants)) for reading in held)
            for first, *rest in by_rig(held):
                own = calibrate(constants, [first.measured])
                result.calibrated.update((places[id(reading)], error(reading, own)) for reading in rest)
        results[group] = result
    return results


def maker(family: str) -> str:
    """Who makes cards of *family*."""
    return family.partition("-")[0]
