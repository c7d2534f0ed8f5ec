"""What vLLM takes beside weights and cache: no rule gives it exactly, so each item is the spread of public readings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from planner.architecture import Architecture
from planner.deployment import Deployment
from planner.engines.split import pipeline_ranks, stage_layers
from planner.engines.vllm.adapters import adapter_bytes
from planner.engines.vllm.encoder import kept_bytes, largest_image, row_bytes
from planner.engines.vllm.graphs import captured_graphs, estimates_graphs, most_of_a_graph_gib
from planner.engines.vllm.options import Options, options
from planner.engines.vllm.step import expert_bytes, forward_bytes, logits_bytes, output_bytes, rotary_bytes, runner
from planner.formats import Role
from planner.line_item import Basis, Kind, LineItem
from planner.shares import shares
from planner.units import GIB
from planner.weights import counted_tensors, tensors_bytes

_KIB = 1024
PADDING, ROTARY, LOADER = "padding of experts", "rotary tables", "loader's buffers"
"""What is loaded with the weights and is none of the file's tensors; and what stays of reading them."""
LINK = "NVLink"
"""How ``interconnect`` of a card begins whose neighbours are all reached without the bus."""
Spread = tuple[float, float, float]
"""Expected, low and high."""


def runtime_items(architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
    """Activation peak, encoder, libraries and, where this version counts them, CUDA graphs."""
    chosen = options(deployment)
    items = [_activations(architecture, deployment, chosen)]
    settings = deployment.settings
    items += _adapters(architecture, deployment)
    items += _expert_padding(architecture, deployment)
    items += _rotary(architecture, deployment)
    if architecture.towers and not (settings.flag("skip_mm_profiling") or settings.flag("language_model_only")):
        items += _encoder(architecture, deployment, items[0])
    where = place(deployment if _has_experts(architecture) else replace(deployment, data_parallel=1, expert_parallel=1))
    source = f"libraries and communicators beside PyTorch, {where}: public start-ups"
    items.append(_item("non-torch memory", _gib(settings.rule("non_torch_gib")[where]), source))
    items += _loader(deployment)
    items += _graphs(architecture, deployment, chosen)
    return tuple(items)


def _has_experts(architecture: Architecture) -> bool:
    """Whether data-parallel ranks have something to share; those of other models are engines by themselves."""
    return any(tensor.role is Role.EXPERT for layer in architecture.layers for tensor in layer.tensors)


def _adapters(architecture: Architecture, deployment: Deployment) -> Iterator[LineItem]:
    """Room for LoRA adapters on the stage that has most of them."""
    size = max(
        adapter_bytes(rank.layers, rank.tensors, architecture.model_type, deployment)
        for rank in pipeline_ranks(architecture, deployment)
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
    size = tensors_bytes(experts, deployment.weights, shares(deployment)) // deployment.pipeline_parallel
    if size:
        spread = (rule["expected"] * size, rule["low"] * size, rule["high"] * size)
        yield _item(PADDING, spread, "kernels for MXFP4 round sizes up: public start-ups of gpt-oss")


def _loader(deployment: Deployment) -> Iterator[LineItem]:
    """What a loader that reads whole files onto the card leaves there."""
    spread = deployment.settings.rule("loader_gib").get(deployment.settings.text("load_format"))
    if spread is not None:
        source = f"kept of the files that {deployment.settings.text('load_format')} reads: public start-ups"
        yield _item(LOADER, _gib(spread), source)


def _rotary(architecture: Architecture, deployment: Deployment) -> Iterator[LineItem]:
    size = rotary_bytes(architecture, deployment)
    if size:
        source = f"sines and cosines of {architecture.max_position_embeddings:,} positions, on every rank"
        yield LineItem(name=ROTARY, kind=Kind.RUNTIME, bytes=size, basis=Basis.RULE, source=source)


def place(deployment: Deployment) -> str:
    """Where libraries run: in memory shared with the host's programs, on one card, on stages of one card each, or on
    ranks that add up what each computes, over NVLink, over the bus, or (of a card that is only a size) over either.
    """
    device = deployment.device
    if device.unified:
        return "unified"
    if deployment.device_count == 1:
        return "single"
    if deployment.tensor_parallel == deployment.data_parallel == 1:
        return "stages"
    if device.interconnect is None:
        return "parallel"
    return "linked" if device.interconnect.startswith(LINK) else "bus"


def _activations(architecture: Architecture, deployment: Deployment, chosen: Options) -> LineItem:
    """The larger of two steps that vLLM runs to see its peak: a forward pass of a full batch, and sampling.

    The latter makes a number of copies of the logits beside the batch's last hidden states. Experts' workspaces are
    there in both where this version keeps them, else in the forward pass alone.
    """
    settings = deployment.settings
    forward = settings.rule("forward_elements")
    copies = settings.rule("sampler_copies")[runner(architecture, deployment)]
    workspace = settings.rule("expert_workspace")
    pass_bytes, row, output = (
        forward_bytes(architecture, deployment),
        logits_bytes(architecture, deployment),
        output_bytes(architecture, deployment),
    )
    experts = expert_bytes(architecture, deployment)
    kept = experts if workspace["kept"] else 0

    def peak(factor: float, number: float, share: float) -> float:
        return share * kept + max(factor * pass_bytes + share * (experts - kept), number * row + output)

    spread = (
        peak(1, copies["expected"], 1),
        peak(forward["low"], copies["low"], workspace["low"]),
        peak(forward["high"], copies["high"], workspace["high"]),
    )
    return _item(
        "activation peak",
        spread,
        f"a step of {chosen.max_num_batched_tokens:,} tokens, or sampling for {chosen.max_num_seqs:,} sequences",
    )


def _encoder(architecture: Architecture, deployment: Deployment, text: LineItem) -> Iterator[LineItem]:
    """What the encoder takes beyond the *text* model's peak: what is kept of it, or its own peak where that is larger.

    Its peak is 2 bytes · patches of the largest image · elements · the encoder's width, whole on every rank. Where the
    image is not known, the spread of start-ups.
    """
    settings = deployment.settings
    source = "profiling the encoder, beyond the text; skip_mm_profiling saves it"
    if not largest_image(architecture, deployment):
        spread = _gib(settings.rule("encoder_gib"))
        if settings.rule("encoder_kept"):
            kept = kept_bytes(architecture, deployment)
            spread = (kept, kept / 2, max(2 * kept, spread[2]))
        yield _item("encoder peak", spread, source)
        return
    kept = kept_bytes(architecture, deployment) if settings.rule("encoder_kept") else 0
    elements, unit = settings.rule("encoder_elements"), row_bytes(architecture, deployment)
    spread = (
        max(kept, elements["expected"] * unit - text.bytes),
        max(kept // 2, elements["low"] * unit - text.low_bytes),
        max(kept, elements["high"] * unit - text.high_bytes),
    )
    if max(spread) > 0:
        yield _item("encoder peak", spread, source)


def _graphs(architecture: Architecture, deployment: Deployment, chosen: Options) -> Iterator[LineItem]:
    """The estimate that is taken from the pool: some hundred KiB a layer for every graph that will be captured."""
    settings, device = deployment.settings, deployment.device
    if not estimates_graphs(deployment):
        return
    graphs = settings.rule("graphs")[runner(architecture, deployment)]
    layers = max(stage_layers(architecture, deployment))
    number = captured_graphs(chosen.max_num_seqs, chosen.draft_tokens)
    expected, low, high = (
        graphs[end]["layer_kib"] * _KIB * layers * number + graphs[end]["gib"] * GIB
        for end in ("expected", "low", "high")
    )
    high = max(high, number * most_of_a_graph_gib(architecture.layers, deployment) * GIB)
    # On unified memory the estimate is often negative, and then adds to the pool.
    spread = (0.0, 0.0, high) if device.unified else (expected, low, high)
    yield _item(
        "CUDA graphs", spread, f"vLLM's estimate of {number:,} graphs for max_num_seqs = {chosen.max_num_seqs:,}"
    )


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
