"""How wide the results of one layer are, read off its mixers and its tensors' names and shapes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from planner.architecture import Architecture, Attention, LatentAttention, Layer, Recurrence, SharedCache, Tensor
from planner.formats import QuantScheme, Role
from planner.gguf_mixes import tensor_kind
from planner.records import dataclass
from planner.weights import tensor_bytes

# A layer's matrices by what a step multiplies with them, as Hugging Face's classes and ggml name them.
_PARTS = {
    "queries_a": r"attn_q_a\.|q_a_proj\.",
    "queries": r"attn_q\.|attn_q_b\.|\bq_proj\.|q_b_proj\.",
    "keys": r"attn_k\.|\bk_proj\.",
    "values": r"attn_v\.|\bv_proj\.",
    "latent": r"attn_kv_a_mqa\.|kv_a_proj_with_mqa\.",
    "expand": r"attn_kv_b\.|kv_b_proj\.",
    "expand_keys": r"attn_k_b\.",
    "expand_values": r"attn_v_b\.",
    "output": r"attn_output\.|\bo_proj\.|self_attn\.(?:out_proj|dense)\.",
    "state_in": r"ssm_in\.|\bin_proj\.|in_proj_qkv\.|in_proj_qkvz\.|attn_qkv\.",
    "state_gate": r"in_proj_z\.|attn_gate\.",
    "state_mid": r"ssm_x\.|\bx_proj\.",
    "state_step": r"ssm_dt\.weight|\bdt_proj\.weight",
    "state_out": r"ssm_out\.|(?:linear_attn|mamba|mixer)\.out_proj\.",
    "per_layer": r"per_layer_input_gate\.|inp_gate\.",
}
# Norms behind attention and behind the feed-forward part, before what came in is added.
_NORMS_BEHIND = (r"post_attention_norm|post_self_attn_layernorm", r"post_ffw_norm|post_feedforward_layernorm|post_mlp_")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerShape:
    """Elements of one token's results in a layer.

    Queries have *heads* of *key_width*, their outputs of *value_width*; keys and values *kv_heads* of the same.
    *queries* is the projection's width, twice the heads' where a gate comes with it, *queries_a* that of one before it.
    A latent (*rank* > 0) has *rope* elements of position beside it; *latent_in* is that of one whose heads are kept,
    and *expanded* theirs. *intermediate* is the width of the dense part, *used* of *experts* experts are each
    *expert_width* wide beside a *shared_width*. *is_joined*: queries, keys and values are one product; *is_merged*:
    gate and up are. *conv_channels* to *state_mid* belong to a recurrence of *recurrence*'s kind. *per_layer* is the
    width of an embedding of the layer's own. *window_tokens* bounds what attention looks at, *matrices* are bytes by
    part.
    """

    recurrence: str = ""
    conv_channels: int = 0
    conv_columns: int = 0
    state_elements: int = 0
    inner: int = 0
    state_in: int = 0
    state_mid: int = 0
    heads: int = 0
    kv_heads: int = 0
    key_width: int = 0
    value_width: int = 0
    queries: int = 0
    queries_a: int = 0
    rank: int = 0
    rope: int = 0
    window_tokens: int | None = None
    shares_cache: bool = False
    intermediate: int = 0
    is_gated: bool = True
    experts: int = 0
    used: int = 0
    expert_width: int = 0
    shared_width: int = 0
    has_expert_bias: bool = False
    per_layer: int = 0
    latent_in: int = 0
    expanded: int = 0
    is_joined: bool = False
    is_merged: bool = False
    norms_attention: bool = False
    norms_feed_forward: bool = False
    matrices: tuple[tuple[str, int], ...] = ()

    def bytes_of(self, part: str) -> int:
        return next((size for name, size in self.matrices if name == part), 0)

    def without_matrices(self) -> "LayerShape":
        """The same shape where no matrix is ever copied."""
        return replace(self, matrices=())


def layer_shapes(
    architecture: Architecture, layers: Iterable[Layer], weights: QuantScheme, merges_gate: bool
) -> Iterator[LayerShape]:
    """The shape of each of *layers*; equal layers have one and the same. *merges_gate*: gate and up are one matrix."""
    made: dict[int, LayerShape] = {}
    heads = _heads_by_width(architecture)
    joins = weights.mix is not None and architecture.model_type in weights.mix.fused_qkv
    for layer in layers:
        if id(layer) not in made:
            shape = _shape(layer, heads, weights, joins)
            is_merged = shape.is_merged or (merges_gate and shape.is_gated and not shape.experts)
            made[id(layer)] = replace(shape, is_merged=is_merged)
        yield made[id(layer)]


def _heads_by_width(architecture: Architecture) -> Mapping[int, Attention]:
    """Attention by the width of its output, for layers that read another's cache and so have none of their own."""
    found: dict[int, Attention] = {}
    for layer in architecture.layers:
        for mixer in layer.mixers:
            if isinstance(mixer, Attention):
                found.setdefault(mixer.num_attention_heads * mixer.v_head_dim, mixer)
    return found


