"""Hugging Face transformers with its dynamic cache: what the library's cache classes keep, by version."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from planner.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    LatentAttention,
    Layer,
    Mixer,
    Recurrence,
    StateTensor,
    distinct_layers,
)
from planner.deployment import MAX_TOKENS, Deployment
from planner.engines.base import Rank
from planner.engines.compressed_blocks import block_spec, is_compressed, merge_blocks, most_bytes_for
from planner.engines.forward_pass import Shape, activation_bytes, plain_shape, widest_shape
from planner.engines.minimum import Minimum
from planner.engines.split import split_heads
from planner.kv_cache import KVCacheSpec, merge_specs, mixer_spec
from planner.line_item import Basis, Kind, LineItem
from planner.records import dataclass
from planner.settings.data import EngineSettings
from planner.units import GIB

CONV = "conv"
_SIXTEEN_BIT_BYTES = 2
_UNKNOWN_FACTOR = 2
"""How far the peak of a model that is not plain may lie above the formula for the widest of its layers."""


ACTIVATIONS, CONTEXT = "activations", "context and libraries"


@dataclass(frozen=True, slots=True, kw_only=True)
class PassRank(Rank):
    """A rank with what a forward pass on it needs; *is_plain*: the formula was measured for such models."""

    shape: Shape
    is_plain: bool


class Transformers(Minimum):
    """Hugging Face transformers: the architectural minimum but for what its cache classes keep more or less."""

    name = "transformers"
    cache_basis = Basis.RULE
    has_runtime_items = True
    # transformers 5.24, cache_utils.py: DynamicLayer.lazy_initialization takes the dtype of its input.
    cache_as_weights = True

    def ranks(self, architecture: Architecture, deployment: Deployment) -> tuple[PassRank, ...]:
        size = max(_SIXTEEN_BIT_BYTES, deployment.kv_cache_k.bytes_for(1))
        is_plain = plain_shape(architecture, size) is not None
        expands = architecture.model_type in deployment.settings.rule("expanded_key_values")
        return tuple(
            PassRank(
                layers=_expanded(rank.layers) if expands else rank.layers,
                tensors=rank.tensors,
                towers=rank.towers,
                shape=widest_shape(architecture, rank.layers, size, deployment.tensor_parallel),
                is_plain=is_plain,
            )
            for rank in super().ranks(architecture, deployment)
        )

    def cache_bytes(self, specs: tuple[KVCacheSpec, ...], deployment: Deployment, tokens: int, requests: int) -> int:
        """The most that the requests hold on the way to *tokens*, in one batch."""
        return _batch_bytes(specs, requests, most_bytes_for(specs, tokens))

    def held_bytes(self, specs: tuple[KVCacheSpec, ...], tokens: int, requests: int) -> int:
        """What they hold when all have just *tokens*."""
        return _batch_bytes(specs, requests, self.sequence_bytes(specs, tokens))

    def runtime_items(self, architecture: Architecture, deployment: Deployment) -> tuple[LineItem, ...]:
        """What is gone from a card before anything is loaded; nothing of a CPU's memory."""
        if deployment.on_cpu or deployment.device.unified:
            return ()
        spread = deployment.settings.rule("context_gib")
        return (
            LineItem(
                name=CONTEXT,
                kind=Kind.RUNTIME,
                bytes=round(spread["expected"] * GIB),
                low_bytes=round(spread["low"] * GIB),
                high_bytes=round(spread["high"] * GIB),
                basis=Basis.ASSUMED,
                source="CUDA context and libraries, and what a desktop takes: public readings of cards that are free",
            ),
        )

    def buffer_items(
        self, architecture: Architecture, rank: Rank, deployment: Deployment, tokens: int, requests: int
    ) -> tuple[LineItem, ...]:
        """The peak above weights and cache: of the whole context as one prompt, at least of a step of one token."""
        if not isinstance(rank, PassRank):
            return ()
        eager = deployment.settings.text("attn_implementation") == "eager"
        step = activation_bytes(rank.shape, requests, 1, tokens, eager=eager)
        prompt = max(step, activation_bytes(rank.shape, requests, tokens, tokens, eager=eager))
        return (
            LineItem(
                name=ACTIVATIONS,
                kind=Kind.RUNTIME,
                bytes=prompt,
                low_bytes=step,
                high_bytes=prompt if rank.is_plain else _UNKNOWN_FACTOR * prompt,
                basis=Basis.ASSUMED,
                source=f"largest moment of a pass of {requests:,} × {tokens:,} tokens at once; low: of one token each",
            ),
        )

    def cache_specs(self, rank: Rank, deployment: Deployment) -> tuple[KVCacheSpec, ...]:
        layers = distinct_layers(split_heads(rank.layers, deployment.tensor_parallel))
        plain = merge_specs((spec, count) for layer, count in layers for spec in _specs(layer, deployment))
        key_format = deployment.kv_cache_k
        kinds = {mixer.kind for layer, _ in layers for mixer in layer.mixers if isinstance(mixer, Recurrence)}
        if kinds.intersection(deployment.settings.rule("recurrences_with_counter")):
            plain += (KVCacheSpec(fixed_bytes=int(deployment.settings.rule("window_counter_bytes")), max_tokens=0),)
        return plain + merge_blocks(
            (block_spec(layer, key_format), count) for layer, count in layers if is_compressed(layer)
        )


