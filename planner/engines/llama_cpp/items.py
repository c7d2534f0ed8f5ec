"""llama.cpp's buffers as lines of a budget: on a card, and in main memory."""

from collections.abc import Iterator, Mapping

from planner.architecture import Architecture, LatentAttention, distinct_layers
from planner.deployment import CPU, Deployment
from planner.engines.llama_cpp.cache import FP32_BYTES, cache_bytes, cache_specs
from planner.engines.llama_cpp.compute import StepBuffers
from planner.engines.llama_cpp.options import options
from planner.engines.llama_cpp.placement import HOST, Placement
from planner.line_item import OTHERS, Basis, Kind, LineItem
from planner.units import MIB
from planner.weights import model_bytes

Spread = Mapping[str, float]
HOST_SPREAD: Spread = {"low": 0.5, "high": 2}
"""Inputs and embeddings where cards compute: public readings within a factor of two."""


def context_item(deployment: Deployment) -> LineItem:
    """What the driver takes for a process, beside every buffer that llama.cpp prints; without a card, what the system
    and other programs take of its memory."""
    if deployment.on_cpu:
        return _others(deployment)
    by_vendor = deployment.settings.rule("context_mib")
    spread = by_vendor.get(deployment.device.vendor, by_vendor["other"])
    source = "driver's context, libraries and graphs: public memory breakdowns"
    return _assumed("context", MIB, spread["expected"], spread, source)


def _others(deployment: Deployment) -> LineItem:
    spread = deployment.settings.rule("context_mib")[CPU]
    source = "the system and what else is open: public starts of machines without a card"
    return _assumed(OTHERS, MIB, spread["expected"], spread, source)


def buffer_items(
    architecture: Architecture, steps: StepBuffers, card: int, deployment: Deployment, tokens: int, requests: int
) -> Iterator[LineItem]:
    """The compute buffer of one *card*, and a second one for layers that draft; without a card also the outputs."""
    device = HOST if deployment.on_cpu else card
    size = steps.sizes(tokens, requests).get(device, 0)
    spread = _spread(architecture, deployment)
    if deployment.on_cpu:
        yield _output_item(architecture, deployment, requests)
    yield _assumed("compute buffer", size, 1, spread, _step_source(steps, tokens, requests))
    if options(deployment).drafts:
        yield _assumed("compute buffer, draft", size, 1, spread, "the context of the layers that draft")


def host_items(
    architecture: Architecture,
    placement: Placement,
    steps: StepBuffers,
    deployment: Deployment,
    tokens: int,
    requests: int,
) -> Iterator[LineItem]:
    """Weights, caches, outputs and a step's inputs in main memory, and prompts that are kept there."""
    host = placement.host
    towers = (tensor for tower in host.towers for tensor in tower.tensors)
    weights = model_bytes(host.layers, (*host.tensors, *towers), deployment.weights)
    yield _known("weights", Kind.WEIGHTS, weights, "the embedding, and what of the layers is not on a card")
    cache = cache_bytes(cache_specs(host, deployment), deployment, tokens, requests)
    if cache:
        yield _known("cache", Kind.CACHE, cache, "of the layers that are not on a card")
    yield _output_item(architecture, deployment, requests)
    source = _step_source(steps, tokens, requests)
    if any(rank.layers for rank in placement.cards):
        size, spread = steps.sizes(tokens, requests).get(HOST, 0), HOST_SPREAD
    else:
        size, spread = steps.host_alone(tokens, requests), _spread(architecture, deployment)
    yield _assumed("compute buffer", size, 1, spread, source)
    if _is_shared(deployment) and deployment.counts_others:
        yield _others(deployment)
    prompts = kept_prompts_bytes(deployment)
    if prompts:
        yield _assumed("kept prompts", prompts, 0, {"low": 0, "high": 1}, "fills with use up to cache_ram")


def _output_item(architecture: Architecture, deployment: Deployment, requests: int) -> LineItem:
    size = FP32_BYTES * options(deployment).slots(requests) * architecture.vocab_size
    return _known("output buffer", Kind.RUNTIME, size, "one row of logits a slot")


def kept_prompts_bytes(deployment: Deployment) -> int:
    """Bytes that prompts may fill; not counted where a machine's one memory is all that is known of it.

    They are never needed: what they may take of it is said, and decides nothing.
    """
    is_idle = _is_shared(deployment) or deployment.on_cpu
    return 0 if is_idle else deployment.settings.integer("cache_ram") or 0


def _is_shared(deployment: Deployment) -> bool:
    """Whether card and processor share the machine's memory, and all that is known of it is its size."""
    return deployment.shared_memory_bytes is not None and deployment.host_memory_bytes is None


def _step_source(steps: StepBuffers, tokens: int, requests: int) -> str:
    step = steps.extent(tokens, requests)
    return f"a step of {step.tokens:,} tokens over {step.cells:,} cells; the spread of public readings"


def _spread(architecture: Architecture, deployment: Deployment) -> Spread:
    latent = any(
        isinstance(m, LatentAttention) for layer, _ in distinct_layers(architecture.layers) for m in layer.mixers
    )
    spread: Spread = deployment.settings.rule("compute_spread")["latent" if latent else "heads"]
    return spread


def _assumed(name: str, unit_bytes: int, expected: float, spread: Spread, source: str) -> LineItem:
    """*expected* and the ends of *spread* in units of *unit_bytes*."""
    return LineItem(
        name=name,
        kind=Kind.RUNTIME,
        bytes=round(expected * unit_bytes),
        low_bytes=round(spread["low"] * unit_bytes),
        high_bytes=round(spread["high"] * unit_bytes),
        basis=Basis.ASSUMED,
        source=source,
    )


def _known(name: str, kind: Kind, size: int, source: str) -> LineItem:
    basis = Basis.EXACT if kind is Kind.WEIGHTS else Basis.RULE
    return LineItem(name=name, kind=kind, bytes=size, basis=basis, source=source)
