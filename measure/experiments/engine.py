"""A real engine's start-up, read through ``planner.logs``, beside the plan for the same model and flags."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import engines, tiny_gguf, trained
from measure.engines import VLLM, EngineStart
from measure.experiments.base import Report, Settings, Table, rows_of
from measure.pictures import identity
from measure.records import Case, Record
from measure.setup import Setup
from measure.worker import Message
from planner.answers.answer import answer
from planner.errors import PlannerError
from planner.inputs.choices import Choices, Chosen, choose
from planner.line_item import Kind, LineItem
from planner.logs.devices import is_host
from planner.logs.read import read_log
from planner.logs.readings import Reading, Start
from planner.startups.choices import choices_from_log
from planner.startups.comparison import compare
from planner.units import GIB, counted, shorten

NAME = "engine"
CONTEXT = 1_100
"""No multiple of the 256 cells by which llama.cpp pads."""
SHAPES = ((1, "f16"), (4, "f16"), (1, "q8_0"), (4, "q4_0"))
QUICK_SHAPES = SHAPES[:3]
TINY = "tiny.gguf"
BUFFERS = {"weights": (Kind.WEIGHTS, None), "cache": (Kind.CACHE, None), "states": (Kind.CACHE, None),
           "output": (Kind.RUNTIME, "output buffer"), "compute": (Kind.RUNTIME, "compute buffer")}  # fmt: skip
"""The log's names, and which of the planner's items they are."""
POOL = ("pool_tokens", "blocks", "concurrency")
ROOM_BYTES = 2 * GIB


def cases(setup: Setup) -> list[Case]:
    model = _model(setup)
    if model is not None and not model.is_file():
        raise PlannerError(
            f"{shorten(setup.model)!r} is no file here: engine takes a GGUF file as --model, or none for the trained "
            "model's."
        )
    shapes = QUICK_SHAPES if setup.quick else SHAPES
    return [
        Case(experiment=NAME, name=f"{name} {slots} × {kind}", settings={"engine": name, "slots": slots, "cache": kind})
        for name in engines.installed()
        if name != VLLM or not setup.model  # a GGUF file is for llama.cpp
        for slots, kind in (((4, "f16"),) if name == VLLM else shapes)
    ]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    model = _model(setup)
    return ROOM_BYTES + (0 if model is None else 2 * model.stat().st_size)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    with tempfile.TemporaryDirectory() as folder:
        name, model = settings["engine"], _model(setup)
        path = str(trained.folder() if name == VLLM else model or tiny_gguf.write(Path(folder) / TINY))
        asked = EngineStart(
            model=path, n_ctx=CONTEXT * (1 if name == VLLM else settings["slots"]), n_parallel=settings["slots"],
            cache_type=settings["cache"],
        )  # fmt: skip
        said = engines.start_up(name, asked)
        found = read_log(said)
        if not found.starts:
            last = next((line.strip() for line in reversed(said.splitlines()) if line.strip()), "")
            raise PlannerError(f"{name} printed {found.lines:,} lines and none about its memory; the last: {last}")
        chosen = _chosen(found.starts[-1], path, name, settings)
        yield {
            "engine": name,
            "version": found.starts[-1].version or chosen.deployment.settings.version,
            "model": chosen.architecture.title,
            "slots": settings["slots"],
            "cache": settings["cache"],
            **(_pool if name == VLLM else _buffers)(found.starts[-1], chosen),
        }


def _model(setup: Setup) -> Path | None:
    """The GGUF file that is named, or the trained model's; ``None``: a tiny one is written."""
    if setup.model not in ("", trained.NAME):
        return Path(setup.model)
    return trained.gguf() if trained.is_installed() else None


def _chosen(start: Start, path: str, name: str, settings: Settings) -> Chosen:
    """The same model and flags as a plan, on a device that is large enough for anything."""
    set_ = (f"kv_cache_memory_bytes={engines.CPU_POOL_GIB}GiB", f"block_size={engines.VLLM_BLOCK}")
    if name != VLLM:
        is_on_card = any(reading.name == "offloaded" and reading.value for reading in start.readings)
        set_ = () if is_on_card else ("n_gpu_layers=0",)
    given = Choices(model=path, memory="1TiB", set=set_, kv_cache=_cache_format(settings["cache"]), context=CONTEXT)
    told = choices_from_log(start, given)
    if told.choices is None:
        raise PlannerError(told.missing)
    return choose(told.choices)