def _expanded(layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """*layers* that keep keys and values for every head, where several groups share them."""
    distinct = {layer: replace(layer, mixers=tuple(map(_of_every_head, layer.mixers))) for layer in layers}
    return tuple(distinct[layer] for layer in layers)


def _of_every_head(mixer: Mixer) -> Mixer:
    if isinstance(mixer, Attention) and mixer.num_key_value_heads > 1:
        return replace(mixer, num_key_value_heads=mixer.num_attention_heads)
    return mixer


def _batch_bytes(specs: Iterable[KVCacheSpec], requests: int, request_bytes: int) -> int:
    """Equal requests have one counter for each sliding layer between them."""
    counters = sum(spec.fixed_bytes for spec in specs if spec.max_tokens is not None)
    return requests * request_bytes - max(0, requests - 1) * counters


def _specs(layer: Layer, deployment: Deployment) -> Iterator[KVCacheSpec]:
    """What a layer keeps beside blocks. A vector that is key and value is kept once only where blocks go with it."""
    compressed = is_compressed(layer)
    for mixer in layer.mixers:
        if compressed and isinstance(mixer, CompressedAttention | Recurrence):
            continue
        spec = _spec(mixer, deployment, deployment.settings)
        if isinstance(mixer, LatentAttention) and mixer.is_key_and_value and not compressed:
            spec = replace(spec, bytes_per_entry=2 * spec.bytes_per_entry)
        yield spec


def _spec(mixer: Mixer, deployment: Deployment, settings: EngineSettings) -> KVCacheSpec:
    """One mixer's cache: windows lose the current token and gain a counter, convolutions gain the current column."""
    key_format, value_format = deployment.kv_cache_k, deployment.kv_cache_v
    match mixer:
        case Attention() | LatentAttention() if mixer.window_tokens is not None:
            kept = max(0, mixer.window_tokens - int(settings.rule("window_tokens_not_kept")))
            spec = mixer_spec(replace(mixer, window_tokens=kept), key_format, value_format)
            return replace(spec, fixed_bytes=int(settings.rule("window_counter_bytes")))
        case Attention() if mixer.window_kind == "reference":
            spec = mixer_spec(mixer, key_format, value_format)
            return replace(spec, max_tokens=MAX_TOKENS, fixed_bytes=int(settings.rule("window_counter_bytes")))
        case Recurrence():
            is_exact = mixer.kind in settings.rule("recurrences_without_extra_column")
            extra = 0 if is_exact else int(settings.rule("extra_conv_columns"))
            states = tuple(_state(state, extra) for state in mixer.states)
            return mixer_spec(replace(mixer, states=states), key_format, value_format)
        case _:
            return mixer_spec(mixer, key_format, value_format)


def _state(state: StateTensor, extra_columns: int) -> StateTensor:
    return replace(state, columns=state.columns + extra_columns) if state.name == CONV else state
