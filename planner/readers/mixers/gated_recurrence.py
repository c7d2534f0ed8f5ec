"""The real-gated linear recurrent unit of Griffin and RecurrentGemma, arXiv:2402.19427: one number a channel."""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.state_space import convolution
from planner.readers.mixers.states import conv_state, recurrent_state


def gated_recurrence(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    width = _width(decoder)
    states = (conv_state(width, decoder.values.integer("conv_kernel")), recurrent_state(decoder, width, 1))
    return (Recurrence(kind="rg_lru", states=states),)


def gated_recurrence_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    hidden, width = decoder.hidden_size, _width(decoder)
    block = width // decoder.values.integer("num_attention_heads")
    yield from decoder.linear("temporal_block.linear_y", width, hidden, True)
    yield from decoder.linear("temporal_block.linear_x", width, hidden, True)
    yield from decoder.linear("temporal_block.linear_out", hidden, width, True)
    yield from convolution(decoder, "temporal_block.conv_1d", width)
    yield decoder.vector("temporal_block.rg_lru.recurrent_param", width, role=Role.STATE, replicated=False)
    for name in ("input_gate", "recurrent_gate"):
        yield Tensor(
            name=f"temporal_block.rg_lru.{name}_weight",
            role=Role.STATE,
            rows=width,
            columns=block,
            stored=decoder.stored,
        )
        yield decoder.vector(f"temporal_block.rg_lru.{name}_bias", width, role=Role.STATE, replicated=False)


def _width(decoder: Decoder) -> int:
    return decoder.values.optional_integer("lru_width") or decoder.hidden_size
