"""Attention that is a mixture of experts: each has a query and an output projection, keys and values are common."""

from collections.abc import Iterator

from planner.architecture import Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan


def expert_attention_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """JetMoE, arXiv:2404.07413: a token's experts each bring as many query heads as there are keys and values."""
    values, hidden = decoder.values, decoder.hidden_size
    experts, active = values.integer("num_experts"), values.integer("num_experts_per_tok")
    width = plan.num_key_value_heads * plan.head_dim
    yield decoder.matrix("self_attention.kv_proj", 2 * width, hidden, heads=plan.num_key_value_heads)
    yield decoder.matrix("self_attention.router", experts, hidden, role=Role.ROUTER, replicated=True)
    for name, rows, columns in (("input_linear", width, hidden), ("output_linear", hidden, width)):
        yield Tensor(
            name=f"self_attention.experts.{name}.weight",
            role=Role.EXPERT,
            rows=rows,
            columns=columns,
            count=experts,
            active=min(active, experts),
            stored=decoder.stored,
        )
    yield decoder.vector("self_attention.experts.bias", hidden, role=Role.BIAS)
