"""Vision towers that merge neighbouring patches themselves, up to the text model's width or near it."""

from planner.readers.towers.parts import Parts, attention, encoder, gated, linear, norm, patches, pixels, two_layers
from planner.readers.values import Values


def qwen2_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """Qwen2-VL: two frames a patch, and a merger of neighbouring patches into the text model."""
    hidden, count = tower.integer("embed_dim"), tower.integer("depth")
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from linear("patch_embed", hidden, pixels(tower, tower.integer("temporal_patch_size")), bias=False)
    yield from encoder("blocks", hidden, hidden * tower.integer("mlp_ratio"), count)
    yield from norm("merger.ln_q", hidden)
    yield from two_layers("merger.mlp", merged, merged, tower.integer("hidden_size"))


def qwen2_5_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """Qwen2.5-VL: RMSNorm and a gated feed-forward part; EXAONE 4.5 groups its keys and values."""
    hidden, count = tower.integer("hidden_size"), tower.integer("depth")
    kv = hidden // tower.integer("num_heads") * (tower.optional_integer("num_key_value_heads") or 0)
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from linear("patch_embed", hidden, pixels(tower, tower.integer("temporal_patch_size")), bias=False)
    yield from attention("blocks.attn", hidden, count, kv=kv)
    yield from gated("blocks.mlp", hidden, tower.integer("intermediate_size"), count, bias=True)
    yield from norm("blocks.norm1", hidden, count, bias=False)
    yield from norm("blocks.norm2", hidden, count, bias=False)
    yield from norm("merger.ln_q", hidden, bias=False)
    yield from two_layers("merger.mlp", merged, merged, tower.integer("out_hidden_size"))


def qwen3_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """Qwen3-VL: learned positions, and a merger more for every layer whose output reaches the text model."""
    hidden, out = tower.integer("hidden_size"), tower.integer("out_hidden_size")
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    deeper = "deepstack_visual_indexes"
    stacked = len(tower.integers(deeper)) if tower.is_set(deeper) or tower.is_null(deeper) else 0
    yield from linear("patch_embed", hidden, pixels(tower, tower.integer("temporal_patch_size")))
    yield "pos_embed.weight", tower.integer("num_position_embeddings"), hidden, 1
    yield from encoder("blocks", hidden, tower.integer("intermediate_size"), tower.integer("depth"))
    yield from norm("merger.norm", hidden)
    yield from two_layers("merger", merged, merged, out)
    if stacked:
        yield from norm("deepstack_merger_list.norm", merged, stacked)
        yield from two_layers("deepstack_merger_list", merged, merged, out, stacked)


def glm4v(tower: Values, top: Values, text_size: int) -> Parts:
    """GLM-4V: a gated encoder without biases, a downsampling convolution and a gated merger."""
    hidden, out, count = tower.integer("hidden_size"), tower.integer("out_hidden_size"), tower.integer("depth")
    bias = tower.flag("attention_bias")
    yield from linear("patch_embed", hidden, pixels(tower, tower.integer("temporal_patch_size")))
    yield "position_embedding.weight", patches(tower), hidden, 1
    yield from attention("blocks.attn", hidden, count, qkv_bias=bias, out_bias=False)
    yield from gated("blocks.mlp", hidden, out, count, bias=False)
    yield from norm("blocks.norm1", hidden, count, bias=False)
    yield from norm("blocks.norm2", hidden, count, bias=False)
    yield from norm("post_conv_layernorm", hidden, bias=False)
    yield from norm("post_layernorm", hidden, bias=False)
    yield from linear("downsample", out, hidden * tower.integer("spatial_merge_size") ** 2)
    yield from linear("merger.proj", out, out, bias=False)
    yield from norm("merger.post_projection_norm", out)
    yield from gated("merger", out, tower.integer("intermediate_size"), 1, bias=False)


def glm5_next(tower: Values, top: Values, text_size: int) -> Parts:
    """GLM-5.3: GLM-4V's encoder with biases, normed heads, no positions of its own, and a wider merger."""
    yield from _normed_glm(tower, tower.integer("projection_intermediate_size"))


def glm_ocr(tower: Values, top: Values, text_size: int) -> Parts:
    """GLM-OCR: the same, and a merger as many times wider as an image has colours."""
    yield from _normed_glm(tower, tower.integer("out_hidden_size") * (tower.optional_integer("num_channels") or 3))


