"""LFM2's gated short convolution: the last few inputs are all it remembers."""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, Tensor
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.state_space import convolution
from planner.readers.mixers.states import conv_state


def short_convolution(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    state = conv_state(decoder.hidden_size, decoder.values.integer("conv_kernel"))
    return (Recurrence(kind="short_convolution", states=(state,)),)


def short_convolution_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    hidden, bias = decoder.hidden_size, decoder.values.flag("use_conv_bias")
    yield from decoder.linear("conv.in_proj", 3 * hidden, hidden, bias)
    yield from convolution(decoder, "conv.conv", hidden)
    yield from decoder.linear("conv.out_proj", hidden, hidden, bias)
