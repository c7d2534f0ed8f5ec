"""RWKV: time mixing with a state that every token updates, and a feed-forward part that looks one token back.

RWKV-4, arXiv:2305.13048, keeps averages a channel; RWKV-7, arXiv:2503.14456, a matrix a head.
"""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.states import recurrent_state


def rwkv(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """The last token of both halves, and numerator, denominator and exponent of the running average."""
    width = _width(decoder)
    averages = (recurrent_state(decoder, width, 1, name) for name in ("numerator", "denominator", "exponent"))
    return (Recurrence(kind="rwkv", states=(*_shifts(decoder), *averages)),)


def rwkv_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Time mixing and channel mixing; the latter has a gate of its own and is not the usual feed-forward part."""
    hidden, width = decoder.hidden_size, _width(decoder)
    intermediate = decoder.values.optional_integer("intermediate_size") or 4 * hidden
    for name in ("time_decay", "time_first"):
        yield decoder.vector(f"attention.{name}", width, role=Role.STATE, replicated=False)
    for name in (
        "attention.time_mix_key",
        "attention.time_mix_value",
        "attention.time_mix_receptance",
        "feed_forward.time_mix_key",
        "feed_forward.time_mix_receptance",
    ):
        yield decoder.vector(name, hidden, role=Role.STATE)
    for name in ("key", "value", "receptance"):
        yield decoder.matrix(f"attention.{name}", width, hidden)
    yield decoder.matrix("attention.output", hidden, width)
    yield decoder.matrix("feed_forward.key", intermediate, hidden)
    yield decoder.matrix("feed_forward.receptance", hidden, hidden)
    yield decoder.matrix("feed_forward.value", hidden, intermediate)


def rwkv7(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """The last token of both halves, and a square matrix a head."""
    head_dim = decoder.values.integer("head_dim")
    state = recurrent_state(decoder, _heads(decoder), head_dim * head_dim)
    return (Recurrence(kind="rwkv", states=(*_shifts(decoder), state)),)


def rwkv7_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Four square projections, four through a low rank, and channel mixing; the first layer mixes no earlier values."""
    values, hidden = decoder.values, decoder.hidden_size
    _heads(decoder)
    intermediate = values.optional_integer("intermediate_size") or values.integer("hidden_ratio") * hidden
    for name in ("x_r", "x_w", "x_k", "x_v", "x_a", "x_g", "k_k", "k_a", "r_k"):
        yield decoder.vector(f"attn.{name}", hidden, role=Role.STATE)
    for name in ("r_proj", "k_proj", "v_proj", "o_proj"):
        yield decoder.matrix(f"attn.{name}", hidden, hidden)
    for name, key in (("w", "decay"), ("a", "a"), ("v", "v"), ("g", "gate")):
        if name == "v" and plan.kind == "rwkv7_first":
            continue
        rank = values.integer(f"{key}_low_rank_dim")
        yield decoder.matrix(f"attn.{name}_lora.0", rank, hidden)
        yield from decoder.linear(f"attn.{name}_lora.2", hidden, rank, name != "g")
    yield from decoder.norm("attn.g_norm", hidden, True)
    yield decoder.vector("ffn.x_k", hidden, role=Role.STATE)
    yield decoder.matrix("ffn.key", intermediate, hidden)
    yield decoder.matrix("ffn.value", hidden, intermediate)


def _heads(decoder: Decoder) -> int:
    values = decoder.values
    heads, rest = divmod(decoder.hidden_size, values.integer("head_dim"))
    if rest or not heads:
        raise values.wrong("head_dim", values.get("head_dim"), f"a divisor of the width {decoder.hidden_size:,}")
    return heads


def _shifts(decoder: Decoder) -> Iterator[StateTensor]:
    for half in ("attention", "feed_forward"):
        yield StateTensor(name=f"{half}_shift", rows=decoder.hidden_size, columns=1)


def _width(decoder: Decoder) -> int:
    return decoder.values.optional_integer("attention_hidden_size") or decoder.hidden_size
