"""A text model's layers and the tensors around them."""

from collections.abc import Iterator, Sequence

from planner.architecture import Layer, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.extra import layer_extras, outer_extras
from planner.readers.feed_forward import feed_forward_tensors
from planner.readers.layout import LayerPlan, plan_layers
from planner.readers.mixers import MIXERS

_NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


def build_layers(decoder: Decoder) -> tuple[Layer, ...]:
    """The decoder's layers in order; equal ones are one object."""
    plans = plan_layers(decoder)
    built = {plan: build_layer(decoder, plan) for plan in dict.fromkeys(plans)}
    return tuple(built[plan] for plan in plans)


def build_layer(decoder: Decoder, plan: LayerPlan) -> Layer:
    rule = MIXERS[plan.kind]
    return Layer(
        kind=plan.kind,
        mixers=rule.mixers(decoder, plan),
        tensors=(
            *rule.tensors(decoder, plan),
            *feed_forward_tensors(decoder, plan),
            *_norms(decoder),
            *layer_extras(decoder, plan),
        ),
    )


def _norms(decoder: Decoder) -> Iterator[Tensor]:
    for name in _NORMS[: decoder.structure.norms_per_layer]:
        yield from decoder.norm(name, decoder.hidden_size)


def outer_tensors(decoder: Decoder, vocab_size: int, tied: bool) -> Iterator[Tensor]:
    """Embeddings, the norms outside the layers, and the head unless it is *tied* to the embedding."""
    structure, values, hidden = decoder.structure, decoder.values, decoder.hidden_size
    width = values.optional_integer("word_embed_proj_dim") or hidden
    yield decoder.matrix("embed_tokens", vocab_size, width, role=Role.EMBEDDING)
    if width != hidden:
        yield decoder.matrix("project_in", hidden, width)
        yield decoder.matrix("project_out", width, hidden)
    if decoder.is_on(structure.position_embeddings):
        positions = values.integer("max_position_embeddings") + structure.position_offset
        yield decoder.matrix("embed_positions", positions, hidden, role=Role.EMBEDDING, replicated=True)
    if decoder.is_on(structure.embedding_norm):
        yield from decoder.norm("embed_norm", hidden)
    if decoder.is_on(structure.final_norm):
        yield from decoder.norm("norm", hidden)
    yield from outer_extras(decoder)
    if not tied:
        yield decoder.matrix("lm_head", vocab_size, width, role=Role.HEAD)
    if decoder.is_on(structure.head_bias):
        yield decoder.vector("lm_head.bias", vocab_size, role=Role.BIAS, replicated=False)


def mtp_layers(decoder: Decoder, layers: Sequence[Layer], vocab_size: int) -> tuple[Layer, ...]:
    """Layers for multi-token prediction: one more decoder layer each, with a projection of token and hidden state.

    Counted as published files store them, with a copy of embedding and head. Source: DeepSeek-V3, arXiv:2412.19437,
    section 2.2.
    """
    number = decoder.values.optional_integer("num_nextn_predict_layers", minimum=0) or 0
    if not number or decoder.structure.mtp == "none":
        return ()
    hidden = decoder.hidden_size
    extra = (
        decoder.matrix("embed_tokens", vocab_size, hidden, role=Role.EMBEDDING),
        *decoder.norm("enorm", hidden),
        *decoder.norm("hnorm", hidden),
        decoder.matrix("eh_proj", hidden, 2 * hidden),
        *decoder.norm("shared_head.norm", hidden),
        decoder.matrix("shared_head.head", vocab_size, hidden, role=Role.HEAD),
    )
    last = layers[-1]
    return (Layer(kind=last.kind, mixers=last.mixers, tensors=(*last.tensors, *extra)),) * number
