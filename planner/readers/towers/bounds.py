"""A tower of a kind that nobody knows: an upper bound from its own config, with what may lead into the text model."""

from collections.abc import Iterator
from math import ceil

from planner.readers.towers.parts import Parts, gated, linear, norm, two_layers
from planner.readers.values import Values

_MERGED = 2
"""Patches that are taken together each way where the file says nothing, as most towers do."""
_WIDENED = 4
"""How many times wider than what it joins the middle of a projector is where the file does not say it."""
_NORMS = 6
_FILTER = 3
"""Frames that a convolution before an audio tower sees."""


def tower_bound(kind: str, tower: Values, around: Values, text_size: int) -> Parts:
    """Every tensor that a transformer of the sizes in *tower* may have, and its projectors.

    One layer more than it says, for a head that pools. Positions are learned where the file says how many there are.
    *around* is what the tower stands in. Raises UnsupportedModel where a size is missing.
    """
    hidden, inner = tower.integer("hidden_size"), _attention_width(tower)
    layers = tower.integer("num_hidden_layers") + (tower.optional_integer("num_global_layers") or 0) + 1
    for name in ("q_proj", "k_proj", "v_proj"):
        yield from linear(f"layers.self_attn.{name}", inner, hidden, layers)
    yield from linear("layers.self_attn.o_proj", hidden, inner, layers)
    yield from norm("layers.norms", max(hidden, inner), _NORMS * layers)
    wide = _feed_forward_width(tower, hidden)
    if kind == "audio":
        yield from _conformer(tower, hidden, inner, wide, layers)
    else:
        yield from gated("layers.mlp", hidden, wide, layers, True)
        frames = tower.optional_integer("temporal_patch_size") or 1
        pixels = (tower.optional_integer("num_channels") or 3) * frames * _side(tower, "patch_size") ** 2
        yield from linear("patch_embedding", hidden, pixels)
    yield "position_embedding", _positions(tower, kind), hidden, 1
    yield from norm("norms", hidden, 2)
    words = tower.optional_integer("vocab_size") or 0
    if words:
        yield "vocabulary", words, hidden + text_size, 1
    yield from _projectors(tower, around, hidden, text_size)


def _attention_width(tower: Values) -> int:
    heads, head_dim = (tower.optional_integer(key) or 0 for key in ("num_attention_heads", "head_dim"))
    return max(tower.integer("hidden_size"), heads * head_dim, tower.optional_integer("qkv_hidden_size") or 0)


def _feed_forward_width(tower: Values, hidden: int) -> int:
    multiple = ceil(tower.number("mlp_ratio") * hidden) if tower.has("mlp_ratio") else 0
    return max(multiple, tower.optional_integer("intermediate_size") or 0) or tower.integer("intermediate_size")


def _conformer(tower: Values, hidden: int, inner: int, wide: int, layers: int) -> Parts:
    """Two feed-forward parts a layer, a convolution and relative positions, below convolutions over the spectrum."""
    yield from two_layers("layers.feed_forward", hidden, wide, hidden, 2 * layers)
    yield from linear("layers.conv.pointwise", 3 * hidden, hidden, layers)
    yield from linear("layers.conv.depthwise", hidden, tower.optional_integer("conv_kernel_size") or _FILTER, layers)
    yield from linear("layers.self_attn.relative", inner, hidden, layers)
    yield from linear("subsampling", hidden, _FILTER * ((tower.optional_integer("num_mel_bins") or 0) + hidden))


def _side(tower: Values, key: str) -> int:
    """The longer side of what is a number, or one for each direction."""
    return max(tower.integers(key, minimum=1)) if tower.is_list(key) else tower.integer(key)


def _positions(tower: Values, kind: str) -> int:
    stated = tower.optional_integer("num_position_embeddings") or 0
    grid = tower.optional_integer("position_grid") or 0
    has_image = kind == "vision" and tower.has("image_size")
    patches = (_side(tower, "image_size") // _side(tower, "patch_size")) ** 2 if has_image else 0
    return max(2 * stated, grid * (grid + 1), patches) + 1


def _projectors(tower: Values, around: Values, hidden: int, text_size: int) -> Parts:
    """One into the text model, and a narrower one for each layer whose patches go in deeper."""
    merged = hidden * _merged(tower, around) ** 2 * max(_entries(tower, around, "vision_feature_layer"), 1)
    out = max(text_size, *_sizes(tower, around, "out_hidden_size"))
    wide, middle = max(merged, out), max(_sizes(tower, around, "projector_hidden_size"))
    if middle:
        yield from linear("projector", wide, merged)
        yield from gated("projector", wide, middle, 1, True)
    else:
        yield from two_layers("projector", merged, _WIDENED * wide, out)
    yield from norm("projector.norm", merged)
    deeper = _entries(tower, around, "deepstack_visual_indexes")
    if deeper:
        yield from two_layers("deeper_projectors", merged, wide, out, deeper)
        yield from norm("deeper_projectors.norm", merged, deeper)


def _sizes(tower: Values, around: Values, key: str) -> Iterator[int]:
    return (values.optional_integer(key) or 0 for values in (tower, around))


def _entries(tower: Values, around: Values, key: str) -> int:
    return max(len(values.entries(key)) if values.is_list(key) else 0 for values in (tower, around))


def _merged(tower: Values, around: Values) -> int:
    """How many patches each way go into one token: a number, one for each direction, or its inverse."""
    found = [_MERGED]
    for values in (tower, around):
        key = "spatial_merge_size"
        if values.is_list(key):
            found.append(_side(values, key))
        elif values.has(key):
            number = values.number(key)
            found.append(ceil(number if number >= 1 else 1 / number))
    return max(found)
