"""Projectors whose learned queries look at a tower: perceivers, resamplers, querying transformers."""

from planner.readers.towers.parts import Parts, attention, gated, linear, norm, two_layers
from planner.readers.values import Values


def aria(tower: Values, top: Values, text_size: int) -> Parts:
    """Learned queries that attend to the patches through two projections in a row, and two layers without biases."""
    hidden = tower.integer("hidden_size")
    by_patches = top.table("projector_patch_to_query_dict") or {}
    queries = max((size for size in by_patches.values() if type(size) is int), default=0)
    if queries < 1:
        raise top.wrong("projector_patch_to_query_dict", by_patches, "numbers of queries by numbers of patches")
    yield "query", queries, hidden, 1
    yield from linear("cross_attn.qkv", 3 * hidden, hidden, bias=False)
    yield from linear("cross_attn.in_proj", 3 * hidden, hidden)
    yield from linear("cross_attn.out_proj", hidden, hidden)
    yield from linear("cross_attn.linear", hidden, hidden)
    yield from norm("layer_norm", hidden, 3)
    yield from two_layers("feed_forward", hidden, text_size, text_size, bias=False)


def idefics2(tower: Values, top: Values, text_size: int) -> Parts:
    """A gated part into the text model's width, and learned queries that attend to the patches, layer upon layer."""
    hidden, depth = tower.integer("hidden_size"), tower.integer("resampler_depth")
    head_dim = tower.integer("resampler_head_dim")
    heads, groups = tower.integer("resampler_n_heads") * head_dim, tower.integer("num_key_value_heads") * head_dim
    seen, wide = top.table("vision_config") or {}, top.table("text_config") or {}
    vision = Values(seen, top.model_type, defaults=tower.table("vision") or {})
    text = Values(wide, top.model_type, defaults=tower.table("text") or {})
    intermediate = text.integer("intermediate_size")
    for name in ("gate_proj", "up_proj"):
        yield from linear(f"modality_projection.{name}", intermediate, vision.integer("hidden_size"), bias=False)
    yield from linear("modality_projection.down_proj", text_size, intermediate, bias=False)
    yield "latents", tower.integer("resampler_n_latents"), hidden, 1
    yield from linear("resampler.q_proj", heads, hidden, depth, bias=False)
    for name in ("k_proj", "v_proj"):
        yield from linear(f"resampler.{name}", groups, hidden, depth, bias=False)
    yield from linear("resampler.o_proj", hidden, heads, depth, bias=False)
    yield from gated("resampler.mlp", hidden, 4 * hidden, depth, bias=False)
    yield "resampler.norms", 3, hidden, depth
    yield from norm("norm", hidden, bias=False)


def minicpmv_resampler(tower: Values, top: Values, text_size: int) -> Parts:
    """MiniCPM-V: learned queries that attend to the patches once, in the text model's width."""
    yield "query", top.integer("query_num"), text_size, 1
    yield from linear("kv_proj", text_size, tower.integer("hidden_size"), bias=False)
    yield from linear("attn.in_proj", 3 * text_size, text_size)
    yield from linear("attn.out_proj", text_size, text_size)
    yield from norm("ln", text_size, 3)
    yield "proj", text_size, text_size, 1


def qformer(tower: Values, top: Values, text_size: int) -> Parts:
    """BLIP-2's querying transformer, arXiv:2301.12597; then one matrix."""
    hidden = tower.integer("hidden_size")
    queries = top.optional_integer("num_query_tokens") or top.integer("window_size") // top.integer("downsample_rate")
    yield "query", queries, hidden, 1
    yield from _querying(tower, tower.integer("encoder_hidden_size"))
    yield from linear("linear", text_size, hidden)


def instructblip(tower: Values, top: Values, text_size: int) -> Parts:
    """The same reading the instruction too: words, their positions, and a feed-forward part for them in every layer."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    yield from qformer(tower, top, text_size)
    yield "embeddings", tower.integer("vocab_size") + tower.integer("max_position_embeddings"), hidden, 1
    yield from two_layers("layer.intermediate", hidden, tower.integer("intermediate_size"), hidden, count)
    yield from norm("layer.output.LayerNorm", hidden, count)


def granite4_vision(tower: Values, top: Values, text_size: int) -> Parts:
    """A querying transformer in windows of the tower's width, for each of its layers that is seen and each offset."""
    seen = Values(top.table("vision_config") or {}, top.model_type).integer("hidden_size")
    offsets = len(top.entries("spatial_target_layers")) if top.has("spatial_target_layers") else 4
    count = len(top.entries("deepstack_layer_map")) + offsets
    queries, _, window = top.text("downsample_rate").partition("/")
    if not (queries.isdecimal() and window.isdecimal()):
        raise top.wrong("downsample_rate", top.text("downsample_rate"), "a fraction, as in '4/8'")
    yield "image_newline", 1, text_size, 1
    for _ in range(count):
        yield from norm("norm", seen)
        yield "query_and_image_positions", int(queries) ** 2 + int(window) ** 2, seen, 1
        yield from _querying(tower, seen, seen)
        yield from linear("out_linear", text_size, seen)


def _querying(tower: Values, seen: int, width: int = 0) -> Parts:
    """Layers of *width* over queries, with cross attention to what is *seen* in every n-th."""
    hidden, count = width or tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    crossed = -(-count // tower.integer("cross_attention_frequency"))
    yield from norm("layernorm", hidden)
    yield from attention("layer.attention", hidden, count)
    yield from linear("layer.crossattention.query", hidden, hidden, crossed)
    for name in ("key", "value"):
        yield from linear(f"layer.crossattention.{name}", hidden, seen, crossed)
    yield from linear("layer.crossattention.output", hidden, hidden, crossed)
    yield from two_layers("layer.query", hidden, tower.integer("intermediate_size"), hidden, count)
    yield from norm("layer.LayerNorm", hidden, 2 * count + crossed)
