"""A whole step: embeddings, enough layers to see what every kind of them takes behind every other, and logits."""

from collections.abc import Iterable, Mapping

from planner.engines.llama_cpp.placement import HOST
from planner.engines.llama_cpp.step.attention import attention, latent_attention
from planner.engines.llama_cpp.step.feed_forward import feed_forward
from planner.engines.llama_cpp.step.frame import FP32, INDEX, Extent, Frame, Rules
from planner.engines.llama_cpp.step.graph import Graph, Node, given, result, stored, view, written
from planner.engines.llama_cpp.step.latent_heads import latent_heads
from planner.engines.llama_cpp.step.recurrence import KINDS, recurrence
from planner.engines.llama_cpp.step.schedule import peaks
from planner.engines.llama_cpp.step.shapes import LayerShape
from planner.records import dataclass

_SEEN = 2
"""How often a layer behind another of the same kinds is looked at: free blocks have settled by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedLayer:
    """A layer's shape, and the devices of its matrices, its experts and its cells."""

    shape: LayerShape
    device: int
    experts: int
    cache: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What a step goes through: layers that tell of all, as ``telling_layers`` has them.

    *output* is the device of the output matrix, *output_bytes* what a card copies of it.
    *layer_words* is the width of a second embedding on *layer_words_device*, a part of which each layer adds, and
    *layer_words_bytes* the size of the matrix that brings the first one to that width. *cards* is their number.
    """

    hidden: int
    vocab: int
    layers: tuple[PlacedLayer, ...]
    output: int
    output_bytes: int
    layer_words: int
    layer_words_device: int
    layer_words_bytes: int
    cards: int


def step_peaks(model: Model, extent: Extent, rules: Rules, copies: int) -> Mapping[int, int]:
    """Bytes of the arena of each device that computes a part of the step."""
    return peaks(_graph(model, extent, rules), copies)


def telling_layers(layers: Iterable[PlacedLayer]) -> tuple[PlacedLayer, ...]:
    """Those that follow a layer of their kinds for the first or the second time, and the last.

    Equal layers have to be one object.
    """
    seen: dict[tuple[int, int], int] = {}
    kept: list[PlacedLayer] = []
    before: PlacedLayer | None = None
    skipped: PlacedLayer | None = None
    for layer in layers:
        pair = (id(before), id(layer))
        seen[pair] = seen.get(pair, 0) + 1
        skipped = layer if seen[pair] > _SEEN else None
        if skipped is None:
            kept.append(layer)
        before = layer
    return (*kept, skipped) if skipped is not None else tuple(kept)


def _graph(model: Model, extent: Extent, rules: Rules) -> Graph:
    frame = Frame(extent, rules, model.hidden, has_card=model.cards > 0)
    tokens, graph = extent.tokens, frame.graph
    current = _embeddings(frame)
    chosen = given(4 * extent.outputs)
    beside = _layer_words(frame, model, current) if model.layer_words else None
    for index, layer in enumerate(model.layers):
        before, rows = current, tokens
        current = _mixed(frame, layer, frame.norm(current, layer.device))
        if index == len(model.layers) - 1:
            rows = extent.outputs
            size = FP32 * rows * model.hidden
            current = result("get_rows", size, current, chosen)
            before = result("get_rows", size, before, chosen)
        if layer.shape.norms_attention:
            current = frame.norm(current, layer.device)
        middle = result("add", current.size, current, before)
        current = middle
        if layer.shape.intermediate or layer.shape.experts:
            normed = frame.norm(middle, layer.device)
            inner = feed_forward(frame, layer.shape, normed, rows, layer.device, layer.experts)
            if layer.shape.norms_feed_forward:
                inner = frame.norm(inner, layer.device)
            current = result("add", middle.size, inner, middle)
        if beside is not None and layer.shape.per_layer:
            current = _with_words(frame, layer, current, beside, rows)
    normed = frame.norm(current, model.output)
    logits = frame.product(model.vocab, normed, model.output, model.output_bytes, extent.outputs)
    logits.lasts = True
    graph.expand(logits)
    return graph


def _layer_words(frame: Frame, model: Model, words: Node) -> Node:
    """Every layer's part of a second embedding, with what the first one adds to it."""
    size = FP32 * frame.tokens * model.layer_words
    device = model.layer_words_device
    own = result("get_rows", size, stored(device), given(4 * frame.tokens), device=device)
    frame.graph.expand(own)
    projected = frame.product(model.layer_words, words, device, model.layer_words_bytes)
    normed = frame.norm(view(projected), device, size)
    return result("copy", size, view(result("add", size, normed, own)))


def _with_words(frame: Frame, layer: PlacedLayer, current: Node, beside: Node, tokens: int) -> Node:
    """*current* with what the layer makes of its part of *beside*."""
    gate = frame.product(layer.shape.per_layer, current, layer.device, tokens=tokens)
    gated = result("mul", gate.size, result("unary", gate.size, gate), view(beside))
    added = frame.norm(frame.product(frame.hidden, gated, layer.device, tokens=tokens), layer.device)
    return result("add", current.size, current, added)


def _mixed(frame: Frame, layer: PlacedLayer, source: Node) -> Node:
    shape = layer.shape
    if shape.rank and frame.rules.latent == "mla_attn":
        return latent_heads(frame, shape, source, layer.device, layer.cache)
    if shape.rank:
        return latent_attention(frame, shape, source, layer.device, layer.cache)
    if shape.heads:
        return attention(frame, shape, source, layer.device, layer.cache)
    if shape.recurrence in KINDS:
        return recurrence(frame, shape, source, layer.device, layer.cache)
    return frame.product(frame.hidden, source, layer.device)


def _embeddings(frame: Frame) -> Node:
    """The tokens' rows of the embedding, which lies on the host, and inputs for prompts that are not tokens."""
    size = FP32 * frame.tokens * frame.hidden
    words = stored(HOST)
    found = result("get_rows", size, words, given(4 * frame.tokens), device=HOST)
    frame.graph.expand(found)
    if frame.rules.embedding_inputs >= 1:
        frame.graph.expand(given(size))
    if frame.rules.embedding_inputs >= 2:
        rows = result("get_rows", size, words, given(4 * frame.tokens), device=HOST)
        mixed = result("copy", size, given(size))
        frame.graph.expand(written(mixed, rows, given(INDEX * frame.tokens), mixed))
    return found
