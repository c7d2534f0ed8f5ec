"""From a layer's mixers and the cache formats to the bytes that grow with the context."""

from collections.abc import Iterable
from dataclasses import replace

from planner.architecture import (
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Layer,
    Mixer,
    Recurrence,
    SharedCache,
    distinct_layers,
)
from planner.formats import NumberFormat
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KVCacheSpec:
    """How one cache grows with the tokens of one request.

        bytes(n) = fixed_bytes + bytes_per_entry · ceil(min(n, max_tokens) / tokens_per_entry)

    Full, windowed, chunked, latent, compressed, shared (all zero) and recurrent (only fixed) caches are these numbers.
    """

    fixed_bytes: int = 0
    bytes_per_entry: int = 0
    tokens_per_entry: int = 1
    max_tokens: int | None = None

    def bytes_for(self, tokens: int) -> int:
        kept = tokens if self.max_tokens is None or tokens < self.max_tokens else self.max_tokens
        return self.fixed_bytes + self.bytes_per_entry * -(-kept // self.tokens_per_entry)

    def grows_at(self, tokens: int) -> bool:
        """Whether the next token after *tokens* still adds entries."""
        return self.bytes_per_entry > 0 and (self.max_tokens is None or tokens < self.max_tokens)


def attention_bytes_per_token(attention: Attention, key_format: NumberFormat, value_format: NumberFormat) -> int:
    """Bytes one layer keeps per token: a key and a value for every key-value head.

        bytes = key_format.bytes_for(num_key_value_heads · head_dim)
              + value_format.bytes_for(num_key_value_heads · v_head_dim)

    Source: Shazeer, arXiv:1911.02150 (one shared head); Ainslie et al., arXiv:2305.13245 (grouped heads).
    >>> bf16 = NumberFormat(name="bf16", elements=1, bytes=2)
    >>> gqa = Attention(num_attention_heads=32, num_key_value_heads=8, head_dim=128, v_head_dim=128)
    >>> attention_bytes_per_token(gqa, bf16, bf16)
    4096
    """
    heads = attention.num_key_value_heads
    return key_format.bytes_for(heads * attention.head_dim) + value_format.bytes_for(heads * attention.v_head_dim)


def latent_bytes_per_token(attention: LatentAttention, key_format: NumberFormat) -> int:
    """Bytes one layer keeps per token under multi-head latent attention (MLA).

    One compressed vector and its rotary part, shared by all heads; no separate values; and the indexer's key, if any:

        bytes = key_format.bytes_for(kv_lora_rank + qk_rope_head_dim) + key_format.bytes_for(index_head_dim)

    Source: DeepSeek-V2, arXiv:2405.04434, section 2.1; DeepSeek-V3.2 for the indexer.
    >>> bf16 = NumberFormat(name="bf16", elements=1, bytes=2)
    >>> latent_bytes_per_token(LatentAttention(num_attention_heads=128, kv_lora_rank=512, qk_rope_head_dim=64), bf16)
    1152
    """
    latent = key_format.bytes_for(attention.kv_lora_rank + attention.qk_rope_head_dim)
    index_format = attention.index_format or key_format
    return latent + (index_format.bytes_for(attention.index_head_dim) if attention.index_head_dim else 0)


def mixer_spec(mixer: Mixer, key_format: NumberFormat, value_format: NumberFormat) -> KVCacheSpec:
    """The cache of one mixer as the architecture needs it, before any engine rounds or reserves.

    A window keeps its full width in tokens; a recurrent state and an image's keys and values are there from the
    first token.
    """
    match mixer:
        case Attention():
            return KVCacheSpec(
                bytes_per_entry=attention_bytes_per_token(mixer, key_format, value_format),
                max_tokens=mixer.window_tokens,
            )
        case CrossAttention():
            width = mixer.num_key_value_heads * mixer.head_dim
            return KVCacheSpec(fixed_bytes=mixer.tokens * (key_format.bytes_for(width) + value_format.bytes_for(width)))
        case LatentAttention():
            return KVCacheSpec(
                bytes_per_entry=latent_bytes_per_token(mixer, key_format), max_tokens=mixer.window_tokens
            )
        case CompressedAttention():
            return KVCacheSpec(
                bytes_per_entry=key_format.bytes_for(mixer.width), tokens_per_entry=mixer.tokens_per_entry
            )
        case Recurrence():
            return KVCacheSpec(
                fixed_bytes=sum((state.format or key_format).bytes_for(state.elements) for state in mixer.states)
            )
        case SharedCache():
            return KVCacheSpec()


def layer_specs(layer: Layer, key_format: NumberFormat, value_format: NumberFormat) -> tuple[KVCacheSpec, ...]:
    """The caches of one layer, one a mixer."""
    return tuple(mixer_spec(mixer, key_format, value_format) for mixer in layer.mixers)


def merge_specs(specs: Iterable[tuple[KVCacheSpec, int]]) -> tuple[KVCacheSpec, ...]:
    """The same bytes for every length from as few specs as possible: one for each (tokens_per_entry, max_tokens).

    *specs* come with how often each occurs. Adding up a long model then costs two or three terms a length.
    """
    merged: dict[tuple[int, int | None], KVCacheSpec] = {}
    for spec, count in specs:
        key = (spec.tokens_per_entry, spec.max_tokens if spec.bytes_per_entry else None)
        known = merged.get(key, KVCacheSpec(tokens_per_entry=key[0], max_tokens=key[1]))
        merged[key] = replace(
            known,
            fixed_bytes=known.fixed_bytes + count * spec.fixed_bytes,
            bytes_per_entry=known.bytes_per_entry + count * spec.bytes_per_entry,
        )
    return tuple(merged.values())


def model_specs(
    layers: Iterable[Layer], key_format: NumberFormat, value_format: NumberFormat
) -> tuple[KVCacheSpec, ...]:
    """The merged caches of all *layers* for one request."""
    return merge_specs(
        (spec, count)
        for layer, count in distinct_layers(layers)
        for spec in layer_specs(layer, key_format, value_format)
    )


def bytes_for(specs: Iterable[KVCacheSpec], tokens: int) -> int:
    """Bytes that one request of *tokens* keeps in all of *specs*."""
    return sum(spec.bytes_for(tokens) for spec in specs)


def state_bytes(layers: Iterable[Layer], key_format: NumberFormat) -> int:
    """Bytes of one request's recurrent states in *layers*."""
    return sum(
        mixer_spec(mixer, key_format, key_format).fixed_bytes
        for layer in layers
        for mixer in layer.mixers
        if isinstance(mixer, Recurrence)
    )


def fixed_bytes(specs: Iterable[KVCacheSpec]) -> int:
    """One request's state whatever its length."""
    return sum(spec.fixed_bytes for spec in specs)


def bytes_per_token_at(specs: Iterable[KVCacheSpec], tokens: int) -> int | float:
    """What one more token costs after *tokens*, on average: windows that are full cost nothing more.

    A whole number is returned as ``int``.
    """
    numerator, denominator = 0, 1
    for spec in specs:
        if spec.grows_at(tokens):
            numerator = numerator * spec.tokens_per_entry + spec.bytes_per_entry * denominator
            denominator *= spec.tokens_per_entry
    whole, rest = divmod(numerator, denominator)
    return numerator / denominator if rest else whole
