"""Yuan 2.0: attention whose queries and keys come from a short filter over the last tokens, arXiv:2311.15786."""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan

_KERNEL = 2


def localized_filter(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Two convolutions in a row see two tokens back; the class keeps these tokens' hidden states."""
    state = StateTensor(name="filter", rows=decoder.hidden_size, columns=2 * (_KERNEL - 1))
    return (Recurrence(kind="localized_filtering", states=(state,)),)


def localized_filter_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Through half the hidden size and back, every channel with every other."""
    hidden = decoder.hidden_size
    for name, rows, columns in (("conv1", hidden // 2, hidden), ("conv2", hidden, hidden // 2)):
        yield decoder.matrix(f"self_attn.lf_gate.{name}", rows, _KERNEL * columns, role=Role.STATE)
        yield decoder.vector(f"self_attn.lf_gate.{name}.bias", rows, role=Role.STATE)
    yield from decoder.norm("self_attn.lf_gate.output_layernorm", hidden)
