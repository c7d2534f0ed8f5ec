"""Layers for multi-token prediction: weights beside the model, loaded only to draft."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from planner.architecture import Layer, Tensor
from planner.errors import UnsupportedModel
from planner.formats import Role
from planner.readers.attention_kinds import LATENT
from planner.readers.decoder import Decoder
from planner.readers.hyper_connections import final_mixing, without_mixing
from planner.readers.layer_plan import LayerPlan
from planner.readers.layout import WINDOWED_KEY, plan_layers
from planner.readers.text_model import build_layer
from planner.readers.values import Values
from planner.units import shorten

_DECLARED = (
    *("num_nextn_predict_layers", "num_mtp_modules", "num_mtp_layers", "mtp_num_layers", "mtp_num_hidden_layers"),
)


def mtp_layers(decoder: Decoder, vocab_size: int) -> tuple[Layer, ...]:
    """One more decoder layer each, with the tensors that join a token to the hidden state before it."""
    number = decoder.values.optional_integer("num_nextn_predict_layers", minimum=0) or 0
    mtp = decoder.structure.mtp
    if not number or mtp == "none":
        return ()
    built = [build_layer(decoder, plan) for plan in _plans(decoder, plan_layers(decoder))]
    if not built:
        return ()
    if mtp == "shared_latent":
        built = [replace(layer, tensors=without_mixing(layer.tensors)) for layer in built]
    first = replace(built[0], tensors=(*built[0].tensors, *_JOINING[mtp](decoder, vocab_size)))
    return (first, *built[1:]) * number


def uncounted_mtp(top: Values, decoder: Decoder) -> tuple[str, ...]:
    """That a file, in its text model or around it, declares prediction layers that its family does not describe."""
    if decoder.structure.mtp != "none":
        return ()
    declared = [values.optional_integer(key, minimum=0) or 0 for values in (top, decoder.values) for key in _DECLARED]
    if not any(declared):
        return ()
    return (
        f"Layers for multi-token prediction ({max(declared)} in the config) are missing from the count; they are "
        "loaded only to draft.",
    )


def _plans(decoder: Decoder, plans: Sequence[LayerPlan]) -> list[LayerPlan]:
    """What a prediction layer is built as: mostly the decoder's last layer, in GLM-5.3 its last of latent attention."""
    mtp = decoder.structure.mtp
    if mtp == "pattern":
        return [_plan_of(decoder, plans, word) for word in _words(decoder)]
    if mtp == "shared_latent":
        return [next(plan for plan in reversed(plans) if plan.kind == LATENT)]
    plan = replace(plans[-1], has_indexer=any(plan.has_indexer for plan in plans))
    if mtp == "shared_dense":
        plan = replace(plan, feed_forward="dense")
    elif mtp == "shared_windowed":
        plan = replace(plan, kind=WINDOWED_KEY)
    return [plan]


def _words(decoder: Decoder) -> list[str]:
    """The parts of a prediction layer where mixers and feed-forward parts are layers of their own: Nemotron-3."""
    values = decoder.values
    if values.is_list("mtp_layers_block_type"):
        return values.strings("mtp_layers_block_type")
    return list(values.text("mtp_hybrid_override_pattern"))


def _plan_of(decoder: Decoder, plans: Sequence[LayerPlan], word: str) -> LayerPlan:
    """The plan of the decoder's own layers of this kind."""
    kind = decoder.family.layer_kinds.get(word)
    for plan in plans:
        if kind and (plan.kind, plan.feed_forward) == (kind.mixer, kind.feed_forward):
            return plan
    raise UnsupportedModel(
        f"{decoder.values.where}: there is a prediction layer {shorten(word)!r}, which no other layer is like."
    )


def _shared(decoder: Decoder, vocab_size: int) -> Iterator[Tensor]:
    """Embedding and head are the model's own. Source: DeepSeek-V3, arXiv:2412.19437, section 2.2."""
    hidden = decoder.hidden_size
    yield from decoder.norm("enorm", hidden)
    yield from decoder.norm("hnorm", hidden)
    yield decoder.matrix("eh_proj", hidden, 2 * hidden)
    yield from decoder.norm("shared_head.norm", hidden)


def _shared_streams(decoder: Decoder, vocab_size: int) -> Iterator[Tensor]:
    """The same with residual streams to bring together: DeepSeek-V4, whose prediction layer sees a window alone."""
    yield from _shared(decoder, vocab_size)
    yield from final_mixing(decoder)


def _copies(decoder: Decoder, vocab_size: int) -> Iterator[Tensor]:
    """The same as DeepSeek's published files store it: with a copy of embedding and head."""
    yield from _shared(decoder, vocab_size)
    yield decoder.matrix("embed_tokens", vocab_size, decoder.hidden_size, role=Role.EMBEDDING)
    yield decoder.matrix("shared_head.head", vocab_size, decoder.hidden_size, role=Role.HEAD)


def _qwen(decoder: Decoder, vocab_size: int) -> Iterator[Tensor]:
    """Embedding and head are the model's own. Source: Qwen3-Next's published files."""
    hidden = decoder.hidden_size
    yield decoder.matrix("mtp.fc", hidden, 2 * hidden)
    for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm"):
        yield from decoder.norm(f"mtp.{name}", hidden)


_JOINING: dict[str, Callable[[Decoder, int], Iterator[Tensor]]] = {
    "shared": _shared,
    "shared_dense": _shared,
    "shared_latent": _shared,
    "shared_windowed": _shared_streams,
    "copies": _copies,
    "pattern": _shared,
    "qwen": _qwen,
}
