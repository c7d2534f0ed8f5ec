"""A text model's layers and the tensors around them."""

from collections.abc import Iterator

from planner.architecture import Layer, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.extra import layer_extras, outer_extras
from planner.readers.feed_forward import feed_forward_tensors
from planner.readers.hyper_connections import final_mixing, layer_mixing
from planner.readers.layer_plan import LayerPlan
from planner.readers.layout import plan_layers
from planner.readers.mixers import mixer_rule

_NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


def build_layers(decoder: Decoder) -> tuple[Layer, ...]:
    """The decoder's layers in order; equal ones are one object."""
    plans = plan_layers(decoder)
    built = {plan: build_layer(decoder, plan) for plan in dict.fromkeys(plans)}
    return tuple(built[plan] for plan in plans)


def build_layer(decoder: Decoder, plan: LayerPlan) -> Layer:
    rule = mixer_rule(plan.kind)
    if plan.runs_again:
        return Layer(kind=plan.kind, mixers=rule.mixers(decoder, plan), tensors=())
    return Layer(
        kind=plan.kind,
        mixers=rule.mixers(decoder, plan),
        tensors=(
            *rule.tensors(decoder, plan),
            *feed_forward_tensors(decoder, plan),
            *_norms(decoder, plan),
            *layer_mixing(decoder),
            *layer_extras(decoder, plan),
        ),
    )


def _norms(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    number = decoder.structure.norms_per_layer
    if decoder.is_on(decoder.structure.norms_by_part):
        number = number * ((plan.kind != "none") + (plan.feed_forward != "none")) // 2
    for name in _NORMS[:number]:
        yield from decoder.norm(name, decoder.hidden_size)


def outer_tensors(decoder: Decoder, vocab_size: int, tied: bool) -> Iterator[Tensor]:
    """Embeddings, the norms outside the layers, and the head unless it is *tied* to the embedding."""
    structure, values, hidden = decoder.structure, decoder.values, decoder.hidden_size
    width = values.optional_integer("word_embed_proj_dim") or hidden
    yield decoder.matrix("embed_tokens", vocab_size + structure.extra_embedding_rows, width, role=Role.EMBEDDING)
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
    yield from final_mixing(decoder)
    yield from outer_extras(decoder)
    if values.is_set("ple_layer_ids"):
        from planner.readers.mixers.ngram_memory import ngram_tables  # no other model has any

        yield from ngram_tables(decoder)
    if values.is_set("ngram_vocab_size_ratio"):
        from planner.readers.mixers.ngram_memory import ngram_embedding

        yield from ngram_embedding(decoder)
    if not tied:
        words = values.optional_integer("head_vocab_size") or vocab_size
        yield decoder.matrix("lm_head", words, width, role=Role.HEAD)
    if decoder.is_on(structure.head_bias):
        yield decoder.vector("lm_head.bias", vocab_size, role=Role.BIAS, replicated=False)
