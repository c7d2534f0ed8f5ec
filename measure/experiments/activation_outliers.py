"""The residual stream's largest magnitudes: by dimension and layer, and what they do to an INT8 scale."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.pictures import bars, lines
from measure.records import Case, Record
from measure.rows import outlier
from measure.running import Running, needed_for, start
from measure.setup import Setup
from measure.texts import HELD_OUT, ids_of
from measure.worker import Message
from planner.errors import PlannerError
from planner.units import format_figure

NAME = "activation-outliers"
TOKENS = 84
LEFT_OUT = 4
TOP_LEVEL = 127
TYPICAL = 3
"""Dimensions around the median whose levels are shown."""


def cases(setup: Setup) -> list[Case]:
    return [Case(experiment=NAME, name="residual stream", settings={"tokens": TOKENS})]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return 2 * needed_for(setup, 1, settings["tokens"])


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    running = start(setup)
    ids = ids_of(running, HELD_OUT, settings["tokens"])
    title = running.loaded.source.title
    layers = residual_maxima(running, ids)
    if not layers:
        raise PlannerError(f"{title} has one layer, after which no residual stream is left: name a model of several.")
    for number, (maxima, _) in enumerate(layers):
        top = int(maxima.argmax())
        yield {
            "kind": "layers",
            "model": title,
            "attention": running.attention,
            "layer": number,
            "top_dimension": top,
            "top_max": float(maxima[top]),
            "median_max": float(maxima.median()),
            "ratio": float(maxima[top] / maxima.median()),
        }
    number = _middle(len(layers))
    maxima, states = layers[number]
    counts = Counter(math.floor(math.log2(value)) for value in maxima.tolist() if value)
    for octave in range(min(counts), max(counts) + 1):  # the empty ones between are the point
        ends = {"from": 2.0**octave, "to": 2.0 ** (octave + 1)}
        yield {"kind": "octaves", "layer": number, **ends, "dimensions": counts[octave]}
    order = maxima.argsort(descending=True)
    for left_out in (0, LEFT_OUT):
        yield {"kind": "scale", "layer": number, "left_out": left_out, **int8_levels(states, order, left_out)}


def residual_maxima(running: Running, ids: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """For the output of each layer: the largest magnitude of each dimension, and the states (tokens × dimensions)."""
    with torch.no_grad():
        states = running.model(input_ids=ids, output_hidden_states=True, use_cache=False).hidden_states
    # The first entry is the embedding; the last one comes after the final norm, and is no residual stream.
    return [(state[0].float().abs().amax(dim=0), state[0].float()) for state in states[1:-1]]


def int8_levels(states: torch.Tensor, order: torch.Tensor, left_out: int) -> dict[str, Any]:
    """One scale for all dimensions of *order* but the first *left_out*: its step, and how many levels are in use.

    *typical_levels* are those that the dimensions in the middle of *order* use, of 255.
    """
    kept = states[:, order[left_out:]]
    step = float(kept.abs().max()) / TOP_LEVEL
    codes = torch.round(kept / step).to(torch.int16)
    middle = len(order) // 2 - left_out
    typical = [len(codes[:, middle + offset].unique()) for offset in range(TYPICAL)]
    return {
        "step": step,
        "levels_used": len(codes.unique()),
        "typical_levels": ", ".join(map(str, typical)),
        "median_dimension_levels": sorted(typical)[TYPICAL // 2],
    }


def _middle(layers: int) -> int:
    return 2 * layers // 3


def report(records: Sequence[Record], setup: Setup) -> Report:
    layers, octaves, scales = (rows_of(records, kind) for kind in ("layers", "octaves", "scale"))
    lesson = f"{TOO_FEW}."
    if layers and len(scales) == 2:
        highest = outlier(layers)
        dimension = highest["top_dimension"]
        count = sum(row["top_dimension"] == dimension for row in layers)
        lesson = (
            f"Dimension {dimension} is the largest in {count} of {len(layers)} layers and reaches "
            f"{highest['top_max']:,.0f} where the median dimension stays below "
            f"{format_figure(highest['median_max'])}; without the {LEFT_OUT} largest an 8-bit "
            f"scale is {scales[0]['step'] / scales[1]['step']:.1f} times as fine."
        )
    labelled = [row | {"octave": f"{row['from']:g} – {row['to']:g}"} for row in octaves]
    chart = bars(labelled, ("octave", "largest magnitude of a dimension"), ("dimensions", "dimensions"))
    sizes = [
        {"layer": row["layer"], "magnitude": row[f"{what}_max"], "dimension": words}
        for row in layers
        for what, words in (("top", "largest"), ("median", "median"))
    ]
    by_layer = lines(sizes, ("layer", "layer"), ("magnitude", "largest magnitude"), "dimension", log_y=True)
    return Report(
        tables=(
            Table(rows=layers, chart=by_layer),
            Table(name="octaves", rows=octaves, chart=chart),
            Table(name="scale", rows=scales),
        ),
        lesson=lesson,
    )
