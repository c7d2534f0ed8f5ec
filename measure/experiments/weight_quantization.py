"""Each scheme on the model's own projection matrices: error, outliers, bits with scales, and bytes when packed."""

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

import torch

from measure.experiments.base import TOO_FEW, Report, Settings, Table, rows_of
from measure.models import load
from measure.pictures import bars
from measure.quantizers import SCHEMES, projections, quantize, relative_error
from measure.records import Case, Record
from measure.running import needed_for
from measure.setup import Setup
from measure.worker import Message, Progress
from planner import format_presets

NAME = "weight-quantization"
FAR_SIGMAS = 6


def cases(setup: Setup) -> list[Case]:
    found = [Case(experiment=NAME, name="weights", settings={"kind": "weights"})]
    return found + [Case(experiment=NAME, name=name, settings={"kind": "scheme", "scheme": name}) for name in SCHEMES]


def needed_bytes(settings: Settings, setup: Setup) -> int:
    return needed_for(setup, 1, 1)


def run(settings: Settings, setup: Setup) -> Iterator[Message]:
    loaded = load(setup)
    weights = {name: module.weight.detach() for name, module in projections(loaded.model).items()}
    if settings["kind"] == "weights":
        for name, weight in weights.items():
            yield {"kind": "weights", "model": loaded.source.title, "matrix": name, **_outliers(weight.float())}
        return
    scheme = SCHEMES[settings["scheme"]]
    number_format = format_presets.formats()[scheme.format] if scheme.format else None
    errors, predicted, measured, elements = {}, 0, 0, 0
    for number, (name, weight) in enumerate(weights.items()):
        quantized = quantize(weight, scheme)
        errors[name] = relative_error(weight, quantized.dequantized())
        measured += quantized.packed_bytes()
        predicted += number_format.bytes_for(weight.shape[1], weight.shape[0]) if number_format else 0
        elements += weight.numel()
        if number % 16 == 0:
            yield Progress(share=number / len(weights))
    worst = max(errors, key=lambda name: errors[name])
    yield {
        "kind": "scheme",
        "model": loaded.source.title,
        "scheme": scheme.name,
        "matrices": len(weights),
        "mean_error": fmean(errors.values()),
        "worst_error": errors[worst],
        "worst_matrix": worst,
        "bits": 8 * measured / elements,
        "predicted_bytes": predicted if number_format else None,
        "measured_bytes": measured,
    }


def _outliers(weight: torch.Tensor) -> dict[str, Any]:
    deviation = float(weight.std())
    largest = float(weight.abs().max())
    far = int((weight.abs() > FAR_SIGMAS * deviation).sum())
    return {
        "rows": weight.shape[0],
        "columns": weight.shape[1],
        "std": deviation,
        "max": largest,
        "max_sigmas": largest / deviation,
        "beyond_6_sigma": far,
        "beyond_6_sigma_share": far / weight.numel(),
    }


def report(records: Sequence[Record], setup: Setup) -> Report:
    schemes, matrices = rows_of(records, "scheme"), rows_of(records, "weights")
    error = {row["scheme"]: row["mean_error"] for row in schemes}
    lesson = TOO_FEW
    if {"int4-tensor", "int4-row", "int4-g128", "nf4"} <= error.keys():
        order = sorted(("int4-tensor", "int4-row", "int4-g128", "nf4"), key=lambda name: -error[name])
        lesson = f"Rounded to 4 bits, the same weights are off by {', '.join(f'{error[n]:.0%} ({n})' for n in order)}"
    if matrices:
        worst = max(matrices, key=lambda row: row["max_sigmas"])
        lesson += (
            f"; one weight of {worst['matrix']} is {worst['max_sigmas']:.1f} times as large as the usual one (σ) and "
            "stretches the scale of all that share it"
        )
    wrong = [row for row in schemes if row["predicted_bytes"] not in (None, row["measured_bytes"])]
    return Report(
        tables=(
            Table(rows=schemes, chart=bars(schemes, ("scheme", None), ("mean_error", "mean relative error"))),
            Table(name="matrices", rows=sorted(matrices, key=lambda row: -row["max_sigmas"])),
        ),
        lesson=f"{lesson}.",
        disagreements=tuple(
            f"{row['scheme']}: {row['measured_bytes'] - row['predicted_bytes']:+,} B of {row['predicted_bytes']:,}"
            for row in wrong
        ),
    )
