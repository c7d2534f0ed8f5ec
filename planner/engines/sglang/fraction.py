"""``mem_fraction_static``: what SGLang takes for weights and caches where nobody says it."""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from planner.architecture import Tower
from planner.deployment import Deployment
from planner.engines.sglang.options import card_row, size_mib, tp_size
from planner.errors import PlannerError
from planner.records import dataclass
from planner.shares import attends_apart
from planner.units import MIB

AITER = "aiter"
"""AMD's kernels, which are the usual ones on its cards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What the share depends on beside card and settings; *tower* is the vision encoder.

    *is_sparse*: layers have an indexer. *latent_heads* are those of latent attention, *longest_tokens* what the model's
    own config allows.
    """

    model_type: str
    is_latent: bool
    tower: Tower | None
    is_sparse: bool = False
    latent_heads: int = 0
    longest_tokens: int | None = None


def static_fraction(model: Model, deployment: Deployment) -> float:
    """The share that SGLang takes: what its option says, less what it takes off that itself."""
    return named_fraction(model, deployment) * taken_of_named(model, deployment)


def outside_bytes(model: Model, deployment: Deployment) -> int:
    """What the share leaves of the card."""
    return round((1 - static_fraction(model, deployment)) * deployment.device.memory_bytes)


def least_outside_bytes(deployment: Deployment) -> int:
    """What this version sets aside beside the share for any model and step; 0 where it does not say."""
    rule: Mapping[str, Any] = deployment.settings.rule("static_fraction")
    return int(rule.get("constant_mib", 0) * MIB)


def taken_of_named(model: Model, deployment: Deployment) -> float:
    """What SGLang takes of ``mem_fraction_static``, whoever says it."""
    return prod(factor for factor, _ in deductions(model, deployment))


def deductions(model: Model, deployment: Deployment) -> Iterator[tuple[float, str]]:
    """Each factor, and for what: releases before 0.4.9 for a vision tower, and AMD's kernels for long requests.

    Source: python/sglang/srt/model_executor/model_runner.py, 0.3.6 to 0.5.4; server_args.py, 0.5.5 to 0.5.23.
    """
    vision: Mapping[str, Any] = deployment.settings.rule("vision_fraction")
    if vision.get("of_stated") and _served_tower(model, deployment):
        yield vision["factor"], "a model with a vision tower"
    if (factor := kernels_factor(model, deployment)) < 1:
        limit = deployment.settings.rule("kernels_fraction")["above_tokens"]
        yield factor, f"AITER, but with attention_backend=triton or --context-length {limit}"


