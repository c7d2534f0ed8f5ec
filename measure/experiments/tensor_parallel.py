"""Weights and cache of each rank under torchrun, by transformers' own plan: gloo on CPUs, nccl on GPUs."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from measure.experiments.base import Report, Settings, Table, rows_of
from measure.instruments import cards
from measure.models import load
from measure.pictures import identity
from measure.prediction import predict
from measure.records import Case, Record
from measure.running import needed_for
from measure.setup import Setup
from measure.worker import Message
from planner.errors import PlannerError

NAME = "tensor-parallel"
RUNS = (("llama-3.2-1b", 1), ("llama-3.2-1b", 2), ("llama-3.2-1b", 4), ("gemma-2b", 2))
QUICK_RUNS = (("llama-3.2-1b", 2), ("gemma-2b", 2))
"""Small copies: 8 key-value heads on 1, 2 and 4 ranks; one key-value head on 2."""
RANKS, QUICK_RANKS = (1, 2, 4), (1, 2)
BATCH, TOKENS = 2, 48
SECONDS = 600


def cases(setup: Setup) -> list[Case]:
    runs = [(name, count, "small") for name, count in (QUICK_RUNS if setup.quick else RUNS)]
    if setup.model:
        runs = [(setup.model, count, setup.scale) for count in (QUICK_RANKS if setup.quick else RANKS)]
    most = cards(torch.device(setup.device)) if setup.device != "cpu" else max(RANKS)
    runs = [run for run in runs if run[1] <= most] or [(runs[0][0], 1, runs[0][2])]
    return [
        Case(experiment=NAME, name=f"{name} on {count}", settings={"model": name, "ranks": count, "scale": scale})
        for name, count, scale in runs
    ]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return (1 + settings["ranks"]) * needed_for(_chosen(settings, setup), BATCH, TOKENS)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    ranks = settings["ranks"]
    loaded = load(_chosen(settings, setup), device=torch.device("cpu"))
    prediction = predict(loaded.source.architecture, setup.dtype, tensor_parallel=ranks)
    with tempfile.TemporaryDirectory() as folder:
        loaded.model.save_pretrained(folder)
        readings = launch(folder, ranks, setup)
    for reading in readings:
        yield {
            "model": loaded.source.title,
            "ranks": ranks,
            "rank": reading["rank"],
            "backend": reading["backend"],
            "predicted_weights_bytes": prediction.rank_weights_bytes,
            "measured_weights_bytes": reading["weights_bytes"],
            "predicted_cache_bytes": prediction.cache_bytes(BATCH, TOKENS),
            "measured_cache_bytes": reading["cache_bytes"],
            "reason": reading.get("reason", ""),
        }


def launch(folder: str, ranks: int, setup: Setup) -> list[dict[str, Any]]:
    """Each rank's reading, in the order of the ranks. Raises PlannerError with torchrun's own words."""
    with tempfile.TemporaryDirectory() as out:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
        words = [*torchrun, "-m", "measure.rank", folder, out, setup.dtype, str(BATCH), str(TOKENS)]
        paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        if setup.device == "cpu":
            environment["CUDA_VISIBLE_DEVICES"] = ""  # ranks would each take a card
        ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        files = sorted(Path(out).glob("*.json"), key=lambda file: int(file.stem))
        readings = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    if len(readings) != ranks:
        said = [line for line in ended.stderr.splitlines() if "Error: " in line]
        reason = said[0].strip() if said else ended.stderr[-300:]
        raise PlannerError(f"{len(readings)} of {ranks} ranks answered: {reason}")
    return readings


def report(records: Sequence[Record], setup: Setup) -> Report:
    rows = rows_of(records)
    wrong = [row for row in rows for quantity in ("weights", "cache") if _difference(row, quantity)]
    without = [row for row in rows if row["measured_cache_bytes"] is None]
    refused = sorted({f"{row['model']} on {row['ranks']} ranks" for row in without})
    differences = [_difference(row, quantity) for row in rows for quantity in ("weights", "cache")]
    read = [difference for difference in differences if difference is not None]
    lesson = (
        f"Split over several processes, {read.count(0)} of {len(read)} readings of weights and cache are the predicted "
        "shares, to the byte"
    )
    if refused:
        lesson += f"; {', '.join(refused)} does not run: the library gives no two ranks the same key-value head"
    chart = identity(
        [row for row in rows if row["measured_cache_bytes"]], "predicted_cache_bytes", "measured_cache_bytes",
        "cache of a rank, bytes", "model",
    )  # fmt: skip
    return Report(
        tables=(Table(rows=rows, chart=chart),),
        lesson=f"{lesson}.",
        disagreements=tuple(dict.fromkeys([*map(_said, wrong), *map(_not_run, without)])),
    )


def _difference(row: dict[str, Any], quantity: str) -> int | None:
    """Measured less predicted; ``None`` without a reading."""
    measured = row[f"measured_{quantity}_bytes"]
    return None if measured is None else measured - row[f"predicted_{quantity}_bytes"]


def _said(row: dict[str, Any]) -> str:
    weights, cache = (_difference(row, quantity) for quantity in ("weights", "cache"))
    return f"{row['model']} on {row['ranks']} ranks: weights {weights or 0:+,} B, cache {cache or 0:+,} B"


def _not_run(row: dict[str, Any]) -> str:
    """The planner repeats key-value heads on ranks beyond their number, as engines do; the library has no such split.

    So its size is predicted and never read.
    """
    return (
        f"{row['model']} on {row['ranks']} ranks: {row['predicted_cache_bytes']:,} B of cache a rank are predicted, "
        f"key-value heads repeated, and the library does not run it ({row['reason']})"
    )


def _chosen(settings: Settings, setup: Setup) -> Setup:
    return replace(setup, model=settings["model"], scale=settings["scale"])
