"""What vLLM takes beside weights and cache: no rule gives it exactly, so each item is the spread of public readings."""

from collections.abc import Iterable, Mapping

from planner.architecture import Architecture, Layer, distinct_layers
from planner.deployment import Deployment
from planner.engines.vllm.options import Options, options
from planner.formats import Role
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB

_FP32_BYTES, _SIXTEEN_BIT_BYTES = 4, 2
Spread = tuple[float, float, float]
"""Expected, low and high."""


def runtime_items(architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
    """Activation peak, encoder, libraries and, where this version counts them, CUDA graphs."""
    chosen = options(deployment)
    items = [_activations(architecture, deployment, chosen)]
    settings, device = deployment.settings, deployment.device
    if architecture.towers and not settings.flag("skip_mm_profiling"):
        items.append(
            _item(
                "encoder peak", _gib(settings.rule("encoder_gib")), "profiling the encoder; skip_mm_profiling saves it"
            )
        )
    place = "unified" if device.unified else "single" if deployment.device_count == 1 else "parallel"
    source = f"libraries and communicators beside PyTorch, {place}: public start-ups"
    items.append(_item("non-torch memory", _gib(settings.rule("non_torch_gib")[place]), source))
    if settings.rule("graphs_in_budget") and not settings.flag("enforce_eager") and device.vendor in ("", "nvidia"):
        row = next(row for row in settings.rule("graphs_gib") if chosen.max_num_seqs <= row["max_num_seqs"])
        expected, low, high = _gib(row)
        # On unified memory the estimate is often negative, and then adds to the pool.
        spread = (0.0, 0.0, high) if device.unified else (expected, low, high)
        items.append(_item("CUDA graphs", spread, f"vLLM's estimate for max_num_seqs = {chosen.max_num_seqs:,}"))
    return tuple(items)


def _activations(architecture: Architecture, deployment: Deployment, chosen: Options) -> LineItem:
    """The larger of two steps that vLLM runs to see its peak: a forward pass of a full batch, and sampling.

    forward = 2 bytes · max_num_batched_tokens · (4 · hidden + 3 · intermediate on this rank)
    sampler = copies · max_num_seqs · vocabulary · 4 bytes
    """
    settings = deployment.settings
    forward, copies = settings.rule("forward_elements"), settings.rule("sampler_copies")
    width = max((_width(layer, deployment) for layer, _ in distinct_layers(architecture.layers)), default=0)
    elements = forward["hidden"] * architecture.hidden_size + forward["intermediate"] * width
    pass_bytes = _SIXTEEN_BIT_BYTES * chosen.max_num_batched_tokens * elements
    logits_bytes = _FP32_BYTES * chosen.max_num_seqs * architecture.vocab_size
    spread = (
        max(pass_bytes, copies["expected"] * logits_bytes),
        max(forward["low"] * pass_bytes, copies["low"] * logits_bytes),
        max(forward["high"] * pass_bytes, copies["high"] * logits_bytes),
    )
    return _item(
        "activation peak",
        spread,
        f"a step of {chosen.max_num_batched_tokens:,} tokens, or sampling for {chosen.max_num_seqs:,} sequences",
    )


def _width(layer: Layer, deployment: Deployment) -> int:
    """Inner elements that a token has in this layer's feed-forward part on one rank.

    That is the widest input of a matrix product; each chosen expert has its own and an output besides.
    """
    dense = max((t.columns for t in layer.tensors if t.role is Role.LINEAR), default=0)
    experts = [t for t in layer.tensors if t.role is Role.EXPERT]
    chosen = max((t.active * (t.columns + t.rows) for t in experts), default=0) // 2
    return max(dense, chosen) // deployment.tensor_parallel


def _gib(row: Mapping[str, float]) -> Spread:
    return row["expected"] * GIB, row["low"] * GIB, row["high"] * GIB


def _item(name: str, spread: Iterable[float], source: str) -> LineItem:
    expected, low, high = (round(size) for size in spread)
    return LineItem(
        name=name,
        kind=Kind.RUNTIME,
        bytes=expected,
        low_bytes=low,
        high_bytes=high,
        basis=Basis.ASSUMED,
        source=source,
    )
