"""Everything in which the layers of one text model differ, as one small plan a layer."""

from collections.abc import Sequence
from dataclasses import replace

from planner.errors import UnsupportedModel
from planner.readers.attention_kinds import CHUNKED, CROSS, LATENT, SLIDING, SPARSE, attention_kinds, window_tokens
from planner.readers.decoder import Decoder
from planner.readers.expert_layers import feed_forward_kinds
from planner.readers.layer_plan import LayerPlan
from planner.readers.layer_words import FULL, layer_words
from planner.readers.loops import looped
from planner.readers.structure import LayerKind
from planner.units import format_count, shorten

WINDOWED_KEY = "windowed_key_attention"
LIGHTNING = "lightning_attention"
ATTENTION_AND_MAMBA2 = "attention_and_mamba2"
FILTERED = "filtered_attention"
TWICE_LATENT = "twice_latent_attention"
WINDOWED_LATENT = "windowed_latent_attention"
UNROTATED_LATENT = "unrotated_latent_attention"
CONVOLVED = "convolved_attention"
WINDOWED_CONVOLVED = "windowed_convolved_attention"
KEY_VALUE_CONVOLVED = "key_value_convolved_attention"
WINDOWED_KEY_VALUE_CONVOLVED = "windowed_key_value_convolved_attention"
COMPRESSED_CONVOLUTIONAL = "compressed_convolutional_attention"
WINDOWED_COMPRESSED_CONVOLUTIONAL = "windowed_compressed_convolutional_attention"
EXPERT_ATTENTION = "expert_attention"
REFERENCE = "reference_attention"
LOW_RANK_MAMBA2 = "low_rank_mamba2"
SHARED_AND_MAMBA = "shared_attention_and_mamba"
SHARED_AND_MAMBA2 = "shared_attention_and_mamba2"
_LATENT_KINDS = frozenset({LATENT, TWICE_LATENT, WINDOWED_LATENT, UNROTATED_LATENT})
_WINDOWED_KINDS = frozenset(
    {
        *(SLIDING, CHUNKED, WINDOWED_LATENT, WINDOWED_CONVOLVED),
        *(WINDOWED_KEY_VALUE_CONVOLVED, WINDOWED_COMPRESSED_CONVOLUTIONAL),
    }
)
_SHARED_BLOCKS = frozenset({SHARED_AND_MAMBA, SHARED_AND_MAMBA2})
_CONVOLVED_KINDS = frozenset(
    {
        *(CONVOLVED, WINDOWED_CONVOLVED, KEY_VALUE_CONVOLVED, WINDOWED_KEY_VALUE_CONVOLVED),
        *(COMPRESSED_CONVOLUTIONAL, WINDOWED_COMPRESSED_CONVOLUTIONAL),
    }
)
_PLAIN_KINDS = frozenset(
    {FULL, SLIDING, CHUNKED, CROSS, SPARSE, FILTERED, LIGHTNING, ATTENTION_AND_MAMBA2, EXPERT_ATTENTION, REFERENCE}
)
WITH_ATTENTION = _SHARED_BLOCKS | _PLAIN_KINDS | _CONVOLVED_KINDS


def plan_layers(decoder: Decoder) -> tuple[LayerPlan, ...]:
    """One plan a layer, in the order in which a token meets them."""
    named = _named_kinds(decoder)
    kinds = [kind.mixer for kind in named]
    shared = _shared(decoder, len(kinds))
    attention = _attention_plans(decoder, kinds, shared)
    widths = _feed_forward_widths(decoder, kinds, shared)
    feed_forward = feed_forward_kinds(decoder, len(kinds))
    repeats = _repeats(decoder, kinds)
    plans = tuple(
        replace(
            plan,
            feed_forward=kind.feed_forward or usual,
            intermediate_size=width,
            repeats_weights=is_repeated,
        )
        for plan, kind, usual, width, is_repeated in zip(attention, named, feed_forward, widths, repeats, strict=True)
    )
    return looped(decoder, plans)


def _named_kinds(decoder: Decoder) -> list[LayerKind]:
    """What each layer is: kinds of attention, or a hybrid's words as its family understands them."""
    if decoder.structure.layers == "attention":
        number = decoder.values.integer("num_hidden_layers")
        return [LayerKind(mixer=kind) for kind in attention_kinds(decoder, number)]
    words, known = layer_words(decoder.values, decoder.structure.layers), decoder.family.layer_kinds
    for word in words:
        if word not in known:
            raise UnsupportedModel(
                f"{decoder.values.where}: there is a layer {shorten(word)!r}, a kind that is not understood here."
            )
    return [known[word] for word in words]


