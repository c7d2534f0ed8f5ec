"""Vision towers that keep their patches apart: SigLIP and its kin, AIMv2, and backbones counted once."""

from planner.errors import UnsupportedModel
from planner.readers.towers.parts import Parts, attention, encoder, gated, linear, norm, patches, pixels, two_layers
from planner.readers.values import Values


def siglip(tower: Values, top: Values, text_size: int) -> Parts:
    """SigLIP, with its attention-pooling head unless the config leaves it out; SigLIP 2 says how many positions.

    Janus gives the feed-forward width in hidden sizes.
    """
    hidden = tower.integer("hidden_size")
    intermediate = tower.optional_integer("intermediate_size") or int(hidden * tower.number("mlp_ratio"))
    yield from linear("patch_embedding", hidden, pixels(tower))
    yield "position_embedding.weight", tower.optional_integer("num_patches") or patches(tower), hidden, 1
    yield from encoder("layers", hidden, intermediate, tower.integer("num_hidden_layers"))
    if tower.get("has_post_layernorm") is not False:
        yield from norm("post_layernorm", hidden)
    if tower.get("vision_use_head") is not False:
        yield "head.probe", 1, hidden, 1
        yield from linear("head.attention.in_proj", 3 * hidden, hidden)
        yield from linear("head.attention.out_proj", hidden, hidden)
        yield from norm("head.layernorm", hidden)
        yield from two_layers("head.mlp", hidden, intermediate, hidden)


def rotary_siglip(tower: Values, top: Values, text_size: int) -> Parts:
    """SigLIP's encoder with rotary positions: VideoLLaMA 3."""
    hidden = tower.integer("hidden_size")
    yield from linear("patch_embedding", hidden, pixels(tower))
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))
    yield from norm("post_layernorm", hidden)


def minicpmv(tower: Values, top: Values, text_size: int) -> Parts:
    """MiniCPM-V 4.6: SigLIP, and a merger of two by two patches after some of its layers."""
    hidden = tower.integer("hidden_size")
    rows, columns = tower.integers("window_kernel_size", length=2, minimum=1)
    merged = rows * columns
    yield from siglip(tower, top, text_size)
    yield from attention("vit_merger.self_attn", hidden, 1)
    yield from norm("vit_merger.layer_norm1", hidden)
    yield from norm("vit_merger.pre_norm", merged * hidden)
    yield from two_layers("vit_merger", merged * hidden, merged * tower.integer("intermediate_size"), hidden)


def blip_2(tower: Values, top: Values, text_size: int) -> Parts:
    """BLIP-2's ViT: a class token, one projection for queries, keys and values."""
    hidden = tower.integer("hidden_size")
    yield "class_embedding", 1, hidden, 1
    yield from linear("patch_embedding", hidden, pixels(tower))
    yield "position_embedding", patches(tower) + 1, hidden, 1
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))
    yield from norm("post_layernorm", hidden)


def hy_v4_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """Hy4: positions for the largest image and one more, and a merger of two convolutions with a token for rows."""
    hidden, out = tower.integer("hidden_size"), tower.integer("out_hidden_size")
    yield from _hunyuan(tower)
    yield from linear("patch_merger.proj_conv", out, hidden * tower.integer("spatial_merge_size") ** 2)
    yield from linear("patch_merger.proj_out", out, out)
    yield "patch_merger.image_newline", 1, out, 1


def hunyuan_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """HunyuanOCR: the same, wider after each convolution, one matrix more, and tokens for where an image ends."""
    hidden, out = tower.integer("hidden_size"), tower.integer("out_hidden_size")
    yield from _hunyuan(tower)
    yield from linear("patch_merger.proj_conv", 2 * hidden, hidden * tower.integer("spatial_merge_size") ** 2)
    yield from linear("patch_merger.proj_out", 4 * hidden, 2 * hidden)
    yield from linear("patch_merger.mlp", out, 4 * hidden)
    yield from norm("patch_merger.after_rms", out, bias=False)
    yield "patch_merger.image_newline", 1, 4 * hidden, 1
    yield "patch_merger.image_marks", 3, out, 1


def _hunyuan(tower: Values) -> Parts:
    hidden, side = tower.integer("hidden_size"), tower.integer("max_image_size") // tower.integer("patch_size")
    yield from linear("patch_embedding", hidden, pixels(tower))
    yield "position_embedding.weight", side * side + 1, hidden, 1
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))
    yield from norm("patch_merger.before_rms", hidden, bias=False)


