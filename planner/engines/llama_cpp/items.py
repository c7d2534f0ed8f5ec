"""llama.cpp's buffers as lines of a budget: on a card, and in main memory."""

from collections.abc import Iterator, Mapping

from planner.architecture import Architecture
from planner.deployment import Deployment
from planner.engines.llama_cpp.cache import FP32_BYTES, cache_bytes, cache_specs
from planner.engines.llama_cpp.compute import Step, host_bytes, step_bytes, step_of
from planner.engines.llama_cpp.options import options
from planner.engines.llama_cpp.placement import Placement
from planner.line_item import Basis, Kind, LineItem
from planner.units import MIB
from planner.weights import model_bytes

Spread = Mapping[str, float]


def context_item(deployment: Deployment) -> LineItem:
    """What the driver takes for a process, beside every buffer that llama.cpp prints."""
    by_vendor = deployment.settings.rule("context_mib")
    spread = by_vendor.get(deployment.device.vendor, by_vendor["other"])
    source = "driver's context, libraries and graphs: public memory breakdowns"
    return _assumed("context", MIB, spread["expected"], spread, source)


def buffer_items(
    architecture: Architecture, placement: Placement, deployment: Deployment, tokens: int, requests: int
) -> Iterator[LineItem]:
    """The compute buffer of a card, and a second one for layers that draft."""
    chosen = options(deployment)
    step = step_of(chosen, deployment, tokens, requests)
    size = step_bytes(architecture, deployment, placement, step, copies_weights=True)
    spread = _spread(placement, deployment)
    source = f"a step of {step.tokens:,} tokens over {step.cells:,} cells; the spread of public readings"
    yield _assumed("compute buffer", size, 1, spread, source)
    if chosen.drafts:
        yield _assumed("compute buffer, draft", size, 1, spread, "the context of the layers that draft")


def host_items(
    architecture: Architecture, placement: Placement, deployment: Deployment, tokens: int, requests: int
) -> Iterator[LineItem]:
    """Weights, caches, outputs and a step's inputs in main memory, and prompts that are kept there."""
    chosen = options(deployment)
    step = step_of(chosen, deployment, tokens, requests)
    host = placement.host
    towers = (tensor for tower in host.towers for tensor in tower.tensors)
    weights = model_bytes(host.layers, (*host.tensors, *towers), deployment.weights)
    yield _known("weights", Kind.WEIGHTS, weights, "the embedding, and what of the layers is not on a card")
    cache = cache_bytes(cache_specs(host, deployment), deployment, tokens, requests)
    if cache:
        yield _known("cache", Kind.CACHE, cache, "of the layers that are not on a card")
    outputs = FP32_BYTES * chosen.slots(requests) * architecture.vocab_size
    yield _known("output buffer", Kind.RUNTIME, outputs, "one row of logits a slot")
    yield _host_compute(architecture, placement, deployment, step)
    prompts = kept_prompts_bytes(deployment)
    if prompts:
        yield _assumed("kept prompts", prompts, 0, {"low": 0, "high": 1}, "fills with use up to cache_ram")


def kept_prompts_bytes(deployment: Deployment) -> int:
    """Bytes that prompts may fill; not counted where a machine's one memory is all that is known of it.

    They are never needed: what they may take of it is said, and decides nothing.
    """
    is_shared = deployment.shared_memory_bytes is not None and deployment.host_memory_bytes is None
    return 0 if is_shared else deployment.settings.integer("cache_ram") or 0


def _host_compute(architecture: Architecture, placement: Placement, deployment: Deployment, step: Step) -> LineItem:
    """The inputs of a step; the whole step where nothing is on a card."""
    chosen, window = options(deployment), placement.widths.window_tokens
    window_cells = 0 if window is None or chosen.window_extra_tokens is None else chosen.window_cells(window, 1)
    inputs = host_bytes(architecture, deployment, step, window_cells)
    if any(rank.layers for rank in placement.cards):
        return _assumed("compute buffer", inputs, 1, {"low": 0.5, "high": 2}, f"inputs of {step.tokens:,} tokens")
    whole = step_bytes(architecture, deployment, placement, step, copies_weights=False)
    source = f"a step of {step.tokens:,} tokens over {step.cells:,} cells; the spread of public readings"
    return _assumed("compute buffer", max(inputs, whole), 1, _spread(placement, deployment), source)


def _spread(placement: Placement, deployment: Deployment) -> Spread:
    spread: Spread = deployment.settings.rule("compute_spread")["latent" if placement.widths.is_latent else "heads"]
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
