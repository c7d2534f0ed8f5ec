"""One user's cache across kinds of attention, beside the weights, and shared among users."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from planner import presets
from planner.answers.cache_words import attention_words
from planner.answers.explain import sharing_words
from planner.architecture import Architecture, Attention, LatentAttention, Layer, Mixer, distinct_layers
from planner.deployment import MAX_TOKENS
from planner.formats import NumberFormat, QuantScheme
from planner.gguf_mixes import as_stored
from planner.kv_cache import KVCacheSpec, bytes_for, bytes_per_token_at, model_specs
from planner.records import dataclass
from planner.search import largest
from planner.weights import loaded_tensors, tensors_bytes

REAL_MODELS = (
    "llama-2-13b",
    "llama-3.1-8b",
    "falcon-7b",
    "deepseek-v3",
    "gemma-3-27b",
    "gpt-oss-120b",
    "qwen3-next-80b-a3b",
    "falcon-mamba-7b",
)
"""One for each kind: heads of their own, grouped, one for all, latent, windows, half of them, a hybrid, a state."""
LATENT_MODEL = "deepseek-v3"
"""Whose compressed vector is lent to other models, to compare."""
SHARED_USERS = (32, 64, 128)
SHARED_TOKENS = 65_536
"""So many users share so many resident tokens, to show what that changes."""
_GROUPED_HEADS = 8
_CURVE_POINTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCost:
    """One user of *tokens*: the bytes kept, and those that one more token adds. *is_asked*: the model as it is."""

    model: str
    attention: str
    tokens: int
    bytes: int
    bytes_per_token: int | float
    is_asked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Weights against one user's cache. *tokens*: the shortest context whose cache is bigger; ``None``: none is.

    *points* are (tokens, cache bytes) up to *longest_tokens*, with every corner, so that straight lines join them.
    """

    weights_bytes: int
    tokens: int | None
    longest_tokens: int
    points: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTokens:
    """The same resident tokens among *users*: what they cost together."""

    users: int
    tokens_each: int
    bytes: int


def cost_of(
    architecture: Architecture, tokens: int, key: NumberFormat, value: NumberFormat, is_asked: bool = False
) -> CacheCost:
    """*architecture*'s cache for one user of *tokens*, as it needs it before any engine rounds."""
    return _cost(architecture, attention_words(architecture), tokens, key, value, is_asked)


def head_variants(
    architecture: Architecture, tokens: int, key: NumberFormat, value: NumberFormat
) -> tuple[CacheCost, ...]:
    """The same layers with other heads, most bytes first: all their own, grouped, one for all, a latent vector.

    Empty for a model without heads that could share: latent attention keeps one vector whatever their number.
    """
    heads = [mixer for mixer in _mixers(architecture) if isinstance(mixer, Attention)]
    if not heads:
        return ()
    counts: dict[int, None] = dict.fromkeys((heads[0].num_attention_heads, heads[0].num_key_value_heads, 1))
    if len(counts) < 3 and heads[0].num_attention_heads % _GROUPED_HEADS == 0:
        counts[_GROUPED_HEADS] = None
    found = []
    for count in counts:
        is_asked = count == heads[0].num_key_value_heads
        other = architecture if is_asked else _with_mixers(architecture, partial(_with_heads, count=count))
        words = sharing_words(replace(heads[0], num_key_value_heads=count))
        found.append(_cost(other, words, tokens, key, value, is_asked))
    latent = _latent_of(presets.load_preset(LATENT_MODEL))
    lent = _with_mixers(architecture, partial(_with_latent, latent=latent))
    found.append(_cost(lent, "one compressed vector (MLA)", tokens, key, value, False))
    return tuple(sorted(found, key=lambda cost: -cost.bytes))


def weights_bytes(architecture: Architecture, scheme: QuantScheme) -> int:
    """The whole model's weights in *scheme*, towers included, on however many devices."""
    return tensors_bytes(loaded_tensors(as_stored(architecture, scheme)), scheme)


def crossing(architecture: Architecture, scheme: QuantScheme, key: NumberFormat, value: NumberFormat) -> Crossing:
    """Where one user's cache outgrows the model, drawn at least up to the model's own limit."""
    size = weights_bytes(architecture, scheme)
    specs = model_specs(architecture.layers, key, value)
    outgrown = bytes_for(specs, MAX_TOKENS) > size
    tokens = largest(lambda n: bytes_for(specs, n) <= size, MAX_TOKENS) + 1 if outgrown else None
    limit = architecture.max_position_embeddings or 0
    longest = max(limit, tokens + tokens // 5) if tokens else limit or 2**17
    return Crossing(
        weights_bytes=size, tokens=tokens, longest_tokens=longest, points=tuple(_curve(specs, longest, tokens))
    )


def shared_tokens(
    architecture: Architecture, key: NumberFormat, value: NumberFormat, users: Sequence[int], resident_tokens: int
) -> tuple[SharedTokens, ...]:
    """*resident_tokens* divided among each number of *users*: equal bytes, unless windows or states are kept a user."""
    specs = model_specs(architecture.layers, key, value)
    return tuple(
        SharedTokens(
            users=count,
            tokens_each=resident_tokens // count,
            bytes=count * bytes_for(specs, resident_tokens // count),
        )
        for count in users
    )


def _cost(
    architecture: Architecture, words: str, tokens: int, key: NumberFormat, value: NumberFormat, is_asked: bool
) -> CacheCost:
    specs = model_specs(architecture.layers, key, value)
    return CacheCost(
        model=architecture.title,
        attention=words,
        tokens=tokens,
        bytes=bytes_for(specs, tokens),
        bytes_per_token=bytes_per_token_at(specs, tokens),
        is_asked=is_asked,
    )


def _curve(specs: Sequence[KVCacheSpec], longest: int, crossing_tokens: int | None) -> Iterator[tuple[int, int]]:
    corners = {spec.max_tokens for spec in specs if spec.max_tokens is not None and spec.max_tokens < longest}
    steps = {longest * step // _CURVE_POINTS for step in range(_CURVE_POINTS + 1)}
    for tokens in sorted(corners | steps | ({crossing_tokens} if crossing_tokens else set())):
        yield tokens, bytes_for(specs, tokens)


def _mixers(architecture: Architecture) -> Iterator[Mixer]:
    for layer, _ in distinct_layers(architecture.layers):
        yield from layer.mixers


def _with_mixers(architecture: Architecture, change: Callable[[Mixer], Mixer]) -> Architecture:
    built: dict[int, Layer] = {}
    for layer, _ in distinct_layers(architecture.layers):
        built[id(layer)] = replace(layer, mixers=tuple(change(mixer) for mixer in layer.mixers))
    return replace(architecture, layers=tuple(built[id(layer)] for layer in architecture.layers))


def _with_heads(mixer: Mixer, count: int) -> Mixer:
    """*mixer* with *count* key-value heads, or as many as it has heads."""
    if not isinstance(mixer, Attention):
        return mixer
    return replace(mixer, num_key_value_heads=min(count, mixer.num_attention_heads))


def _with_latent(mixer: Mixer, latent: LatentAttention) -> Mixer:
    """*latent* in place of *mixer*, over the same window."""
    if not isinstance(mixer, Attention):
        return mixer
    return replace(latent, num_attention_heads=mixer.num_attention_heads, window_tokens=mixer.window_tokens)


def _latent_of(architecture: Architecture) -> LatentAttention:
    return next(mixer for mixer in _mixers(architecture) if isinstance(mixer, LatentAttention))