def _cache_format(name: str) -> str:
    return {"f16": "fp16"}.get(name, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    """What is planned, with its range."""

    bytes: int
    low_bytes: int
    high_bytes: int


def _buffers(start: Start, chosen: Chosen) -> dict[str, Any]:
    """Each buffer of all devices together, those in main memory beside those on cards."""
    plan = answer(chosen.architecture, chosen.deployment, chosen.workload)
    row: dict[str, Any] = {}
    states = sum(reading.value for reading in start.named("states"))
    for name, (kind, item_name) in BUFFERS.items():
        readings = start.named(name)
        if not readings or name == "states":
            continue
        on_host = any(is_host(reading.rank) for reading in readings)
        on_card = any(not is_host(reading.rank) for reading in readings)
        items = (*(plan.host_items if on_host else ()), *(plan.items if on_card else ()))
        total = _sum(items, kind, item_name)
        measured = sum(int(reading.value) for reading in readings) + int(states if name == "cache" else 0)
        row |= {
            f"predicted_{name}_bytes": total.bytes,
            f"measured_{name}_bytes": measured,
            f"{name}_as_printed": _as_printed(total.bytes, measured, readings),
        }
        if total.low_bytes != total.high_bytes:
            row[f"{name}_within"] = total.low_bytes <= measured <= total.high_bytes
    return row


def _sum(items: Sequence[LineItem], kind: Kind, name: str | None) -> _Sum:
    those = [item for item in items if item.kind is kind and (name is None or item.name == name)]
    return _Sum(
        bytes=sum(item.bytes for item in those),
        low_bytes=sum(item.low_bytes for item in those),
        high_bytes=sum(item.high_bytes for item in those),
    )


def _as_printed(predicted: int, measured: int, readings: Sequence[Reading]) -> bool:
    """Whether they are equal once the prediction is rounded to the digits that are printed."""
    return abs(predicted - measured) <= sum(reading.step for reading in readings) / 2 + 1


def _pool(start: Start, chosen: Chosen) -> dict[str, Any]:
    """The pool's tokens and blocks, which follow from its bytes."""
    row: dict[str, Any] = {}
    for one in compare(start, chosen):
        if one.name in POOL and one.predicted is not None:
            row |= {
                f"predicted_{one.name}": one.predicted,
                f"measured_{one.name}": one.value,
                f"{one.name}_as_printed": one.why.startswith(("as printed", "within")),
            }
    return row


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows = rows_of(records)
    pairs = [_pair(row, key) for row in rows for key in row if key.startswith("predicted_")]
    sizes = [pair for pair in pairs if not pair["what"].startswith("compute")]
    wrong = [pair for pair in sizes if not pair["as_printed"]]
    ranges = [row["compute_within"] for row in rows if "compute_within" in row]
    lesson = "No engine is installed here: 'pip install xllamacpp', or put llama-server or vllm on the PATH."
    if rows:
        names = " and ".join(dict.fromkeys(row["engine"] for row in rows))
        lesson = (
            f"{names} printed {len(sizes) - len(wrong)} of {len(sizes)} figures as planned, once rounded to the "
            f"digits that it prints, in {counted(len(rows), 'start')}"
        )
        if ranges:
            farthest = max(map(_compute_ratio, rows), key=lambda ratio: max(ratio, 1 / ratio))
            lesson += (
                f"; the compute buffer lies within its assumed range in {sum(ranges)} of {len(ranges)} and is "
                f"{farthest:.2f} times the expected one where it is farthest from it"
            )
        lesson += "."
    chart = identity(pairs, "predicted", "measured", "bytes, tokens or blocks", "what") if pairs else None
    unequal = [row for row in rows if "compute_within" in row and f"{_compute_ratio(row):.2f}" != "1.00"]
    return Report(
        tables=(Table(rows=rows, chart=chart),),
        lesson=lesson,
        disagreements=(
            *(f"{pair['what']}: {pair['measured'] - pair['predicted']:+,}" for pair in wrong),
            *(
                f"compute buffer of {row['engine']} {row['slots']} × {row['cache']}: "
                f"{_compute_ratio(row):.2f} times the expected one, "
                f"{'within' if row['compute_within'] else 'outside'} its range"
                for row in unequal
            ),
        ),
    )


def _compute_ratio(row: dict[str, Any]) -> float:
    """Measured ÷ expected; 1 where an engine prints no such buffer."""
    return float(row.get("measured_compute_bytes", 1) / row.get("predicted_compute_bytes", 1))


def _pair(row: dict[str, Any], key: str) -> dict[str, Any]:
    what = key.removeprefix("predicted_")
    name = f"{what.removesuffix('_bytes').replace('_', ' ')} of {row['engine']} {row['slots']} × {row['cache']}"
    predicted, measured = row[key], row[f"measured_{what}"]
    as_printed = row.get(f"{what.removesuffix('_bytes')}_as_printed", predicted == measured)
    return {"what": name, "predicted": predicted, "measured": measured, "as_printed": as_printed}
