"""How the figures of one budget come about: each term with the real numbers in it, for whoever wants to redo it."""

from collections.abc import Iterator

from planner.answers.naive import one_formula_bytes_per_token
from planner.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Layer,
    Mixer,
    Recurrence,
    SharedCache,
)
from planner.deployment import Deployment, Workload
from planner.engines.split import split_heads
from planner.formats import NumberFormat
from planner.gguf_mixes import as_stored
from planner.kv_cache import mixer_spec
from planner.records import dataclass
from planner.weights import bytes_by_role, parameters_by_role

_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsTerm:
    """The tensors of one role on one device: *parameters* of the whole model, *bytes* of one device's share."""

    role: str
    parameters: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTerm:
    """All layers with one kind of mixer: *layers* × *layer_bytes* = *bytes*, for one request on one device.

    *formula* is the arithmetic of one layer, without its result.
    """

    kind: str
    layers: int
    formula: str
    layer_bytes: int

    @property
    def bytes(self) -> int:
        return self.layers * self.layer_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NaiveCache:
    """What the usual single formula says of one request, and *factor*, how many times the real bytes that is."""

    bytes_per_token: int
    bytes: int
    factor: float


def weights_terms(architecture: Architecture, deployment: Deployment) -> tuple[WeightsTerm, ...]:
    """The text model's weights by role, largest first; towers are items of their own."""
    architecture = as_stored(architecture, deployment.weights)
    sizes = bytes_by_role(
        architecture.layers, architecture.tensors, deployment.weights, tensor_parallel=deployment.tensor_parallel
    )
    counts = parameters_by_role(architecture)
    terms = [WeightsTerm(role=role, parameters=counts[role], bytes=size) for role, size in sizes.items()]
    return tuple(sorted(terms, key=lambda term: -term.bytes))


def cache_terms(architecture: Architecture, deployment: Deployment, workload: Workload) -> tuple[CacheTerm, ...]:
    """One request's cache by kind of layer, in order of appearance, as the architecture needs it."""
    counts: dict[Mixer, int] = {}
    for mixer in _mixers(split_heads(architecture.layers, deployment.tensor_parallel)):
        counts[mixer] = counts.get(mixer, 0) + 1
    key, value = deployment.kv_cache_k, deployment.kv_cache_v
    return tuple(
        CacheTerm(
            kind=mixer_words(mixer),
            layers=layers,
            formula=_formula(mixer, key, value, workload.context_tokens),
            layer_bytes=mixer_spec(mixer, key, value).bytes_for(workload.context_tokens),
        )
        for mixer, layers in counts.items()
    )


def naive_cache(
    architecture: Architecture, deployment: Deployment, workload: Workload, request_bytes: int
) -> NaiveCache | None:
    """The usual formula's figure where it differs from the real *request_bytes*; ``None`` where the two agree."""
    per_token = one_formula_bytes_per_token(architecture, deployment.kv_cache_k)
    if per_token is None or deployment.kv_cache_k != deployment.kv_cache_v or deployment.tensor_parallel > 1:
        return None
    size = per_token * workload.context_tokens
    if size == request_bytes or request_bytes == 0:
        return None
    return NaiveCache(bytes_per_token=per_token, bytes=size, factor=size / request_bytes)


def mixer_words(mixer: Mixer) -> str:
    """What a layer keeps, in plain words with the field's term in brackets."""
    match mixer:
        case Attention():
            window = "" if mixer.window_tokens is None else f"{mixer.window_kind} window of {mixer.window_tokens:,}, "
            return window + sharing_words(mixer)
        case CrossAttention():
            return f"keys and values of an image's {mixer.tokens:,} tokens (cross-attention)"
        case LatentAttention():
            return f"one compressed vector for all {mixer.num_attention_heads} heads (MLA)"
        case CompressedAttention():
            return f"one vector for every {mixer.tokens_per_entry:,} tokens, for all heads"
        case Recurrence():
            return f"a state of fixed size ({mixer.kind})"
        case SharedCache():
            return "reads another layer's cache"


def sharing_words(attention: Attention) -> str:
    """How many heads share one key and value, with the field's term in brackets."""
    heads, kv_heads = attention.num_attention_heads, attention.num_key_value_heads
    if kv_heads == 1 and heads > 1:
        return f"all {heads} heads share one (MQA)"
    if kv_heads >= heads:
        return "every head keeps its own (MHA)"
    group = heads // kv_heads
    words = _NUMBERS[group] if group < len(_NUMBERS) else str(group)
    return f"{words} heads share (GQA)"


def _formula(mixer: Mixer, key: NumberFormat, value: NumberFormat, tokens: int) -> str:
    kept = f"{tokens:,} tokens"
    window = getattr(mixer, "window_tokens", None)
    if window is not None and window < tokens:
        kept = f"{window:,} tokens (the window is full)"
    match mixer:
        case Attention():
            heads = mixer.num_key_value_heads
            if key == value and mixer.head_dim == mixer.v_head_dim:
                return f"2 (key and value) × {heads} heads × {mixer.head_dim} × {_width(key)} × {kept}"
            keys = f"{heads} heads × {mixer.head_dim} × {_width(key)}"
            values = f"{heads} heads × {mixer.v_head_dim} × {_width(value)}"
            return f"(keys {keys} + values {values}) × {kept}"
        case CrossAttention():
            width = f"{mixer.num_key_value_heads} heads × {mixer.head_dim}"
            return f"(keys {width} × {_width(key)} + values {width} × {_width(value)}) × {mixer.tokens:,} image tokens"
        case LatentAttention():
            index = f" + {mixer.index_head_dim} (indexer)" if mixer.index_head_dim else ""
            return f"({mixer.kv_lora_rank} + {mixer.qk_rope_head_dim} (rotary){index}) × {_width(key)} × {kept}"
        case CompressedAttention():
            return f"{mixer.width} × {_width(key)} × {tokens:,} tokens / {mixer.tokens_per_entry:,}, rounded up"
        case Recurrence():
            states = " + ".join(f"{state.elements:,} × {_width(state.format or key)}" for state in mixer.states)
            return f"{states}, whatever the length"
        case SharedCache():
            return "0"


def _width(number_format: NumberFormat) -> str:
    """Bytes of one number: ``2 B``, or ``34 B / 32`` for a block of 32."""
    if number_format.elements == 1:
        return f"{number_format.bytes} B"
    return f"{number_format.bytes} B / {number_format.elements}"


def _mixers(layers: tuple[Layer, ...]) -> Iterator[Mixer]:
    for layer in layers:
        yield from layer.mixers
