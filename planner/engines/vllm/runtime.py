"""What vLLM takes beside weights and cache: no rule gives it exactly, so each item is the spread of public readings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from planner.architecture import Architecture, Layer, distinct_layers
from planner.deployment import Deployment
from planner.engines.split import pipeline_ranks
from planner.engines.vllm.adapters import adapter_bytes
from planner.engines.vllm.options import Options, options
from planner.formats import Role
from planner.line_item import Basis, Kind, LineItem
from planner.units import GIB
from planner.weights import counted_tensors, tensors_bytes

_FP32_BYTES, _SIXTEEN_BIT_BYTES = 4, 2
Spread = tuple[float, float, float]
"""Expected, low and high."""


def runtime_items(architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
    """Activation peak, encoder, libraries and, where this version counts them, CUDA graphs."""
    chosen = options(deployment)
    items = [_activations(architecture, deployment, chosen)]
    settings, device = deployment.settings, deployment.device
    items += _adapters(architecture, deployment)
    items += _expert_padding(architecture, deployment)
    if architecture.towers and not (settings.flag("skip_mm_profiling") or settings.flag("language_model_only")):
        items += _encoder(architecture, deployment, items[0])
    where = place(deployment)
    source = f"libraries and communicators beside PyTorch, {where}: public start-ups"
    items.append(_item("non-torch memory", _gib(settings.rule("non_torch_gib")[where]), source))
    if settings.rule("graphs_in_budget") and not settings.flag("enforce_eager") and device.vendor in ("", "nvidia"):
        row = next(row for row in settings.rule("graphs_gib") if chosen.max_num_seqs <= row["max_num_seqs"])
        expected, low, high = _gib(row)
        # On unified memory the estimate is often negative, and then adds to the pool.
        spread = (0.0, 0.0, high) if device.unified else (expected, low, high)
        items.append(_item("CUDA graphs", spread, f"vLLM's estimate for max_num_seqs = {chosen.max_num_seqs:,}"))
    return tuple(items)


def _adapters(architecture: Architecture, deployment: Deployment) -> Iterator[LineItem]:
    """Room for LoRA adapters on the stage that has most of them."""
    size = max(
        adapter_bytes(rank.layers, rank.tensors, architecture.model_type, deployment)
        for rank in pipeline_ranks(architecture, deployment.pipeline_parallel)
    )
    if not size:
        return
    slots, rank = deployment.settings.values["max_loras"], deployment.settings.values["max_lora_rank"]
    source = f"{slots:,} adapters of rank {rank} for every linear layer"
    yield LineItem(name="LoRA slots", kind=Kind.RUNTIME, bytes=size, basis=Basis.RULE, source=source)


def _expert_padding(architecture: Architecture, deployment: Deployment) -> Iterator[LineItem]:
    """What kernels add to experts in MXFP4 whose sizes they cannot divide."""
    rule = deployment.settings.rule("expert_padding")
    if rule is None:
        return
    experts = [
        (tensor, count)
        for tensor, count in counted_tensors(architecture.layers, ())
        if tensor.role is Role.EXPERT
        and tensor.rows > 1
        and (tensor.rows % rule["multiple"] or tensor.columns % rule["multiple"])
        and deployment.weights.format_of(tensor.role, tensor.stored).name.startswith("mxfp4")
    ]
    split = deployment.tensor_parallel, deployment.expert_parallel
    size = tensors_bytes(experts, deployment.weights, *split) // deployment.pipeline_parallel
    if size:
        spread = (rule["expected"] * size, rule["low"] * size, rule["high"] * size)
        yield _item("padding of experts", spread, "kernels for MXFP4 round sizes up: public start-ups of gpt-oss")


def place(deployment: Deployment) -> str:
    """Whether libraries run on one card, on several, or in memory that they share with the host's programs."""
    if deployment.device.unified:
        return "unified"
    return "single" if deployment.device_count == 1 else "parallel"


def forward_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """2 bytes · max_num_batched_tokens · (4 · hidden + 3 · intermediate on this rank)."""
    forward = deployment.settings.rule("forward_elements")
    width = max((_width(layer, deployment) for layer, _ in distinct_layers(architecture.layers)), default=0)
    elements: int = forward["hidden"] * architecture.hidden_size + forward["intermediate"] * width
    return _SIXTEEN_BIT_BYTES * options(deployment).max_num_batched_tokens * elements


def logits_bytes(architecture: Architecture, chosen: Options) -> int:
    """One fp32 row of the vocabulary for each of max_num_seqs."""
    return _FP32_BYTES * chosen.max_num_seqs * architecture.vocab_size


def _activations(architecture: Architecture, deployment: Deployment, chosen: Options) -> LineItem:
    """The larger of two steps that vLLM runs to see its peak: a forward pass of a full batch, and sampling.

    The latter makes a number of copies of the logits.
    """
    settings = deployment.settings
    forward, copies = settings.rule("forward_elements"), settings.rule("sampler_copies")
    pass_bytes, row_bytes = forward_bytes(architecture, deployment), logits_bytes(architecture, chosen)
    spread = (
        max(pass_bytes, copies["expected"] * row_bytes),
        max(forward["low"] * pass_bytes, copies["low"] * row_bytes),
        max(forward["high"] * pass_bytes, copies["high"] * row_bytes),
    )
    return _item(
        "activation peak",
        spread,
        f"a step of {chosen.max_num_batched_tokens:,} tokens, or sampling for {chosen.max_num_seqs:,} sequences",
    )


def _encoder(architecture: Architecture, deployment: Deployment, text: LineItem) -> Iterator[LineItem]:
    """What profiling the encoder takes beyond the *text* model's peak, where it follows its largest image.

    None where the text takes more in any case.

    peak = 2 bytes · patches · elements · the encoder's width, whole on every rank
    """
    settings = deployment.settings
    source = "profiling the encoder, beyond the text; skip_mm_profiling saves it"
    patches = settings.rule("encoder_patches").get(architecture.model_type)
    if patches is None:
        yield _item("encoder peak", _gib(settings.rule("encoder_gib")), source)
        return
    elements = settings.rule("encoder_elements")
    widths = Counter(tensor.columns for tower in architecture.towers for tensor in tower.tensors)
    unit_bytes = _SIXTEEN_BIT_BYTES * patches * widths.most_common(1)[0][0]
    spread = (
        max(0, elements["expected"] * unit_bytes - text.bytes),
        max(0, elements["low"] * unit_bytes - text.low_bytes),
        max(0, elements["high"] * unit_bytes - text.high_bytes),
    )
    if max(spread):
        yield _item("encoder peak", spread, source)


def _width(layer: Layer, deployment: Deployment) -> int:
    """Inner elements that a token has in this layer's feed-forward part on one rank.

    That is the widest input of a matrix product. Each chosen expert has its own, divided between the ranks, and its
    output, which is whole on each.
    """
    ranks = deployment.tensor_parallel
    dense = max((t.columns for t in layer.tensors if t.role is Role.LINEAR), default=0)
    experts = [t for t in layer.tensors if t.role is Role.EXPERT]
    chosen = max((t.active * (t.columns // ranks + t.rows) for t in experts if t.rows >= t.columns), default=0) // 2
    return max(dense // ranks, chosen)


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