def _repeats(decoder: Decoder, kinds: Sequence[str]) -> list[bool]:
    """Which layers go through a block of weights that an earlier layer has brought: Zamba."""
    blocks = decoder.values.optional_integer("num_mem_blocks") or 1
    users = [index for index, kind in enumerate(kinds) if kind in _SHARED_BLOCKS]
    repeated = frozenset(users[blocks:])
    return [index in repeated for index in range(len(kinds))]


def _attention_plans(decoder: Decoder, kinds: Sequence[str], shared: Sequence[bool]) -> list[LayerPlan]:
    """Each layer's kind with the dimensions of its attention, if it has any."""
    if not any(kind in _LATENT_KINDS or kind in WITH_ATTENTION for kind in kinds):
        return [LayerPlan(kind=kind) for kind in kinds]
    window = window_tokens(decoder) if any(kind in _WINDOWED_KINDS for kind in kinds) else None
    # Latent layers have widths of their own; GLM-5.3's file says 0, its rotary width.
    least_width = 1 if any(kind in WITH_ATTENTION for kind in kinds) else 0
    layers = zip(
        kinds,
        _dimension(decoder, "num_attention_heads", kinds),
        _dimension(decoder, "num_key_value_heads", kinds),
        _dimension(decoder, "head_dim", kinds, least_width),
        _dimension(decoder, "v_head_dim", kinds, minimum=0),
        shared,
        _indexers(decoder, kinds),
        strict=True,
    )
    plans: list[LayerPlan] = []
    for kind, heads, key_value_heads, head_dim, v_head_dim, shares_cache, has_indexer in layers:
        bounded = window if kind in _WINDOWED_KINDS else None
        if kind in _LATENT_KINDS:
            heads = heads or decoder.values.integer("num_attention_heads")
            has_indexer = has_indexer and kind != WINDOWED_LATENT
            plan = LayerPlan(kind=kind, num_attention_heads=heads, has_indexer=has_indexer, window_tokens=bounded)
            plans.append(plan)
        elif kind in WITH_ATTENTION:
            heads = heads or decoder.values.integer("num_attention_heads")
            plan = _standard_plan(decoder, kind, heads, key_value_heads, head_dim, v_head_dim)
            plans.append(replace(plan, window_tokens=bounded, shares_cache=shares_cache))
        else:
            plans.append(LayerPlan(kind=kind))
    return _with_latent_sizes(decoder, plans, kinds)


def _with_latent_sizes(decoder: Decoder, plans: list[LayerPlan], kinds: Sequence[str]) -> list[LayerPlan]:
    """*plans* with the rank and width that latent attention has in each layer."""
    if not any(kind in _LATENT_KINDS for kind in kinds):
        return plans
    ranks, widths = (_dimension(decoder, key, kinds, minimum=0) for key in ("kv_lora_rank", "qk_nope_head_dim"))
    return [
        replace(plan, kv_lora_rank=rank or 0, qk_nope_head_dim=width or 0) if plan.kind in _LATENT_KINDS else plan
        for plan, rank, width in zip(plans, ranks, widths, strict=True)
    ]


def _standard_plan(
    decoder: Decoder,
    kind: str,
    heads: int,
    key_value_heads: int | None,
    head_dim: int | None,
    v_head_dim: int | None,
) -> LayerPlan:
    """Keys and values for every head where the file groups none; heads share the hidden size where none is given."""
    values, key_value_heads = decoder.values, key_value_heads or heads
    if heads % key_value_heads:
        raise UnsupportedModel(
            f"{values.where}: {values.spelled('num_attention_heads')} {format_count(heads)} is no multiple of "
            f"{values.spelled('num_key_value_heads')} {format_count(key_value_heads)}."
        )
    head_dim = head_dim or _share(decoder, heads)
    return LayerPlan(
        kind=kind,
        num_attention_heads=heads,
        num_key_value_heads=key_value_heads,
        head_dim=head_dim,
        v_head_dim=v_head_dim or head_dim,
    )