def kernels_factor(model: Model, deployment: Deployment) -> float:
    """What AMD's kernels leave of the share where a request may be as long as the model allows."""
    rule: Mapping[str, Any] = deployment.settings.rule("kernels_fraction")
    if deployment.settings.text("attention_backend") not in (None, AITER):
        return 1.0
    if not rule or deployment.device.vendor != rule["vendor"] or (model.longest_tokens or 0) <= rule["above_tokens"]:
        return 1.0
    heads = max(1, model.latent_heads // tp_size(deployment))
    return 1.0 if model.is_latent and heads not in rule["latent_heads"] else float(rule["factor"])


def named_fraction(model: Model, deployment: Deployment) -> float:
    """``mem_fraction_static`` as set, else as this version chooses it, to three digits before the tower's factor.

    Source: python/sglang/srt/server_args.py, _handle_gpu_memory_settings and adjust_mem_fraction_for_vlm.
    """
    settings = deployment.settings
    if settings.values["mem_fraction_static"] is not None:
        return settings.number("mem_fraction_static")
    rule: Mapping[str, Any] = settings.rule("static_fraction")
    card_mib = size_mib(deployment)
    devices = tp_size(deployment) * deployment.pipeline_parallel
    match rule["kind"]:
        case "parallel":
            share: float = next(row["fraction"] for row in rule["rows"] if devices >= row["devices"])
            return share * _vision_factor(model, deployment)
        case "size":
            reserved_mib = _by_size(rule, deployment, card_mib, devices)
        case "step":
            reserved_mib = _by_step(rule, model, deployment, card_mib, devices)
        case _:
            raise PlannerError(
                f"How SGLang {settings.version} chooses mem_fraction_static is not known here: give --set "
                "mem_fraction_static=0.85, or ask for 0.4.8 or later."
            )
    return round((card_mib - reserved_mib) / card_mib, 3) * _vision_factor(model, deployment)


def _by_size(rule: Mapping[str, Any], deployment: Deployment, card_mib: float, devices: int) -> float:
    row = next(row for row in rule["rows"] if card_mib < row["below_mib"])
    reserved: float = row["reserved_mib"] + row["device_mib"] * devices
    reserved += rule["speculative_mib"] * (deployment.settings.text("speculative_algorithm") is not None)
    reserved += rule["dp_attention_mib"] * attends_apart(deployment)
    return reserved


def _by_step(rule: Mapping[str, Any], model: Model, deployment: Deployment, card_mib: float, devices: int) -> float:
    """MiB for the activations of a step, for graphs and for each device; large cards have a floor."""
    settings = deployment.settings
    row = card_row(settings, card_mib) or {}
    chunk = row["tokens"] if (asked := settings.integer("chunked_prefill_size")) is None else asked
    graphs = settings.integer("cuda_graph_max_bs") or row["graphs"][tp_size(deployment) >= settings.rule("many_ranks")]
    step = chunk if chunk > 0 else settings.integer("max_prefill_tokens") or 0
    reserved: float = rule["constant_mib"] + rule["token_mib"] * max(step, rule["least_tokens"])
    reserved += rule["graph_mib"] * graphs + rule["device_mib"] * devices
    if attends_apart(deployment):
        reserved += graphs * deployment.data_parallel * rule["dp_graph_mib"]
        reserved += graphs * deployment.data_parallel * rule["dp_large_graph_mib"] * (graphs > rule["large_graph"])
    if _has_prefill_graphs(model, deployment):
        reserved += (
            rule["latent_prefill_mib"]
            if model.is_latent
            else rule["prefill_graph_mib"] * _prefill_graphs(deployment, chunk)
        )
    if card_mib > rule["floor_above_mib"]:
        reserved = max(reserved, rule["floor_mib"])
    drafts = settings.text("speculative_algorithm") not in (None, "ngram")
    reserved += rule["speculative_mib"] * drafts
    return reserved


def _has_prefill_graphs(model: Model, deployment: Deployment) -> bool:
    """On by default but for these; on CUDA alone. Source: python/sglang/srt/server_args.py, 0.5.10."""
    settings = deployment.settings
    return not (
        settings.flag("disable_piecewise_cuda_graph")
        or settings.text("speculative_algorithm")
        or attends_apart(deployment)
        or deployment.pipeline_parallel > 1
        or _served_tower(model, deployment)
        or deployment.device.vendor not in ("", "nvidia")
    )


def _prefill_graphs(deployment: Deployment, largest: int) -> int:
    sizes = deployment.settings.rule("prefill_graph_sizes")
    return sum(len(range(start, min(end, largest) + 1, step)) for start, end, step in sizes)


def _vision_factor(model: Model, deployment: Deployment) -> float:
    """What a vision tower leaves of the share where SGLang chooses it."""
    rule: Mapping[str, Any] = deployment.settings.rule("vision_fraction")
    tower = _served_tower(model, deployment)
    if tower is None or rule.get("of_stated"):
        return 1.0
    factor: float = rule["factor"]
    if rule["kind"] == "fixed":
        return factor
    layers, hidden = _dimensions(tower)
    if model.model_type in rule["unnamed_layers"]:
        layers = rule["layers"]
    ratio = layers * hidden**2 / (rule["layers"] * rule["hidden_size"] ** 2)
    return factor * float(max(rule["low"], min(rule["high"], 1 - rule["step"] * (ratio - 1))))


def _served_tower(model: Model, deployment: Deployment) -> Tower | None:
    """The vision encoder, but for models that SGLang serves for text alone unless it is told otherwise."""
    return None if model.model_type in deployment.settings.rule("language_only") else model.tower


def _dimensions(tower: Tower) -> tuple[int, int]:
    """Layers, and the width that most matrices take in."""
    widths: dict[int, int] = {}
    for tensor in tower.tensors:
        if tensor.rows > 1:
            widths[tensor.columns] = widths.get(tensor.columns, 0) + tensor.count
    layers = max((tensor.count for tensor in tower.tensors), default=1)
    return layers, max(widths, key=lambda width: widths[width], default=1)
