"""Tensors that only a few families have, from their family's table."""

from collections.abc import Iterator
from math import prod

from planner.architecture import Tensor
from planner.readers.decoder import Decoder
from planner.readers.family import ExtraTensor, Size
from planner.readers.layer_plan import LayerPlan

_PLAN_SIZES = frozenset({"num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim", "intermediate_size"})


def layer_extras(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """The extra tensors of one layer."""
    places = ("layer", plan.feed_forward, plan.kind)
    return (_tensor(decoder, extra, plan) for extra in decoder.family.extra if _applies(decoder, extra, places))


def outer_extras(decoder: Decoder) -> Iterator[Tensor]:
    """The extra tensors outside the layers."""
    return (_tensor(decoder, extra, None) for extra in decoder.family.extra if _applies(decoder, extra, ("outer",)))


def _applies(decoder: Decoder, extra: ExtraTensor, places: tuple[str, ...]) -> bool:
    if extra.place not in places:
        return False
    if not extra.only_if:
        return True
    deciding = decoder.values.get(extra.only_if)
    return decoder.values.flag(extra.only_if) if isinstance(deciding, bool) else _positive(decoder, extra.only_if)


def _positive(decoder: Decoder, key: str) -> bool:
    return bool(decoder.values.optional_integer(key, minimum=0))


def _tensor(decoder: Decoder, extra: ExtraTensor, plan: LayerPlan | None) -> Tensor:
    return Tensor(
        name=extra.name,
        role=extra.role,
        rows=prod(_number(decoder, size, plan) for size in extra.rows),
        columns=prod(_number(decoder, size, plan) for size in extra.columns),
        stored=decoder.stored,
        active=-1 if extra.active else 0,
        replicated=extra.replicated,
    )


def _number(decoder: Decoder, size: Size, plan: LayerPlan | None) -> int:
    if isinstance(size, int):
        return size
    if size == "hidden_size":
        return decoder.hidden_size
    more, _, less = size.partition(" - ")
    if less:
        return max(0, _number(decoder, more, plan) - _number(decoder, int(less) if less.isdecimal() else less, plan))
    if plan is not None and size in _PLAN_SIZES and getattr(plan, size):
        return int(getattr(plan, size))
    return decoder.values.integer(size)
