"""One module an experiment, imported when it is run; this is the list of them."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from planner.errors import UnknownName

if TYPE_CHECKING:
    from measure.experiments.base import Experiment

EXPERIMENTS = {
    "cache-size": "cache tensors against the formula, for every kind of attention",
    "cache-exactness": "the same tokens with and without a cache, and what each costs",
    "peak": "the peak above the weights, with and without a cache, eager and SDPA attention",
    "prefill-decode": "a prompt's tokens against generated ones: two phases, two costs",
    "batching": "requests at once: throughput, latency and the knee",
    "weight-quantization": "8 and 4 bits on the model's own matrices: error, outliers, bytes",
    "capacity": "the longest context that fits, bracketed: it fits, one token more does not",
    "activation-outliers": "the dimensions that ruin a scale, and where they sit",
    "quality": "perplexity, questions and agreement of each rounded model, with intervals",
    "speculation": "rounded and smaller models as drafts: acceptance, tokens a pass, speed, distribution",
    "distillation": "a student with and without its teacher's soft labels, and temperature",
    "engine": "a real engine that is installed: what it prints when it starts, beside the plan",
    "tensor-parallel": "weights and cache of each rank under torchrun",
}
"""Each experiment's line in ``list``; the module is called the same, with underscores."""


@cache
def find_experiment(name: str) -> "Experiment":
    """The experiment called *name*; raises UnknownName with the names that exist."""
    if name not in EXPERIMENTS:
        raise UnknownName(f"Experiment {name!r} is not known; choose one of: {', '.join(EXPERIMENTS)}.")
    return cast("Experiment", import_module(f"measure.experiments.{name.replace('-', '_')}"))
