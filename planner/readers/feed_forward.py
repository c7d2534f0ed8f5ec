"""The feed-forward part of a layer: dense, or a router with experts and shared experts, or both."""

from collections.abc import Iterator
from dataclasses import replace

from planner.architecture import Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan


def feed_forward_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """The tensors of one layer's feed-forward part, by its kind in *plan*."""
    if plan.feed_forward == "linear":
        yield decoder.matrix("mlp.linear_mlp", decoder.hidden_size, decoder.hidden_size)
    by_table = plan.feed_forward == "hash_experts"
    has_experts = by_table or plan.feed_forward == "experts"
    if has_experts:
        yield from _mixture(decoder, by_table)
    if plan.feed_forward == "dense" or (has_experts and decoder.is_on(decoder.structure.dense_beside_experts)):
        size = plan.intermediate_size or decoder.values.integer("intermediate_size")
        yield from mlp(decoder, "mlp", size, decoder.is_on(decoder.structure.mlp_bias))


def mlp(
    decoder: Decoder, prefix: str, intermediate_size: int, bias: bool, width: int | None = None
) -> Iterator[Tensor]:
    """A feed-forward part on *width*, the hidden size unless it is told another."""
    hidden = width or decoder.hidden_size
    if decoder.structure.feed_forward == "gated":
        yield from decoder.linear(f"{prefix}.gate_proj", intermediate_size, hidden, bias)
    yield from decoder.linear(f"{prefix}.up_proj", intermediate_size, hidden, bias)
    yield from decoder.linear(f"{prefix}.down_proj", hidden, intermediate_size, bias)


def _mixture(decoder: Decoder, by_table: bool) -> Iterator[Tensor]:
    """Router and experts. *by_table*: a table of whole numbers gives every token of the vocabulary its experts.

    Experts that do nothing (LongCat-Flash) have a route and no weights.
    """
    values, structure, hidden = decoder.values, decoder.structure, decoder.hidden_size
    experts, active = values.integer("num_experts"), values.same_in_all_layers("num_experts_per_tok")
    if active is None:
        active = values.integer("num_experts_per_tok")
    size = values.same_in_all_layers("moe_intermediate_size") or values.integer("moe_intermediate_size")
    routes = experts + (values.optional_integer("zero_expert_num", minimum=0) or 0)
    yield from _router(decoder, routes)
    if by_table:
        yield Tensor(
            name="mlp.gate.tid2eid",
            role=Role.ROUTER,
            rows=values.integer("vocab_size"),
            columns=active,
            stored=decoder.formats["i64"],
            replicated=True,
        )
    elif decoder.is_on(structure.correction_bias):
        yield decoder.vector("mlp.gate.e_score_correction_bias", routes, role=Role.ROUTER)
    latent = values.optional_integer("moe_latent_size")
    if latent is not None:
        yield from decoder.linear("mlp.fc1_latent_proj", latent, hidden, decoder.is_on(structure.mlp_bias))
        yield from decoder.linear("mlp.fc2_latent_proj", hidden, latent, decoder.is_on(structure.mlp_bias))
    prefix = "experts" if decoder.is_on(structure.experts_outside_mlp) else "mlp.experts"
    for tensor in mlp(decoder, prefix, size, decoder.is_on(structure.expert_bias), latent):
        role = Role.EXPERT if tensor.role is Role.LINEAR else tensor.role
        yield replace(tensor, role=role, count=experts, active=min(active, experts))
    yield from _shared_experts(decoder, size)


def _router(decoder: Decoder, routes: int) -> Iterator[Tensor]:
    """One projection to a score an expert, or three layers below a narrower state (Zaya)."""
    bias, width = decoder.is_on(decoder.structure.router_bias), decoder.values.optional_integer("router_hidden_size")
    if width is None:
        yield from decoder.linear("mlp.gate", routes, decoder.hidden_size, bias, role=Role.ROUTER, replicated=True)
        return
    layers = (("down_proj", width, decoder.hidden_size), ("fc1", width, width), ("fc2", width, width))
    for name, rows, columns in layers:
        yield from decoder.linear(f"mlp.gate.{name}", rows, columns, True, role=Role.ROUTER, replicated=True)
    yield from decoder.norm("mlp.gate.norm", width)
    yield from decoder.linear("mlp.gate.out_proj", routes, width, bias, role=Role.ROUTER, replicated=True)


def _shared_experts(decoder: Decoder, expert_size: int) -> Iterator[Tensor]:
    """Experts that every token uses: so many of the experts' size, or one of a size of its own."""
    values = decoder.values
    size = values.optional_integer("shared_expert_intermediate_size", minimum=0)
    if size is None:
        size = expert_size * (values.same_in_all_layers("n_shared_experts", minimum=0) or 0)
    if not size:
        return
    yield from mlp(decoder, "mlp.shared_experts", size, decoder.is_on(decoder.structure.mlp_bias))
    if decoder.is_on(decoder.structure.shared_expert_gate):
        yield decoder.matrix("mlp.shared_expert_gate", 1, decoder.hidden_size, role=Role.ROUTER, replicated=True)
