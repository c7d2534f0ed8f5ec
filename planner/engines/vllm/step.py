"""The memory that vLLM's profiling step takes: a forward pass of a full batch, then sampling for all its sequences.

Which tensors are there together was read off public start-ups that print the peak, and fits them to 0.1 GiB; the shapes
of the experts' workspaces are those of vllm/model_executor/layers/fused_moe/experts/triton_moe.py.
"""

from planner.architecture import Architecture, Attention, LatentAttention, Layer, Tensor, distinct_layers
from planner.deployment import Deployment
from planner.engines.vllm.options import options
from planner.formats import Role
from planner.shares import shares

FP32_BYTES, SIXTEEN_BIT_BYTES = 4, 2


def forward_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """2 bytes · max_num_batched_tokens · (4 · hidden + 3 · the widest dense part of this rank), experts apart."""
    forward = deployment.settings.rule("forward_elements")
    ranks = deployment.tensor_parallel
    width = max((_dense_width(layer) // ranks for layer, _ in distinct_layers(architecture.layers)), default=0)
    elements: int = forward["hidden"] * architecture.hidden_size + forward["intermediate"] * width
    return SIXTEEN_BIT_BYTES * options(deployment).max_num_batched_tokens * elements


def logits_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """One fp32 row of the vocabulary for each of max_num_seqs."""
    return FP32_BYTES * options(deployment).max_num_seqs * architecture.vocab_size


def output_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """The last hidden states of the batch, which are there while it is sampled: 2 bytes · tokens · hidden."""
    return SIXTEEN_BIT_BYTES * options(deployment).max_num_batched_tokens * architecture.hidden_size


def expert_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """Two workspaces for a token's chosen experts side by side, and the largest layer's alone.

    2 bytes · tokens · experts chosen · (max(inner, hidden) + max(2 · inner, hidden)), the inner width divided between
    tensor-parallel ranks but not between those that share whole experts. None for the formats in ``expert_workspace``,
    whose kernels keep their own.
    """
    rule = deployment.settings.rule("expert_workspace")
    ranks = shares(deployment).expert_parts
    hidden, widest = architecture.hidden_size, 0
    for layer, _ in distinct_layers(architecture.layers):
        for down in _down_projections(layer, hidden):
            if deployment.weights.format_of(down.role, down.stored).name.startswith(tuple(rule["without"])):
                continue
            inner = -(-down.columns // ranks)
            widest = max(widest, down.active * (max(inner, hidden) + max(2 * inner, hidden)))
    tokens: int = min(options(deployment).max_num_batched_tokens, rule["tokens"])
    return SIXTEEN_BIT_BYTES * tokens * widest


def runner(architecture: Architecture, deployment: Deployment) -> str:
    """``first`` or ``second``: which of vLLM's model runners serves this model in this version."""
    served = deployment.settings.rule("second_runner")
    if served == "dense":
        plain = all(isinstance(mixer, Attention) for layer in architecture.layers for mixer in layer.mixers)
        experts = any(tensor.role is Role.EXPERT for layer in architecture.layers for tensor in layer.tensors)
        return "second" if plain and not experts and not architecture.towers else "first"
    return "second" if served == "all" else "first"


def _dense_width(layer: Layer) -> int:
    """The widest input of a matrix product that every token passes through."""
    return max((tensor.columns for tensor in layer.tensors if tensor.role is Role.LINEAR), default=0)


def _down_projections(layer: Layer, hidden: int) -> list[Tensor]:
    """Experts' matrices back to the hidden size, whose columns are an expert's inner width."""
    return [tensor for tensor in layer.tensors if tensor.role is Role.EXPERT and tensor.rows == hidden > 1]


def rotary_bytes(architecture: Architecture, deployment: Deployment) -> int:
    """Tables of sines and cosines that are loaded with the weights: 2 bytes · positions · the width that is turned.

    Positions are the model's whole length, whatever max_model_len is, as often as the family's ``rotary_tables`` say.
    Source: vllm/model_executor/layers/rotary_embedding/base.py, _compute_cos_sin_cache.
    """
    tables = deployment.settings.rule("rotary_tables")
    times: list[int] = tables.get(architecture.model_type, tables["other"])
    lengths = sum(times) * (architecture.max_position_embeddings or 0)
    mixers = [mixer for layer, _ in distinct_layers(architecture.layers) for mixer in layer.mixers]
    widths = [mixer.head_dim for mixer in mixers if isinstance(mixer, Attention)]
    widths += [mixer.qk_rope_head_dim for mixer in mixers if isinstance(mixer, LatentAttention)]
    return SIXTEEN_BIT_BYTES * lengths * max(widths, default=0)
