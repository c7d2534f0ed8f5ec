"""The table of METHOD.md: errors by kind of reading, on cards that the fit had not seen, and after one measured row."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from tests.speed_readings.bench import bench_readings
from tests.speed_readings.closed_loop import simulated
from tests.speed_readings.fitting import Result, evaluate
from tests.speed_readings.reading import Group, Reading, quantile
from tests.speed_readings.serving import serving_readings


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table: *chosen* says which readings count, *limit* the threshold on the median."""

    title: str
    chosen: Callable[[Reading], bool]
    limit: float | None = None


RECENT = ("nvidia-ada", "nvidia-blackwell", "apple", "apple-ultra")
LARGE = "llama-3.1-70b"
"""vLLM's large dense model; of 32 billion parameters there is one row, of cards joined by no stated link."""
BENCH_LINES = (
    Line(
        title="llama-bench, dense: Ada, Blackwell, Apple",
        chosen=lambda r: not r.experts and r.family in RECENT and not r.is_crowd_sourced and not r.is_more,
        limit=0.05,
    ),
    Line(
        title="llama-bench and LocalScore, dense: all families",
        chosen=lambda r: not r.experts and not r.is_more,
        limit=0.08,
    ),
    Line(title="– current llama.cpp", chosen=lambda r: not r.experts and not r.is_more and r.engine == "llama_cpp"),
    Line(
        title="– llama.cpp with Vulkan",
        chosen=lambda r: not r.experts and not r.is_more and r.engine == "llama_cpp_vulkan",
    ),
    Line(title="– llama.cpp of May 2024", chosen=lambda r: not r.experts and r.engine == "llama_cpp_2024"),
    Line(title="– LocalScore (llamafile), crowd-sourced", chosen=lambda r: not r.experts and r.is_crowd_sourced),
    Line(title="llama-bench, experts", chosen=lambda r: r.experts and not r.is_more),
    Line(title="– more rows of Strix Halo, dense", chosen=lambda r: not r.experts and r.is_more),
    Line(title="– more rows of Strix Halo, experts", chosen=lambda r: r.experts and r.is_more),
)
SERVING_LINES = (
    Line(title="vLLM, dense 70B", chosen=lambda r: r.engine == "vllm" and r.model == LARGE, limit=0.10),
    Line(title="serving, dense: all engines", chosen=lambda r: not r.experts, limit=0.13),
    Line(title="– vLLM, dense 8B and 27B", chosen=lambda r: r.engine == "vllm" and not r.experts and r.model != LARGE),
    Line(title="– TensorRT-LLM, dense 70B", chosen=lambda r: r.engine == "tensorrt_llm" and not r.experts),
    Line(title="– NIM, dense 70B", chosen=lambda r: r.engine == "nim"),
    Line(title="– SGLang, dense 1.7B to 32B", chosen=lambda r: r.engine == "sglang" and not r.experts),
    Line(title="serving, experts: all engines", chosen=lambda r: r.experts, limit=0.15),
    Line(title="– vLLM, experts", chosen=lambda r: r.experts and r.engine == "vllm" and not r.is_crowd_sourced),
    Line(title="– vLLM, experts, crowd-sourced", chosen=lambda r: r.experts and r.is_crowd_sourced),
    Line(title="– TensorRT-LLM, experts", chosen=lambda r: r.experts and r.engine == "tensorrt_llm"),
    Line(title="– SGLang, experts", chosen=lambda r: r.experts and r.engine == "sglang"),
)


@cache
def bench() -> tuple[list[Reading], dict[Group, Result]]:
    readings = bench_readings()
    return readings, evaluate(readings)


@cache
def serving() -> tuple[list[Reading], dict[Group, Result]]:
    readings = serving_readings()
    return readings, evaluate(readings)


def family_lines(readings: Iterable[Reading], part: str) -> list[Line]:
    """One line for each card or family of *readings*; LocalScore's rows have a line of their own already."""
    counted = [reading for reading in readings if reading.engine != "llamafile"]
    return [
        Line(
            title=f"– on {name}",
            chosen=lambda r, name=name: getattr(r, part) == name and r.engine != "llamafile",
        )
        for name in sorted({getattr(reading, part) for reading in counted if reading.is_possible})
    ]


def table() -> list[str]:
    """The table of METHOD.md."""
    lines = [
        "| Readings | Rows | Median | 90% | Limit | One calibration row: median | 90% |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for (readings, results), kinds, part in ((bench(), BENCH_LINES, "family"), (serving(), SERVING_LINES, "card")):
        unseen = {place: error for result in results.values() for place, error in result.unseen.items()}
        own = {place: error for result in results.values() for place, error in result.calibrated.items()}
        for kind in (*kinds, *family_lines(readings, part)):
            places = [place for place, reading in enumerate(readings) if kind.chosen(reading)]
            shown = [
                cell
                for errors in ([by[place] for place in places if place in by] for by in (unseen, own))
                for cell in _cells(errors)
            ]
            limit = "" if kind.limit is None else f"{kind.limit:.0%}"
            count = sum(place in unseen for place in places)
            lines.append(f"| {' | '.join([kind.title, str(count), *shown[:2], limit, *shown[2:]])} |")
    by_simulation = simulated()
    for title, errors in (
        ("– time to first token, simulated", by_simulation.first_token),
        ("– time to first token, as if alone", by_simulation.alone),
        ("– tokens of all users, simulated", by_simulation.of_all),
    ):
        lines.append(f"| {' | '.join([title, str(len(errors)), *_cells(errors)])} |  | – | – |")
    return lines


def _cells(errors: Sequence[float]) -> list[str]:
    return [f"{quantile(errors, part):.1%}" if errors else "–" for part in (0.5, 0.9)]