def inkling2(tower: Values, top: Values, text_size: int) -> Parts:
    """Inkling 2: a class token, a scale for each residual, and two layers over merged patches."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    intermediate = tower.optional_integer("intermediate_size") or int(hidden * tower.number("mlp_ratio"))
    bias = tower.flag("projector_bias")
    yield "class_embedding", 2, hidden, 1
    yield from linear("patch_embedding", hidden, pixels(tower), bias=False)
    yield "position_embedding.weight", tower.integer("posemb_grid_size") ** 2, hidden, 1
    yield from norm("pre_layernorm", hidden)
    yield from encoder("layers", hidden, intermediate, count)
    yield "layers.residual_scales", 2, hidden, count
    merged, wide = hidden * tower.integer("spatial_merge_size") ** 2, tower.integer("projection_hidden_dim")
    yield from two_layers("merger", merged, wide, tower.integer("text_hidden_size"), bias=bias)


def radio(tower: Values, top: Values, text_size: int) -> Parts:
    """C-RADIO: class and register tokens, positions of the largest image, and another patch embedding for video."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    patch, side = pixels(tower), tower.integer("max_img_size") // tower.integer("patch_size")
    yield "position_embedding", side * side, hidden, 1
    yield "cls_register_token", tower.integer("num_cls_tokens") + tower.integer("num_registers"), hidden, 1
    yield from linear("patch_projection", hidden, patch, bias=False)
    frames = tower.optional_integer("video_temporal_patch_size") or 0
    if frames:
        yield from linear("video_patch_projection", hidden, frames * patch, bias=False)
    yield from encoder("layers", hidden, int(hidden * tower.number("mlp_ratio")), count)
    if tower.get("layerscale_value") is not None:
        yield "layers.residual_scales", 2, hidden, count


def ovis2(tower: Values, top: Values, text_size: int) -> Parts:
    """Ovis 2: AIMv2, a head over visual words, and an embedding of these in the text model's width."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    bias, words = tower.flag("qkv_bias"), tower.integer("vocab_size")
    spelled = words - tower.integer("num_visual_indicator_tokens")
    yield from linear("patch_embedding", hidden, pixels(tower))
    yield "position_embedding.weight", patches(tower), hidden, 1
    yield from attention("layers.attention", hidden, count, qkv_bias=bias, out_bias=bias)
    yield from gated("layers.ffn", hidden, tower.integer("intermediate_size"), count, bias=tower.flag("mlp_bias"))
    yield "norms", 2, hidden, count + 1
    yield from linear("head_linear", spelled, hidden * tower.integer("hidden_stride") ** 2, bias=False)
    yield from norm("head_norm", spelled)
    yield "visual_embeddings_table.weight", words, top.optional_integer("hidden_size") or text_size, 1


def lfm3(tower: Values, top: Values, text_size: int) -> Parts:
    """LFM3-VL: convolutions over the grid and grouped attention by turns, gated feed-forward parts."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    attending = tower.strings("layer_types", count).count("full_attention")
    head_dim = hidden // tower.integer("num_attention_heads")
    kernel = tower.integer("conv_kernel_size")
    yield from linear("patch_embed", hidden, pixels(tower, tower.integer("temporal_patch_size")), bias=False)
    yield from norm("embedding_norm", hidden, bias=False)
    yield from linear("layers.conv.in_proj", 3 * hidden, hidden, count - attending, bias=False)
    yield "layers.conv.spatial_conv", hidden, kernel * kernel, count - attending
    yield from linear("layers.conv.out_proj", hidden, hidden, count - attending, bias=False)
    groups = tower.integer("num_key_value_heads") * head_dim
    yield from attention("layers.self_attn", hidden, attending, qkv_bias=False, out_bias=False, kv=groups)
    yield "layers.self_attn.qk_norms", 2, head_dim, attending
    yield from gated("layers.feed_forward", hidden, tower.integer("intermediate_size"), count, bias=False)
    yield "layers.norms", 2, hidden, count


def backbone(tower: Values, top: Values, text_size: int) -> Parts:
    """A backbone that its file knows by name alone: *parameters*, by name, as its own library counts them."""
    name = tower.text("architecture")
    count = (tower.table("parameters") or {}).get(name)
    if not isinstance(count, int):
        raise UnsupportedModel(f"{tower.where}: architecture is a backbone that is not known here.")
    yield name, 1, count, 1
