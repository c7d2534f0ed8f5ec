"""RWKV-4, arXiv:2305.13048: time mixing with a decay a channel, and a feed-forward part that looks one token back."""

from collections.abc import Iterator

from planner.architecture import Mixer, Recurrence, StateTensor, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.states import recurrent_state


def rwkv(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """The last token of both halves, and numerator, denominator and exponent of the running average."""
    width = _width(decoder)
    shifts = (
        StateTensor(name=f"{half}_shift", rows=decoder.hidden_size, columns=1) for half in ("attention", "feed_forward")
    )
    averages = (recurrent_state(decoder, width, 1, name) for name in ("numerator", "denominator", "exponent"))
    return (Recurrence(kind="rwkv", states=(*shifts, *averages)),)


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


def _width(decoder: Decoder) -> int:
    return decoder.values.optional_integer("attention_hidden_size") or decoder.hidden_size
