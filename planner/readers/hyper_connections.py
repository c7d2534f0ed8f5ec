"""Hyper-connections: a layer's input is a mix of several residual streams, mixed by weights of their own.

Source: manifold-constrained hyper-connections, arXiv:2512.24880, as DeepSeek-V4 and GLM-5.3 have them.
"""

from collections.abc import Iterable, Iterator

from planner.architecture import Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder

_PARTS = ("attn_hc", "ffn_hc")


def layer_mixing(decoder: Decoder) -> Iterator[Tensor]:
    """Before and after attention, and before and after the feed-forward part."""
    if decoder.values.is_set("hc_lowrank"):
        count = decoder.values.integer("hc_count")
        for part in _PARTS:
            yield from _low_rank(decoder, part)
            yield _mix(decoder, f"{part}.block_inject_weight", count, count)
        return
    streams = decoder.values.optional_integer("hc_mult")
    if streams is None:
        return
    is_mixed = decoder.is_on(decoder.structure.mixed_streams)
    mixes = (2 + streams if is_mixed else 2) * streams
    for part in _PARTS:
        yield _mix(decoder, f"{part}.fn", mixes, streams)
        yield decoder.vector(f"{part}.base", mixes, role=Role.STATE)
        yield decoder.vector(f"{part}.scale", 3 if is_mixed else 2, role=Role.STATE)


def without_mixing(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """*tensors* of a layer that has one residual stream where the others have several."""
    return tuple(tensor for tensor in tensors if tensor.name.partition(".")[0] not in _PARTS)


def final_mixing(decoder: Decoder) -> Iterator[Tensor]:
    """What brings the streams together before the head, where it is not their mean."""
    if decoder.values.is_set("hc_lowrank"):
        yield from _low_rank(decoder, "hyper_connection_mixer")
        return
    streams = decoder.values.optional_integer("hc_mult")
    if streams is None or not decoder.is_on(decoder.structure.weighted_streams):
        return
    yield _mix(decoder, "hc_head.hc_fn", streams, streams)
    yield decoder.vector("hc_head.hc_base", streams, role=Role.STATE)
    yield decoder.vector("hc_head.hc_scale", 1, role=Role.STATE)


def _low_rank(decoder: Decoder, part: str) -> Iterator[Tensor]:
    """Weights of a mix from all streams through a low rank: Qwen4-Exp."""
    rank, streams = decoder.values.integer("hc_lowrank"), decoder.values.integer("hc_count")
    yield from decoder.norm(f"{part}.hc_norm", streams * decoder.hidden_size)
    yield _mix(decoder, f"{part}.input_mix_weight_down", rank, streams)
    yield Tensor(
        name=f"{part}.input_mix_weight_up",
        role=Role.STATE,
        rows=streams * decoder.hidden_size,
        columns=rank,
        stored=decoder.stored,
        replicated=True,
    )


def _mix(decoder: Decoder, name: str, rows: int, streams: int) -> Tensor:
    return Tensor(
        name=name,
        role=Role.STATE,
        rows=rows,
        columns=streams * decoder.hidden_size,
        stored=decoder.stored,
        replicated=True,
    )
