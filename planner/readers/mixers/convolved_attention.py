"""Attention whose inputs or outputs pass short causal convolutions: keys and values a token, and a few last columns."""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.attention import attention, attention_tensors
from planner.readers.mixers.states import conv_state


def convolved(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Inkling: convolutions over keys, over values, and over what attention and the feed-forward part give.

    Its class keeps their last inputs in 32 bits.
    """
    kernel, fp32 = decoder.values.integer("conv_kernel"), decoder.formats["fp32"]
    keys, values = plan.num_key_value_heads * plan.head_dim, plan.num_key_value_heads * plan.v_head_dim
    sizes = (keys, values, decoder.hidden_size, decoder.hidden_size)
    states = tuple(conv_state(channels, kernel, fp32) for channels in sizes)
    return (*attention(decoder, plan), Recurrence(kind="short_convolution", states=states))


def convolved_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Attention, the two convolutions after its layer's parts, and unless its class makes them those before."""
    yield from attention_tensors(decoder, plan)
    kernel, width = decoder.values.integer("conv_kernel"), plan.num_key_value_heads * plan.head_dim
    if not decoder.values.flag("has_dynamic_convolutions") or plan.window_tokens is not None:
        yield _convolution(decoder, "self_attn.k_sconv", width, kernel)
        yield _convolution(decoder, "self_attn.v_sconv", width, kernel)
    yield _convolution(decoder, "attn_sconv", decoder.hidden_size, kernel)
    yield _convolution(decoder, "mlp_sconv", decoder.hidden_size, kernel)


def key_value_convolved(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Baichuan-M1: each head's keys and values are mixed with those of the token before, which are kept."""
    kernel, heads = decoder.values.integer("conv_kernel"), plan.num_key_value_heads
    states = tuple(conv_state(heads * width, kernel) for width in (plan.head_dim, plan.v_head_dim))
    return (*attention(decoder, plan), Recurrence(kind="short_convolution", states=states))


def key_value_convolved_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Attention, and a few weights a head for its keys and for its values."""
    yield from attention_tensors(decoder, plan)
    for name in ("conv_k", "conv_v"):
        kernel = decoder.values.integer("conv_kernel")
        yield _convolution(decoder, f"self_attn.{name}", plan.num_key_value_heads, kernel)


def compressed_convolutional(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Zaya: queries and keys pass two convolutions in a row, and half of each value is the last token's.

    Source: compressed convolutional attention, arXiv:2510.04476.
    """
    values = decoder.values
    columns = values.integer("cca_time0") - 1 + values.integer("cca_time1") - 1
    states = (
        StateTensor(name="queries_and_keys", rows=_channels(plan), columns=columns),
        StateTensor(name="last_value", rows=1, columns=plan.num_key_value_heads * plan.v_head_dim // 2),
    )
    return (*attention(decoder, plan), Recurrence(kind="short_convolution", states=states))


def compressed_convolutional_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Attention, its two convolutions, and a temperature for each key-value head."""
    yield from attention_tensors(decoder, plan)
    values, channels = decoder.values, _channels(plan)
    for name, columns in (
        ("depthwise", values.integer("cca_time0")),
        ("grouped", plan.head_dim * values.integer("cca_time1")),
    ):
        yield _convolution(decoder, f"self_attn.conv_qk_{name}", channels, columns)
        yield decoder.vector(f"self_attn.conv_qk_{name}.bias", channels, role=Role.STATE, replicated=False)
    yield decoder.vector("self_attn.qk_norm.temp", plan.num_key_value_heads, role=Role.NORM, replicated=False)


def _channels(plan: LayerPlan) -> int:
    return (plan.num_attention_heads + plan.num_key_value_heads) * plan.head_dim


def _convolution(decoder: Decoder, name: str, channels: int, columns: int) -> Tensor:
    return Tensor(name=f"{name}.weight", role=Role.STATE, rows=channels, columns=columns, stored=decoder.stored)