def _shape(layer: Layer, heads: Mapping[int, Attention], weights: QuantScheme, joins: bool) -> LayerShape:
    parts = _parts(layer.tensors)
    widths: dict[str, object] = {}
    for mixer in layer.mixers:
        match mixer:
            case Attention():
                widths |= _attention(mixer, parts)
            case LatentAttention():
                widths |= _latent(mixer, parts)
            case SharedCache() if "output" in parts and parts["output"][0].columns in heads:
                widths |= _attention(heads[parts["output"][0].columns], parts) | {"shares_cache": True}
            case Recurrence():
                widths |= _recurrence(mixer, parts)
            case _:
                continue
    names = [tensor.name for tensor in layer.tensors]
    behind = [any(re.search(pattern, name) for name in names) for pattern in _NORMS_BEHIND]
    behind[0] |= any("pre_feedforward_layernorm" in name for name in names)
    matrices = {part: sum(tensor_bytes(t, weights) for t in tensors) for part, tensors in parts.items()}
    return LayerShape(
        **widths,  # type: ignore[arg-type]
        **_feed_forward(layer.tensors),  # type: ignore[arg-type]
        per_layer=_rows(parts, "per_layer"),
        is_joined=joins or any(tensor_kind(name) == "attn_v" and "qkv" in name for name in names),
        norms_attention=behind[0],
        norms_feed_forward=behind[1],
        matrices=tuple(matrices.items()),
    )


def _parts(tensors: Iterable[Tensor]) -> dict[str, list[Tensor]]:
    found: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        if tensor.role in (Role.BIAS, Role.NORM, Role.STATE):
            continue
        kind = tensor_kind(tensor.name)
        if kind.startswith("ffn"):
            side = "experts_" if tensor.role is Role.EXPERT else "shared_" if _is_shared(tensor) else ""
            found.setdefault(side + kind, []).append(tensor)
            continue
        part = next((part for part, pattern in _PARTS.items() if re.search(pattern, tensor.name)), None)
        if part is not None:
            found.setdefault(part, []).append(tensor)
    return found


def _is_shared(tensor: Tensor) -> bool:
    return "shared_expert" in tensor.name or "shexp" in tensor.name


def _rows(parts: Mapping[str, list[Tensor]], part: str) -> int:
    return max((tensor.rows for tensor in parts.get(part, ())), default=0)


def _attention(mixer: Attention, parts: Mapping[str, list[Tensor]]) -> dict[str, object]:
    width = mixer.num_attention_heads * mixer.head_dim
    return {
        "heads": mixer.num_attention_heads,
        "kv_heads": mixer.num_key_value_heads,
        "key_width": mixer.head_dim,
        "value_width": mixer.v_head_dim,
        "queries": 2 * width if _rows(parts, "queries") == 2 * width else width,
        "queries_a": _rows(parts, "queries_a"),
        "latent_in": _rows(parts, "latent"),
        "expanded": _rows(parts, "expand"),
        "window_tokens": mixer.window_tokens,
    }


def _latent(mixer: LatentAttention, parts: Mapping[str, list[Tensor]]) -> dict[str, object]:
    heads = mixer.num_attention_heads
    outputs = max((tensor.columns for tensor in parts.get("output", ())), default=0)
    return {
        "heads": heads,
        "kv_heads": 1,
        "key_width": _rows(parts, "queries") // heads,
        "value_width": outputs // heads,
        "queries": _rows(parts, "queries"),
        "queries_a": _rows(parts, "queries_a"),
        "rank": mixer.kv_lora_rank,
        "rope": mixer.qk_rope_head_dim,
        "window_tokens": mixer.window_tokens,
    }


def _recurrence(mixer: Recurrence, parts: Mapping[str, list[Tensor]]) -> dict[str, object]:
    conv = next((state for state in mixer.states if state.name == "conv"), None)
    return {
        "recurrence": mixer.kind,
        "conv_channels": conv.rows if conv else 0,
        "conv_columns": conv.columns if conv else 0,
        "state_elements": sum(state.elements for state in mixer.states if state is not conv),
        "inner": max((tensor.columns for tensor in parts.get("state_out", ())), default=0),
        "state_in": _rows(parts, "state_in"),
        "state_mid": _rows(parts, "state_mid"),
    }


def _feed_forward(tensors: Iterable[Tensor]) -> dict[str, object]:
    found: dict[str, object] = {}
    dense_gate = False
    widest_up = 0
    for tensor in tensors:
        kind, is_expert = tensor_kind(tensor.name), tensor.role is Role.EXPERT
        if kind == "ffn_up" and not is_expert and not _is_shared(tensor):
            widest_up = tensor.rows
        dense_gate |= not is_expert and (kind == "ffn_gate" or "gate_up" in tensor.name)
        if tensor.role is Role.ROUTER and "bias" in tensor.name:
            found["has_expert_bias"] = True
        if kind != "ffn_down" or tensor.role is Role.BIAS:
            continue
        if is_expert:
            found |= {"experts": tensor.count, "used": max(1, tensor.active), "expert_width": tensor.columns}
        else:
            found["shared_width" if _is_shared(tensor) else "intermediate"] = tensor.columns
    is_merged = 0 < widest_up == 2 * int(found.get("intermediate", 0))  # type: ignore[call-overload]
    return found | {"is_gated": dense_gate or is_merged or "experts" in found, "is_merged": is_merged}
