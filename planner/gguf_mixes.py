"""A model's tensors as llama-quantize stores them in a GGUF file of one type, such as Q4_K_M.

Source: https://github.com/ggml-org/llama.cpp/blob/007dbbf3fd17eefe9b47fee45f48f7ba5e62b714/src/llama-quant.cpp.
Falcon's own exceptions are left out.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from planner.architecture import Architecture, Attention, LatentAttention, Layer, Tensor, distinct_layers
from planner.errors import PlannerError
from planner.formats import GgufMix, MixRule, NumberFormat, QuantScheme, Role
from planner.records import dataclass

# Names of Hugging Face's classes and of ggml, by what llama-quantize calls them. The first that is found counts.
_FEED_FORWARD = r"(?:^|\.)(?:mlp|experts|shared_experts?|feed_forward)\."
_KINDS = {
    "ffn_gate": rf"ffn_gate|{_FEED_FORWARD}(?:gate_proj|w1)\b",
    "ffn_up": rf"ffn_up|{_FEED_FORWARD}(?:up_proj|gate_up_proj|w3)\b",
    "ffn_down": rf"ffn_down|{_FEED_FORWARD}(?:down_proj|w2)\b",
    "attn_qkv": r"attn_qkv|qkv_proj|query_key_value|in_proj_qkv\b|c_attn|Wqkv",
    "attn_v": r"attn_v\.|(?:^|\.)v_proj\b",
    "attn_k": r"attn_k\.|(?:^|\.)k_proj\b",
    "attn_q": r"attn_q\.|(?:^|\.)q_proj\b",
    "per_layer_embd": r"per_layer_token_embd|embed_tokens_per_layer",
    "token_embd": r"token_embd\.|(?:^|\.)embed_tokens\b",
    "attn_output": r"attn_output|self_attn\.(?:o_proj|out_proj|dense)\b",
}
_FUSED = ("attn_q", "attn_k", "attn_v", "attn_qkv")
_KEPT = ("altup", "laurel", "per_layer_model_proj", "embed_positions", "position_embd", "token_types")
_QUANTIZED = (Role.LINEAR, Role.EXPERT, Role.EMBEDDING, Role.HEAD)

LAYERS: Mapping[str, Callable[[int, int], bool]] = {
    "more_bits": lambda i, n: i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2,
    "middle": lambda i, n: n // 8 <= i < 7 * n // 8,
    "first_eighth": lambda i, n: i < n // 8,
    "first_sixteenth": lambda i, n: i < n // 16,
    "first_4": lambda i, n: i < 4,
    "first_2": lambda i, n: i < 2,
}
"""What a rule may say of layers: whether layer i of n is among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What the rules ask about a model. *with_values*: the ids of the layers that have values."""

    layers: int
    attention_layers: int
    with_values: frozenset[int]
    experts: int
    gqa: int
    tied: bool
    fused_qkv: bool
    own_experts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A layer's number among all layers and among those with attention."""

    layer: int
    attention: int


def as_stored(architecture: Architecture, scheme: QuantScheme) -> Architecture:
    """*architecture* with each tensor stored as the scheme's mix decides; unchanged without a mix.

    Raises PlannerError for a nominal class, which has no tensors to decide about.
    """
    mix = scheme.mix
    if mix is None:
        return architecture
    if architecture.nominal:
        raise PlannerError(
            f"{architecture.title} has no tensors that {mix.title} could tell apart: "
            "name a real model, or a format such as int4-g128."
        )
    shape = _shape(architecture, mix)
    built: dict[tuple[int, tuple[bool, ...]], Layer] = {}
    layers: list[Layer] = []
    attention = 0
    for number, layer in enumerate((*architecture.layers, *architecture.mtp_layers)):
        key = (id(layer), _where(number, attention, shape))
        if key not in built:
            place = _Place(layer=number, attention=attention)
            tensors = (replace(t, stored=_format_of(t, mix, shape, place)) for t in layer.tensors if t.elements)
            built[key] = replace(layer, tensors=tuple(tensors))
        layers.append(built[key])
        attention += id(layer) in shape.with_values
    number = len(architecture.layers)
    outer = _Place(layer=0, attention=0)
    outer_tensors = _with_head(architecture.tensors) if mix.own_head else architecture.tensors
    return replace(
        architecture,
        layers=tuple(layers[:number]),
        mtp_layers=tuple(layers[number:]),
        tensors=tuple(replace(t, stored=_format_of(t, mix, shape, outer)) for t in outer_tensors if t.elements),
        stored_as=mix.name,
        stored_assumed=False,
        stored_doubt="",
    )