def _dimension(decoder: Decoder, key: str, kinds: Sequence[str], minimum: int = 1) -> list[int | None]:
    """*key* for every layer: one number, a list, or a key of its own for a kind of layer."""
    values, instead = decoder.values, decoder.family.instead
    found: dict[str, Sequence[int | None]] = {}
    chosen = []
    for index, kind in enumerate(kinds):
        own = instead.get(kind, {}).get(key) or instead.get("all", {}).get(key) or key
        name = key if values.get(own) is None else own
        if name not in found:
            is_list = values.is_list(name)
            whole = values.integers(name, len(kinds), minimum) if is_list else None
            found[name] = whole or [values.optional_integer(name, minimum)] * len(kinds)
        chosen.append(found[name][index])
    return values.in_layers(key, chosen, minimum)


def _share(decoder: Decoder, heads: int) -> int:
    values = decoder.values
    if values.is_list("num_attention_heads") and len(set(values.integers("num_attention_heads"))) > 1:
        raise UnsupportedModel(
            f"{values.where}: key {values.spelled('head_dim')!r} is missing and "
            f"{values.spelled('num_attention_heads')} differs between layers; add it."
        )
    head_dim, rest = divmod(decoder.structure.attention_inputs * decoder.hidden_size, heads)
    if rest or not head_dim:
        hidden, number = values.spelled("hidden_size"), values.spelled("num_attention_heads")
        raise UnsupportedModel(
            f"{values.where}: key {values.spelled('head_dim')!r} is missing and {hidden} "
            f"{format_count(decoder.hidden_size)} does not divide by {number} {format_count(heads)}; add it."
        )
    return head_dim


def _feed_forward_widths(decoder: Decoder, kinds: Sequence[str], shared: Sequence[bool]) -> list[int]:
    """The dense feed-forward width of every layer, 0 where the file has none."""
    values, structure = decoder.values, decoder.structure
    if values.has("ffn_multipliers"):
        return _multiplied(decoder, len(kinds))
    multiple = structure.intermediate_multiple
    usual = decoder.hidden_size * (values.integer(multiple) if isinstance(multiple, str) else multiple)
    doubled = decoder.is_on(structure.double_wide_shared)
    if values.flag("block_auto_adjust_ff_dim"):
        return [_two_thirds(decoder, size or usual) for size in _dimension(decoder, "intermediate_size", kinds)]
    return [
        (size or usual) // structure.intermediate_divisor * (2 if doubled and shares else 1)
        for size, shares in zip(_dimension(decoder, "intermediate_size", kinds), shared, strict=True)
    ]


def _multiplied(decoder: Decoder, number: int) -> list[int]:
    """OpenELM's widths: a multiple of the hidden size, rounded to ``ffn_dim_divisor``, never down by over a tenth."""
    divisor = decoder.values.integer("ffn_dim_divisor")
    widths = []
    for multiplier in decoder.values.numbers("ffn_multipliers", number):
        wanted = multiplier * decoder.hidden_size
        width = max(divisor, int(wanted + divisor / 2) // divisor * divisor)
        widths.append(width + divisor if width < 0.9 * wanted else width)
    return widths


def _two_thirds(decoder: Decoder, width: int) -> int:
    """LFM2's width: the file counts that of a part without a gate, of which two thirds weigh the same with one."""
    values = decoder.values
    width = 2 * width // 3
    if values.get("block_ffn_dim_multiplier") is None:
        return width
    multiple = values.integer("block_multiple_of")
    return -(-int(values.number("block_ffn_dim_multiplier") * width) // multiple) * multiple


def _shared(decoder: Decoder, number: int) -> list[bool]:
    """Which layers read another layer's cache: the last ones (Gemma), or all but every n-th (cross-layer attention)."""
    values = decoder.values
    if values.flag("use_cla"):
        every = values.integer("cla_share_factor")
        return [index % every != 0 for index in range(number)]
    last = values.optional_integer("num_kv_shared_layers", minimum=0) or 0
    return [index >= number - last > 0 for index in range(number)]


def _indexers(decoder: Decoder, kinds: Sequence[str]) -> list[bool]:
    """Which latent layers have a sparse-attention indexer of their own; others use the last one's choice."""
    values, number = decoder.values, len(kinds)
    if _LATENT_KINDS.isdisjoint(kinds) or not values.optional_integer("index_head_dim", minimum=0):
        return [False] * number
    if values.has("indexer_types"):
        return [kind == "full" for kind in values.choices("indexer_types", number, "full", "shared")]
    every = values.optional_integer("index_topk_freq") or 1
    offset = values.optional_integer("index_skip_topk_offset", minimum=0)
    first = 2 if offset is None else offset
    return [max(index - first + 1, 0) % every == 0 for index in range(number)]
