"""The feed-forward part of a layer: dense, or a router with experts and shared experts; and which layers have experts."""

from collections.abc import Iterator
from dataclasses import replace

from planner.architecture import Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.values import Values


def expert_layers(values: Values, number: int) -> list[bool]:
    """For each layer whether it has experts, by whichever rules the config states; all of them where it states none."""
    if not values.optional_integer("num_experts", minimum=0):
        return [False] * number
    if values.has("mlp_layer_types"):
        return [kind == "sparse" for kind in values.strings("mlp_layer_types", number)]
    if values.is_list("moe_layer_freq"):
        return [bool(switch) for switch in values.integers("moe_layer_freq", number)]
    first = values.optional_integer("first_k_dense_replace", minimum=0) or 0
    every = values.optional_integer("moe_layer_freq") or 1
    step = values.optional_integer("decoder_sparse_step") or 1
    dense = frozenset(values.integers("mlp_only_layers")) if values.has("mlp_only_layers") else frozenset()
    return [
        index >= first and index % every == 0 and (index + 1) % step == 0 and index not in dense
        for index in range(number)
    ]


def feed_forward_tensors(decoder: Decoder, kind: str) -> Iterator[Tensor]:
    """The tensors of one layer's feed-forward part: ``dense``, ``experts`` or ``none``."""
    if kind == "experts":
        yield from _mixture(decoder)
    elif kind == "dense":
        bias = decoder.is_on(decoder.structure.mlp_bias)
        yield from _mlp(decoder, "mlp", decoder.values.integer("intermediate_size"), bias)


def _mlp(decoder: Decoder, prefix: str, intermediate_size: int, bias: bool) -> Iterator[Tensor]:
    hidden = decoder.hidden_size
    if decoder.structure.feed_forward == "gated":
        yield from decoder.linear(f"{prefix}.gate_proj", intermediate_size, hidden, bias)
    yield from decoder.linear(f"{prefix}.up_proj", intermediate_size, hidden, bias)
    yield from decoder.linear(f"{prefix}.down_proj", hidden, intermediate_size, bias)


def _mixture(decoder: Decoder) -> Iterator[Tensor]:
    values, structure, hidden = decoder.values, decoder.structure, decoder.hidden_size
    experts, active = values.integer("num_experts"), values.integer("num_experts_per_tok")
    size = values.optional_integer("moe_intermediate_size") or values.integer("intermediate_size")
    yield from decoder.linear(
        "mlp.gate", experts, hidden, decoder.is_on(structure.router_bias), role=Role.ROUTER, replicated=True
    )
    if decoder.is_on(structure.correction_bias):
        yield decoder.vector("mlp.gate.e_score_correction_bias", experts, role=Role.ROUTER)
    for tensor in _mlp(decoder, "mlp.experts", size, decoder.is_on(structure.expert_bias)):
        role = Role.EXPERT if tensor.role is Role.LINEAR else tensor.role
        yield replace(tensor, role=role, count=experts, active=min(active, experts))
    yield from _shared_experts(decoder, size)


def _shared_experts(decoder: Decoder, expert_size: int) -> Iterator[Tensor]:
    values = decoder.values
    size = values.optional_integer("shared_expert_intermediate_size", minimum=0)
    if size is None:
        size = expert_size * (values.optional_integer("n_shared_experts", minimum=0) or 0)
    if not size:
        return
    yield from _mlp(decoder, "mlp.shared_experts", size, decoder.is_on(decoder.structure.mlp_bias))
    if decoder.is_on(decoder.structure.shared_expert_gate):
        yield decoder.matrix("mlp.shared_expert_gate", 1, decoder.hidden_size, role=Role.ROUTER, replicated=True)
