"""xLSTM's matrix memory (mLSTM), arXiv:2405.04517 and, as a 7B model, arXiv:2503.13427."""

from collections.abc import Iterator
from math import ceil

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan


def mlstm(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """A matrix of key × value, a normaliser and a maximum a head; the class computes in 32 bits and keeps 16."""
    heads, keys, values = _sizes(decoder)
    states = (
        StateTensor(name="recurrent", rows=heads, columns=keys // heads * (values // heads)),
        StateTensor(name="normaliser", rows=heads, columns=keys // heads),
        StateTensor(name="maximum", rows=heads, columns=1),
    )
    return (Recurrence(kind="mlstm", states=states),)


def mlstm_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """The memory's projections, and the feed-forward part, whose width is a multiple of the hidden size."""
    hidden, bias = decoder.hidden_size, decoder.values.flag("use_bias")
    heads, keys, values = _sizes(decoder)
    for name, width in (("q", keys), ("k", keys), ("v", values), ("ogate_preact", values)):
        yield from decoder.linear(f"mlstm_layer.{name}", width, hidden, bias)
    for name in ("igate_preact", "fgate_preact"):
        yield from decoder.linear(f"mlstm_layer.{name}", heads, hidden, True)
    yield decoder.vector("mlstm_layer.multihead_norm.weight", values, role=Role.NORM, replicated=False)
    yield from decoder.linear("mlstm_layer.out_proj", hidden, values, bias)
    width = _rounded(decoder, "ffn_proj_factor", decoder.values.integer("ffn_round_up_to_multiple_of"))
    yield from decoder.linear("ffn.proj_up_gate", width, hidden, bias)
    yield from decoder.linear("ffn.proj_up", width, hidden, bias)
    yield from decoder.linear("ffn.proj_down", hidden, width, bias)


def _sizes(decoder: Decoder) -> tuple[int, int, int]:
    """Heads, and the width of all heads' keys and of all heads' values."""
    return (
        decoder.values.integer("num_heads"),
        _rounded(decoder, "qk_dim_factor", 64),
        _rounded(decoder, "v_dim_factor", 64),
    )


def _rounded(decoder: Decoder, factor: str, multiple: int) -> int:
    return ceil(decoder.hidden_size * decoder.values.number(factor) / multiple) * multiple
