"""Which layer is what: attention kind, window, heads and feed-forward of each layer, from patterns in the file or the class."""

from dataclasses import dataclass, replace

from planner.errors import UnsupportedModel
from planner.readers.decoder import Decoder
from planner.readers.feed_forward import expert_layers
from planner.readers.layer_words import FULL, layer_words
from planner.readers.structure import LayerKind
from planner.readers.values import Values
from planner.units import format_count, shorten

SLIDING = "sliding_attention"
CHUNKED = "chunked_attention"
LATENT = "latent_attention"
_ATTENTION_KINDS = frozenset({FULL, SLIDING, CHUNKED})
WITH_ATTENTION = _ATTENTION_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerPlan:
    """Everything in which one layer differs from another; equal plans become the same Layer object.

    *kind* is a key of ``mixers.MIXERS``; the dimensions are those of its attention, 0 where it has none.
    *feed_forward* is ``dense``, ``experts`` or ``none``.
    """

    kind: str
    feed_forward: str
    window_tokens: int | None = None
    num_attention_heads: int = 0
    num_key_value_heads: int = 0
    head_dim: int = 0
    v_head_dim: int = 0


def plan_layers(decoder: Decoder) -> tuple[LayerPlan, ...]:
    """One plan a layer, in order."""
    if decoder.structure.layers == "attention":
        number = decoder.values.integer("num_hidden_layers")
        window = _window(decoder) if decoder.structure.attention == "standard" else None
        latent = decoder.structure.attention == "latent"
        kinds = [LayerKind(mixer=kind) for kind in ([LATENT] * number if latent else _kinds(decoder, number, window))]
    else:
        kinds = _named_kinds(decoder)
        window = _window(decoder) if any(kind.mixer == SLIDING for kind in kinds) else None
    attention = {kind: _attention(decoder, kind, window) for kind in dict.fromkeys(kind.mixer for kind in kinds)}
    experts = expert_layers(decoder.values, len(kinds))
    return tuple(
        replace(attention[kind.mixer], feed_forward=kind.feed_forward or ("experts" if has_experts else "dense"))
        for kind, has_experts in zip(kinds, experts, strict=True)
    )


def _attention(decoder: Decoder, kind: str, window: int | None) -> LayerPlan:
    """A layer of *kind* with the dimensions of its attention, if it has any."""
    values = decoder.values
    if kind == LATENT:
        return LayerPlan(kind=kind, feed_forward="", num_attention_heads=values.integer("num_attention_heads"))
    if kind not in WITH_ATTENTION:
        return LayerPlan(kind=kind, feed_forward="")
    heads, key_value_heads = _heads(values)
    head_dim = values.optional_integer("head_dim") or _share(decoder, heads)
    return LayerPlan(
        kind=kind,
        feed_forward="",
        window_tokens=window if kind in (SLIDING, CHUNKED) else None,
        num_attention_heads=heads,
        num_key_value_heads=key_value_heads,
        head_dim=head_dim,
        v_head_dim=values.optional_integer("v_head_dim") or head_dim,
    )


def _named_kinds(decoder: Decoder) -> list[LayerKind]:
    """A hybrid's layers: its words for them, as its family understands them."""
    words = layer_words(decoder.values, decoder.structure.layers)
    for word in words:
        if word not in decoder.layer_kinds:
            raise UnsupportedModel(
                f"{decoder.values.where}: there is a layer {shorten(word)!r}, a kind that is not understood here."
            )
    return [decoder.layer_kinds[word] for word in words]


def _heads(values: Values) -> tuple[int, int]:
    heads = values.integer("num_attention_heads")
    key_value_heads = values.optional_integer("num_key_value_heads") or heads
    if heads % key_value_heads:
        raise UnsupportedModel(
            f"{values.where}: num_attention_heads {format_count(heads)} is no multiple of "
            f"num_key_value_heads {format_count(key_value_heads)}."
        )
    return heads, key_value_heads


def _share(decoder: Decoder, heads: int) -> int:
    head_dim, rest = divmod(decoder.hidden_size, heads)
    if rest:
        raise UnsupportedModel(
            f"{decoder.values.where}: key 'head_dim' is missing and hidden_size {format_count(decoder.hidden_size)} "
            f"does not divide by {format_count(heads)} heads; add head_dim."
        )
    return head_dim


def _window(decoder: Decoder) -> int | None:
    """Tokens that a windowed layer keeps; None where nothing is windowed."""
    structure = decoder.structure
    return decoder.values.optional_integer("sliding_window") if decoder.is_on(structure.windowed) else None


def _kinds(decoder: Decoder, number: int, window: int | None) -> list[str]:
    values, structure = decoder.values, decoder.structure
    windowed = CHUNKED if structure.window_kind == "chunked" else SLIDING
    if values.has("layer_types"):
        return _written_kinds(decoder, number, window)
    if window is None:
        return [FULL] * number
    match structure.windows:
        case "all":
            full = [False] * number
        case "pattern":
            full = _full_by_pattern(values, number)
        case "upper":
            below = values.integer("max_window_layers", minimum=0)
            full = [index < below for index in range(number)]
        case "alternating_lower":
            below = values.integer("max_window_layers", minimum=0)
            full = [index % 2 == 1 or index >= below for index in range(number)]
        case _:
            full = [True] * number
    return [FULL if is_full else windowed for is_full in full]


def _written_kinds(decoder: Decoder, number: int, window: int | None) -> list[str]:
    values = decoder.values
    kinds = values.strings("layer_types", number)
    for kind in kinds:
        if kind not in _ATTENTION_KINDS:
            raise UnsupportedModel(
                f"{values.where}: layer_types has {shorten(kind)!r}, a kind of layer that is not understood here."
            )
    if window is None and any(kind != FULL for kind in kinds):
        if not decoder.is_on(decoder.structure.windowed):
            return [FULL] * number
        raise UnsupportedModel(f"{values.where}: layer_types has windowed layers, but sliding_window is missing.")
    return kinds


def _full_by_pattern(values: Values, number: int) -> list[bool]:
    """Every n-th layer is full, or a string such as ``LLLG`` repeats: L a local layer, G a global one."""
    pattern = values.get("sliding_window_pattern")
    if not isinstance(pattern, str):
        every = values.integer("sliding_window_pattern")
        return [(index + 1) % every == 0 for index in range(number)]
    if not pattern or set(pattern) - set("LG"):
        raise values.wrong("sliding_window_pattern", pattern, "a whole number or a string of L and G")
    return [pattern[index % len(pattern)] == "G" for index in range(number)]
