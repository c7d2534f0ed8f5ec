"""What becomes of every row of the data: each is in exactly one class, and how many each class has."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tests import draft_readings
from tests.speed_readings import bench, closed_loop, serving
from tests.speed_readings.fitting import Result
from tests.speed_readings.reading import Group, Reading, Row, rows_of
from tests.speed_readings.table import bench as bench_results
from tests.speed_readings.table import serving as serving_results

PREDICTED = "predicted by constants fitted without their card"
SIMULATED = "predicted by simulation, nothing fitted to them"
FITTED = "fitted only: no other card was measured"
ASIDE = "set aside: faster than their bytes can be read"
NOT = "not predicted: "

Evaluated = tuple[Sequence[Reading], Mapping[Group, Result]]


def bench_classes(name: str = bench.FILE) -> list[str]:
    """The class of each row of llama_bench.csv, or of the file beside it, by its answers."""
    return _classes(
        name, bench.why_not, lambda row: False, bench_results(), lambda one: one.is_more == (name == bench.MORE)
    )


def serving_classes() -> list[str]:
    """The class of each row of serving_speed.csv."""
    return _classes(
        serving.FILE, lambda row: row["reason"], closed_loop.is_simulated, serving_results(), lambda one: True
    )


def _classes(
    name: str,
    why_not: Callable[[Row], str],
    is_simulated: Callable[[Row], bool],
    evaluated: Evaluated,
    is_of_file: Callable[[Reading], bool],
) -> list[str]:
    """Readings stand in the order of their rows."""
    readings, results = evaluated
    unseen = {place for result in results.values() for place in result.unseen}
    places = [place for place, reading in enumerate(readings) if is_of_file(reading)]
    found = []
    for row in rows_of(name):
        if reason := why_not(row):
            found.append(NOT + reason)
        elif is_simulated(row):
            found.append(SIMULATED)
        else:
            place = places.pop(0)
            known = PREDICTED if place in unseen else FITTED
            found.append(known if readings[place].is_possible else ASIDE)
    assert not places
    return found


def table() -> list[str]:
    """The table of METHOD.md: rows by file and class."""
    lines = ["| Rows | Number |", "|---|---:|"]
    for name, classes in (
        ("`llama_bench.csv`", bench_classes()),
        ("`llama_bench_more.csv`", bench_classes(bench.MORE)),
        ("`serving_speed.csv`", serving_classes()),
        ("`speculation.csv`", draft_readings.classes()),
    ):
        lines.append(f"| {name} | {len(classes):,} |")
        counted = Counter(classes)
        for title in sorted(counted, key=lambda title: (title.startswith(NOT), -counted[title], title)):
            lines.append(f"| – {title} | {counted[title]:,} |")
    return lines