def _normed_glm(tower: Values, merger_size: int) -> Parts:
    hidden, out, count = tower.integer("hidden_size"), tower.integer("out_hidden_size"), tower.integer("depth")
    bias = tower.flag("attention_bias")
    yield from linear("patch_embed", hidden, pixels(tower, tower.integer("temporal_patch_size")))
    yield from attention("blocks.attn", hidden, count, qkv_bias=bias, out_bias=bias)
    for name in ("q_norm", "k_norm"):
        yield from norm(f"blocks.attn.{name}", hidden // tower.integer("num_heads"), count, bias=False)
    yield from gated("blocks.mlp", hidden, tower.integer("intermediate_size"), count, bias=bias)
    yield from norm("blocks.norm1", hidden, count, bias=False)
    yield from norm("blocks.norm2", hidden, count, bias=False)
    yield from norm("post_layernorm", hidden, bias=False)
    yield from linear("downsample", out, hidden * tower.integer("spatial_merge_size") ** 2)
    yield from linear("merger.proj", out, out, bias=False)
    yield from norm("merger.post_projection_norm", out)
    yield from gated("merger", out, merger_size, 1, bias=False)


def step3p7(tower: Values, top: Values, text_size: int) -> Parts:
    """Step 3.7: a scale for each residual, and two convolutions that halve the grid and double the width."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    yield from linear("patch_embedding", hidden, pixels(tower), bias=False)
    yield "position_embedding", patches(tower), hidden, 1
    yield from norm("pre_layernorm", hidden)
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), count)
    yield "layers.residual_scales", 2, hidden, count
    yield from linear("downsampler1", 2 * hidden, 9 * hidden)
    yield from linear("downsampler2", 4 * hidden, 18 * hidden)


def ernie4_5_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """ERNIE 4.5 VL: Qwen2-VL's encoder and a resampler over space and time."""
    hidden, count = tower.integer("hidden_size"), tower.integer("depth")
    spatial = hidden * tower.integer("spatial_merge_size") ** 2
    yield from linear("patch_embed", hidden, pixels(tower), bias=False)
    yield from encoder("blocks", hidden, tower.integer("intermediate_size"), count)
    yield from norm("ln", hidden)
    for name, columns in (("spatial", spatial), ("temporal", spatial * tower.integer("temporal_merge_size"))):
        yield from two_layers(f"resampler.{name}_linear", columns, spatial, spatial)
        yield from norm(f"resampler.{name}_linear.ln", spatial)
    yield from linear("resampler.mlp", text_size, spatial)
    yield from norm("resampler.after_norm", text_size, bias=False)


def dots3_note(tower: Values, top: Values, text_size: int) -> Parts:
    """dots 3 Note: the later layers have experts, more of them the later."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    experts, size = _experts(tower, count), tower.integer("moe_intermediate_size")
    bias = tower.flag("mlp_bias")
    yield from linear("patch_embed", hidden, pixels(tower))
    yield from norm("patch_embed.norm", hidden, bias=False)
    yield from attention("blocks.attn", hidden, count, qkv_bias=False, out_bias=False)
    yield "blocks.attn.qk_norms", 2, hidden // tower.integer("num_attention_heads"), count
    dense = sum(number == 0 for number in experts)
    yield from gated("blocks.mlp", hidden, tower.integer("intermediate_size"), dense, bias=bias)
    yield from gated("blocks.mlp.experts", hidden, size, sum(experts), bias=False)
    yield "blocks.mlp.gate.weight", 1, hidden, sum(experts)
    yield "blocks.mlp.gate.e_score_correction_bias", 1, 1, sum(experts)
    yield "blocks.norms", 2, hidden, count
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from norm("merger.ln_q", hidden)
    yield from two_layers("merger.mlp", merged, merged, tower.integer("adapter_out_dim"))
    yield from norm("norm", hidden, bias=False)


def dots_ocr(tower: Values, top: Values, text_size: int) -> Parts:
    """dots.ocr: RMSNorm, gates, rotary positions, and a merger into the text model."""
    hidden, count, bias = tower.integer("embed_dim"), tower.integer("num_hidden_layers"), tower.flag("use_bias")
    yield from linear("patch_embed", hidden, pixels(tower))
    yield from norm("patch_embed.norm", hidden, bias=False)
    yield from attention("blocks.attn", hidden, count, qkv_bias=bias, out_bias=bias)
    yield from gated("blocks.mlp", hidden, tower.integer("intermediate_size"), count, bias=bias)
    yield "blocks.norms", 2, hidden, count
    if tower.flag("post_norm"):
        yield from norm("post_trunk_norm", hidden, bias=False)
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from norm("merger.ln_q", hidden)
    yield from two_layers("merger.mlp", merged, merged, tower.integer("hidden_size"))


def _experts(tower: Values, count: int) -> list[int]:
    """How many experts each layer has, 0 for a dense one: a list with -1 for these, or exceptions by layer."""
    if tower.is_set("pyramid_num_routed"):
        return [max(0, number) for number in tower.integers("pyramid_num_routed", count, minimum=-1)]
    sparse = [kind == "sparse" for kind in tower.strings("mlp_layer_types", count)]
    usual = tower.in_layers("num_local_experts", [tower.optional_integer("num_local_experts")] * count)
    return [number or 0 if has_experts else 0 for number, has_experts in zip(usual, sparse, strict=True)]