def _with_head(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """*tensors* with a head like the embedding, unless they have one."""
    embedding = next(tensor for tensor in tensors if tensor.role is Role.EMBEDDING)
    has_head = any(tensor.role is Role.HEAD for tensor in tensors)
    return tensors if has_head else (*tensors, replace(embedding, name="lm_head.weight", role=Role.HEAD))


def _shape(architecture: Architecture, mix: GgufMix) -> _Shape:
    layers = (*architecture.layers, *architecture.mtp_layers)
    fused = architecture.model_type in mix.fused_qkv
    gqa = 0
    for mixer in (mixer for layer in layers for mixer in layer.mixers):
        if isinstance(mixer, LatentAttention):
            gqa = mixer.num_attention_heads
            break
        if isinstance(mixer, Attention):
            gqa = mixer.num_attention_heads // mixer.num_key_value_heads
            break
    with_values = frozenset(id(layer) for layer, _ in distinct_layers(layers) if _has_values(layer, fused))
    return _Shape(
        layers=len(layers),
        attention_layers=sum(id(layer) in with_values for layer in layers),
        with_values=with_values,
        experts=max((t.count for layer in layers for t in layer.tensors if t.role is Role.EXPERT), default=0),
        gqa=gqa,
        tied=not mix.own_head and all(tensor.role is not Role.HEAD for tensor in architecture.tensors),
        fused_qkv=fused,
        own_experts=architecture.model_type in mix.own_experts,
    )


def _has_values(layer: Layer, fused_qkv: bool) -> bool:
    return any(tensor_kind(tensor.name, fused_qkv) == "attn_v" for tensor in layer.tensors)


@lru_cache(maxsize=4096)
def _which_rules(index: int, number: int) -> tuple[bool, ...]:
    return tuple(holds(index, number) for holds in LAYERS.values())


def _where(layer: int, attention: int, shape: _Shape) -> tuple[bool, ...]:
    """All that a rule can ask about a layer's place: equal layers for which it is the same are stored alike."""
    return _which_rules(layer, shape.layers) + _which_rules(attention, shape.attention_layers)


def _format_of(tensor: Tensor, mix: GgufMix, shape: _Shape, place: _Place) -> NumberFormat:
    if tensor.role is Role.TOWER or any(word in tensor.name for word in _KEPT):
        return tensor.stored
    if tensor.role not in _QUANTIZED or tensor.rows == 1:
        return mix.full
    if shape.own_experts and tensor.role is Role.EXPERT:
        return tensor.stored
    kind, chosen = tensor_kind(tensor.name, shape.fused_qkv), mix.format
    if tensor.role is Role.HEAD or (tensor.role is Role.EMBEDDING and shape.tied):
        chosen = mix.head
    elif tensor.role is Role.EMBEDDING:
        chosen = mix.embedding
    chosen = next((rule.format for rule in mix.rules if _applies(rule, kind, tensor.role, shape, place)), chosen)
    if tensor.columns % chosen.elements:
        chosen = mix.fallbacks.get(chosen.name, mix.unfilled)
    return mix.unfilled if tensor.columns % chosen.elements else chosen


@lru_cache(maxsize=4096)
def tensor_kind(name: str, fused_qkv: bool = False) -> str:
    """What llama-quantize calls the tensor *name*, ``other`` for what it does not tell apart."""
    kind = next((kind for kind, pattern in _KINDS.items() if re.search(pattern, name)), "other")
    # Joined queries, keys and values are quantised with the care that values get.
    return "attn_v" if kind == "attn_qkv" or (fused_qkv and kind in _FUSED) else kind


def _applies(rule: MixRule, kind: str, role: Role, shape: _Shape, place: _Place) -> bool:
    named = kind in rule.tensors or (role is Role.EXPERT and "experts" in rule.tensors)
    return (
        named
        and rule.experts in (None, shape.experts)
        and (rule.not_experts is None or rule.not_experts != shape.experts)
        and rule.model_layers in (None, shape.layers)
        and shape.experts >= rule.min_experts
        and shape.gqa >= rule.min_gqa
        and _in_layers(rule.layers, kind, shape, place)
    )


def _in_layers(layers: str, kind: str, shape: _Shape, place: _Place) -> bool:
    index, number = (place.attention, shape.attention_layers) if kind == "attn_v" else (place.layer, shape.layers)
    return not layers or LAYERS[layers](index, number)
