"""Cards whose readings are planned worst, by name: what no other card tells of them."""

from collections import defaultdict
from statistics import median

from tests.speed_readings.reading import factor
from tests.speed_readings.table import bench, serving

FAR = 0.25
"""The median of a card's errors, as a factor less 1."""


def far_off() -> dict[tuple[str, str, bool], list[float]]:
    """Errors by engine, card and whether the models have experts; LocalScore's have a line of their own already."""
    errors: dict[tuple[str, str, bool], list[float]] = defaultdict(list)
    for readings, results in (bench(), serving()):
        for result in results.values():
            for place, found in result.unseen.items():
                reading = readings[place]
                if reading.engine != "llamafile":
                    errors[reading.engine, reading.card, reading.experts].append(found)
    return {key: found for key, found in sorted(errors.items()) if factor(median(found)) >= FAR}


def table() -> list[str]:
    """The table of METHOD.md."""
    lines = ["| Cards planned a quarter off or more | Models | Rows | Time planned ÷ measured |", "|---|---|---:|---:|"]
    for (engine, card, experts), found in far_off().items():
        models = "experts" if experts else "dense"
        lines.append(f"| `{engine}`, {card} | {models} | {len(found)} | {1 + median(found):.2f} |")
    return lines
