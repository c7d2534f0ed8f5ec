"""What tensor parallelism has to divide for an engine to start: heads, states, widths, groups of scales, experts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from planner.architecture import (
    Architecture,
    Attention,
    CrossAttention,
    LatentAttention,
    Mixer,
    Recurrence,
    Tensor,
    distinct_layers,
)
from planner.deployment import Deployment
from planner.errors import UnevenSplit
from planner.formats import Role
from planner.shares import Shares, shares

CONV = "conv"
INPUTS_DIVIDED = ("o_proj", "out_proj", "down_proj")
"""What is in the names of projections whose inputs are divided between ranks, and not their outputs."""
HEADS_DIVIDED = ("q_proj", "k_proj", "v_proj")


def check_division(architecture: Architecture, deployment: Deployment, title: str) -> None:
    """Raises UnevenSplit where the engine called *title* cannot share *architecture* out so, with what it can.

    Attention heads are divided evenly, key-value heads evenly or each repeated on as many ranks, states by their heads,
    the inner width of a feed-forward layer by its columns. By the rules of the engine's version: ``whole_groups`` are,
    by role and beginning of a format's name, the groups of one scale that may not be cut (in a format that is only
    chosen they may be padded: ``cut_groups``), but between heads where ``heads_may_be_cut``; ``vocabulary_multiple`` is
    what a vocabulary is padded to before it is divided, where it must then divide; ``experts_divide``: every rank has
    as many experts.

    Source: vllm/config/model.py, verify_with_parallel_config; python/sglang/srt/layers/linear.py;
    tensorrt_llm/_torch/modules/attention.py; src/turbomind/models/llama/unified_attention_layer.cc.
    """
    ranks, settings = deployment.tensor_parallel, deployment.settings
    if (obstacle := next(_obstacles(architecture, deployment, ranks), None)) is not None:
        fine = [n for n in range(1, 2 * ranks + 1) if next(_obstacles(architecture, deployment, n), None) is None]
        below, above = [n for n in fine if n < ranks], [n for n in fine if n > ranks][:1]
        raise UnevenSplit(
            f"tensor_parallel = {ranks} does not go with {obstacle}: {title} {settings.version} would refuse to "
            f"start; choose one of: {', '.join(map(str, below + above)) or 'none'}."
        )
    sharing = deployment.expert_parallel
    if sharing > 1 and settings.rule("experts_divide") and (experts := _experts(architecture)) % sharing:
        fine = [n for n in range(1, min(experts, 2 * sharing) + 1) if experts % n == 0]
        raise UnevenSplit(
            f"expert_parallel = {sharing} does not go with {experts} experts: {title} {settings.version} gives every "
            f"rank as many; choose one of: {', '.join(map(str, fine))}."
        )


def _obstacles(architecture: Architecture, deployment: Deployment, ranks: int) -> Iterator[str]:
    """What does not divide by so many *ranks* of attention and those that share the rest with them, in words."""
    devices = ranks * deployment.data_parallel
    shared = shares(
        replace(deployment, tensor_parallel=ranks, expert_parallel=min(deployment.expert_parallel, devices))
    )
    multiple: int = deployment.settings.rule("vocabulary_multiple") or 0
    for layer, _ in distinct_layers(architecture.layers):
        for mixer in layer.mixers:
            yield from _uneven_heads(mixer, ranks)
    for tensor in _tensors(architecture):
        yield from _uneven_width(tensor, shared)
        if deployment.weights.format is None:
            yield from _cut(tensor, architecture, deployment, shared)
    if multiple and (padded := -(-architecture.vocab_size // multiple) * multiple) % shared.dense:
        yield f"a vocabulary of {padded:,}"


def _uneven_heads(mixer: Mixer, ranks: int) -> Iterator[str]:
    match mixer:
        case Attention(v_head_dim=0):
            return  # an index, whole on every rank
        case Attention() | CrossAttention():
            if mixer.num_attention_heads % ranks:
                yield f"{mixer.num_attention_heads} attention heads"
            if mixer.num_key_value_heads % ranks and ranks % mixer.num_key_value_heads:
                yield f"{mixer.num_key_value_heads} key-value heads, which are divided evenly or repeated"
        case LatentAttention() if mixer.num_attention_heads % ranks:
            yield f"{mixer.num_attention_heads} attention heads"
        case Recurrence(is_whole=False):
            for state in mixer.states:
                if state.name != CONV and state.rows > 1 and state.rows % ranks:
                    yield f"{state.rows} heads or channels of {mixer.kind.replace('_', ' ')}"


def cut_groups(architecture: Architecture, deployment: Deployment) -> tuple[str, ...]:
    """What a checkpoint that somebody makes in a chosen format has to avoid; nothing of the model's own."""
    if deployment.weights.format is None or not deployment.settings.rules.get("whole_groups"):
        return ()
    shared = shares(deployment)
    found = (cut for tensor in _tensors(architecture) for cut in _cut(tensor, architecture, deployment, shared))
    return tuple(
        f"Take a checkpoint with padded widths, or another tensor_parallel: {deployment.engine} refuses {cut}."
        for cut in dict.fromkeys(found)
    )


def _uneven_width(tensor: Tensor, shared: Shares) -> Iterator[str]:
    if _is_divided(tensor, shared) and _by_inputs(tensor) and tensor.columns % shared.parts(tensor):
        yield f"an {_what(tensor)} of {tensor.columns:,}"


def _cut(tensor: Tensor, architecture: Architecture, deployment: Deployment, shared: Shares) -> Iterator[str]:
    """A group of one scale of which two ranks would have parts."""
    number_format = deployment.weights.format_of(tensor.role, tensor.stored)
    by_role: Mapping[str, Mapping[str, int]] = deployment.settings.rule("whole_groups") or {}
    groups = by_role.get(tensor.role.value, {})
    group = next((size for start, size in groups.items() if number_format.name.startswith(start)), 1)
    if group == 1 or not _is_divided(tensor, shared):
        return
    ranks = shared.parts(tensor)
    if _by_inputs(tensor):
        if tensor.columns % ranks == 0 and (share := tensor.columns // ranks) % group:
            name = f"an {_what(tensor)} of {tensor.columns:,} in {number_format.name}"
            yield f"{name} on {ranks} ranks: {share:,} each are no whole groups of {group}"
    elif any(scale.rows > 1 for scale in number_format.scales) and any(name in tensor.name for name in HEADS_DIVIDED):
        free: bool | list[str] = deployment.settings.rules.get("heads_may_be_cut", [])
        if free is True or (free and architecture.model_type in free):
            return
        share = tensor.rows // (min(ranks, tensor.heads) if tensor.heads else ranks)
        if share % group:
            yield f"heads in {number_format.name} on {ranks} ranks: {share:,} rows each are no whole groups of {group}"


def _is_divided(tensor: Tensor, shared: Shares) -> bool:
    """Whether every rank has a part of what it multiplies by; experts may be shared whole instead."""
    return shared.parts(tensor) > 1 and tensor.rows > 1 and tensor.role in (Role.LINEAR, Role.EXPERT)


def _by_inputs(tensor: Tensor) -> bool:
    return any(name in tensor.name for name in INPUTS_DIVIDED)


def _what(tensor: Tensor) -> str:
    return "experts' inner width" if tensor.role is Role.EXPERT else "inner width"


def _tensors(architecture: Architecture) -> Iterator[Tensor]:
    return (tensor for layer, _ in distinct_layers(architecture.layers) for tensor in layer.tensors)


def _experts(architecture: Architecture) -> int:
    return max((tensor.count for tensor in _tensors(architecture) if tensor.active >= 0), default=0)
