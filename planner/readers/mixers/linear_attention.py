"""Linear attention: one state matrix of key × value a head in place of keys and values of every token."""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.state_space import convolution
from planner.readers.mixers.states import conv_state, recurrent_state


def gated_delta_net(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Gated DeltaNet, arXiv:2412.06464."""
    values = decoder.values
    key_width, value_width = _delta_widths(decoder)
    states = (
        conv_state(2 * key_width + value_width, values.integer("conv_kernel")),
        recurrent_state(
            decoder,
            values.integer("linear_num_value_heads"),
            values.integer("linear_key_head_dim") * values.integer("linear_value_head_dim"),
        ),
    )
    return (Recurrence(kind="gated_delta_net", states=states),)


def gated_delta_net_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    values, hidden = decoder.values, decoder.hidden_size
    key_width, value_width = _delta_widths(decoder)
    heads = values.integer("linear_num_value_heads")
    yield decoder.matrix("linear_attn.in_proj_qkv", 2 * key_width + value_width, hidden)
    yield decoder.matrix("linear_attn.in_proj_z", value_width, hidden)
    yield decoder.matrix("linear_attn.in_proj_b", heads, hidden)
    yield decoder.matrix("linear_attn.in_proj_a", heads, hidden)
    yield from convolution(decoder, "linear_attn.conv1d", 2 * key_width + value_width)
    yield decoder.vector("linear_attn.dt_bias", heads, role=Role.STATE, replicated=False)
    yield decoder.vector("linear_attn.A_log", heads, role=Role.STATE, replicated=False)
    yield decoder.vector("linear_attn.norm.weight", values.integer("linear_value_head_dim"), role=Role.NORM)
    yield decoder.matrix("linear_attn.out_proj", hidden, value_width)


def kimi_delta_attention(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Kimi Delta Attention (KDA), arXiv:2510.26692: a decay a channel where Gated DeltaNet has one a head."""
    values = decoder.values
    heads, head_dim = values.integer("linear_num_heads"), values.integer("linear_head_dim")
    states = (
        conv_state(3 * heads * head_dim, values.integer("conv_kernel")),
        recurrent_state(decoder, heads, head_dim * head_dim),
    )
    return (Recurrence(kind="kimi_delta_attention", states=states),)


def kimi_delta_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    values, hidden = decoder.values, decoder.hidden_size
    heads, head_dim = values.integer("linear_num_heads"), values.integer("linear_head_dim")
    width = heads * head_dim
    for name in ("q_proj", "k_proj", "v_proj"):
        yield decoder.matrix(f"self_attn.{name}", width, hidden)
    yield from convolution(decoder, "self_attn.conv1d", 3 * width)
    low_rank = decoder.is_on(decoder.structure.low_rank_gates)
    for name, is_low_rank in (("f", low_rank), ("g", low_rank and not decoder.values.flag("use_full_rank_gate"))):
        if is_low_rank:
            yield decoder.matrix(f"self_attn.{name}_a_proj", head_dim, hidden, replicated=True)
            yield decoder.matrix(f"self_attn.{name}_b_proj", width, head_dim)
        else:
            yield decoder.matrix(f"self_attn.{name}_proj", width, hidden)
    yield decoder.vector("self_attn.dt_bias", width, role=Role.STATE, replicated=False)
    yield decoder.vector("self_attn.A_log", heads, role=Role.STATE, replicated=False)
    yield decoder.matrix("self_attn.b_proj", heads, hidden)
    yield decoder.vector("self_attn.o_norm.weight", head_dim, role=Role.NORM)
    yield decoder.matrix("self_attn.o_proj", hidden, width)


def lightning_attention(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Lightning attention, MiniMax-01, arXiv:2501.08313: a fixed decay a head, and no convolution."""
    in_fp32 = decoder.is_on(decoder.structure.state_in_fp32)
    state = StateTensor(
        name="recurrent",
        rows=plan.num_attention_heads,
        columns=plan.head_dim * plan.head_dim,
        format=decoder.formats["fp32"] if in_fp32 else None,
    )
    return (Recurrence(kind="lightning_attention", states=(state,)),)


def lightning_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    width, hidden = plan.num_attention_heads * plan.head_dim, decoder.hidden_size
    yield decoder.matrix("self_attn.qkv_proj", 3 * width, hidden)
    yield decoder.matrix("self_attn.output_gate", width, hidden)
    yield decoder.vector("self_attn.norm.weight", width, role=Role.NORM, replicated=False)
    yield decoder.matrix("self_attn.out_proj", hidden, width)


def _delta_widths(decoder: Decoder) -> tuple[int, int]:
    """All heads' keys, and all heads' values."""
    values = decoder.values
    keys = values.integer("linear_num_key_heads") * values.integer("linear_key_head_dim")
    return keys, values.integer("linear_num_value_heads") * values.integer("linear_value_head_dim")
