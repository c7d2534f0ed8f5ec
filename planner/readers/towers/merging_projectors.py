"""Projectors that bring neighbouring patches together on the way into the text model."""

from planner.readers.towers.parts import Parts, linear, norm, two_layers
from planner.readers.values import Values


def mistral3(tower: Values, top: Values, text_size: int) -> Parts:
    """A merger of neighbouring patches, then two layers."""
    hidden, bias = tower.integer("hidden_size"), top.flag("multimodal_projector_bias")
    merge = top.optional_integer("spatial_merge_size") or 2
    yield from norm("norm", hidden, bias=False)
    yield from linear("patch_merger.merging_layer", hidden, hidden * merge * merge, bias=False)
    yield from two_layers("linear", hidden, text_size, text_size, bias=bias)


def kimi(tower: Values, top: Values, text_size: int) -> Parts:
    """A merger of two by two patches."""
    hidden = tower.integer("hidden_size")
    yield from norm("pre_norm", hidden)
    yield from two_layers("proj", 4 * hidden, 4 * hidden, text_size)


def kimi_k3(tower: Values, top: Values, text_size: int) -> Parts:
    """The same without biases, with a norm before and one after."""
    hidden = tower.integer("hidden_size")
    yield from norm("pre_norm", hidden, bias=False)
    yield from two_layers("proj", 4 * hidden, 4 * hidden, text_size, bias=False)
    yield from norm("post_norm", text_size, bias=False)


def internvl(tower: Values, top: Values, text_size: int) -> Parts:
    """A pixel shuffle of two by two patches, then two layers."""
    shuffled = 4 * tower.integer("hidden_size")
    yield from norm("layer_norm", shuffled)
    yield from two_layers("linear", shuffled, text_size, text_size)


def locateanything(tower: Values, top: Values, text_size: int) -> Parts:
    """The same, if the file says no other number of layers."""
    key = "mlp_connector_layers"
    if top.optional_integer(key) not in (None, 2):
        raise top.wrong(key, top.get(key), "2")
    yield from internvl(tower, top, text_size)


def idefics3(tower: Values, top: Values, text_size: int) -> Parts:
    """A pixel shuffle by ``scale_factor``, then one matrix."""
    scale = top.optional_integer("scale_factor") or 2
    yield from linear("modality_projection", text_size, tower.integer("hidden_size") * scale * scale, bias=False)


def phi3_v(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers over four patches, and learned separators."""
    shuffled = 4 * tower.integer("hidden_size")
    yield "separators", 2, shuffled, 1
    yield from two_layers("img_projection", shuffled, text_size, text_size)


def muse_glimmer(tower: Values, top: Values, text_size: int) -> Parts:
    """An adapter over merged patches, then one matrix."""
    wide = top.integer("projector_hidden_size")
    yield from two_layers("vision_adapter", top.integer("out_hidden_size"), wide, wide, bias=False)
    yield from linear("vision_projection", text_size, wide, bias=False)


def minimax_m3(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers before neighbouring patches are merged, and two after."""
    wide = top.optional_integer("projector_hidden_size") or text_size
    merged = text_size * tower.integer("spatial_merge_size") ** 2
    yield from two_layers("linear", tower.integer("hidden_size"), wide, text_size)
    yield from two_layers("merge_linear", merged, wide, text_size)


def deepseek_vl2(tower: Values, top: Values, text_size: int) -> Parts:
    """A pixel shuffle of two by two patches, two layers, and learned separators of rows and views."""
    width = tower.integer("n_embed")
    yield from two_layers("layers", 4 * tower.integer("input_dim"), width, width)
    yield "separators", 2, width, 1


def step3(tower: Values, top: Values, text_size: int) -> Parts:
    """Two convolutions that halve the grid, the second doubling the width, and one layer."""
    width = tower.integer("output_hidden_size")
    yield from linear("vit_downsampler", width, 4 * tower.integer("hidden_size"))
    yield from linear("vit_downsampler2", 2 * width, 9 * width)
    yield from linear("vit_large_projector", text_size, 2 * width, bias=top.get("projector_bias") is not False)


def step3p7(tower: Values, top: Values, text_size: int) -> Parts:
    yield from linear("projector", text_size, 4 * tower.integer("hidden_size"), bias=top.flag("projector_bias"))


def lfm2_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """A pixel shuffle, a norm unless the file leaves it out, and two layers."""
    shuffled = tower.integer("hidden_size") * (top.optional_integer("downsample_factor") or 2) ** 2
    wide, bias = top.integer("projector_hidden_size"), top.get("projector_bias") is not False
    if top.get("projector_use_layernorm") is not False:
        yield from norm("layer_norm", shuffled)
    yield from two_layers("linear", shuffled, wide, text_size, bias=bias)


def lfm3_vl(tower: Values, top: Values, text_size: int) -> Parts:
    """A norm, and two layers over merged patches."""
    hidden = tower.integer("hidden_size")
    wide, bias = top.integer("projector_hidden_size"), top.get("projector_bias") is not False
    yield from norm("layer_norm", hidden)
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from two_layers("linear", merged, wide, text_size, bias=bias)


def merged_two_layers(tower: Values, top: Values, text_size: int) -> Parts:
    """A norm over each patch, and two layers over two by two: PaddleOCR-VL."""
    hidden = tower.integer("hidden_size")
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from norm("pre_norm", hidden)
    yield from two_layers("linear", merged, merged, text_size)


def normed_merger(tower: Values, top: Values, text_size: int) -> Parts:
    """The same with a norm without a bias, into a width of its own: Youtu-VL."""
    hidden = tower.integer("hidden_size")
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from norm("ln_q", hidden, bias=False)
    yield from two_layers("mlp", merged, merged, tower.integer("out_hidden_size"))


def minicpmv(tower: Values, top: Values, text_size: int) -> Parts:
    """MiniCPM-V 4.6: as many mergers of two by two patches as *merger_times*, the last into the text model."""
    merged = 4 * tower.integer("hidden_size")
    times = top.optional_integer("merger_times") or 1
    yield from norm("merger.pre_norm", merged, times)
    if times > 1:
        yield from two_layers("merger.linear", merged, merged, tower.integer("hidden_size"), times - 1)
    yield from two_layers("merger.out_linear", merged, merged, text_size)


def cohere2_vision(tower: Values, top: Values, text_size: int) -> Parts:
    """A pixel shuffle, and a gated layer whose halves become one."""
    wide = top.optional_integer("alignment_intermediate_size") or text_size
    shuffled = tower.integer("hidden_size") * (top.optional_integer("downsample_factor") or 2) ** 2
    yield from linear("linear_1", wide, shuffled)
    yield from linear("linear_2", text_size, wide // 2)


def aya_vision(tower: Values, top: Values, text_size: int) -> Parts:
    """The same with a norm before."""
    yield from norm("layernorm", tower.integer("hidden_size") * (top.optional_integer("downsample_factor") or 2) ** 2)
    yield from cohere2_vision(tower, top, text_size)


def nemotron_omni(tower: Values, top: Values, text_size: int) -> Parts:
    """A pixel shuffle of two by two patches, a norm, and two layers without biases."""
    shuffled = 4 * tower.integer("hidden_size")
    yield from norm("layer_norm", shuffled, bias=False)
    yield from two_layers("linear", shuffled, top.integer("projector_hidden_size"), text_size, bias=False)


def cosmos3(tower: Values, top: Values, text_size: int) -> Parts:
    """A norm over each patch, and two layers over merged ones."""
    hidden = tower.integer("hidden_size")
    merged = hidden * tower.integer("spatial_merge_size") ** 2
    yield from norm("norm", hidden)
    yield from two_layers("linear", merged, top.integer("projector_hidden_size"), text_size)


def molmo(tower: Values, top: Values, text_size: int) -> Parts:
    """Attention over the patches of two of the tower's layers, a gated part of the text model's width, and padding."""
    hidden, wide = tower.integer("hidden_size"), top.integer("intermediate_size") // 2
    for name in ("wq", "wk", "wv"):
        yield from linear(f"image_pooling_2d.{name}", hidden, 2 * hidden)
    yield from linear("image_pooling_2d.wo", hidden, hidden)
    for name in ("w1", "w3"):
        yield from linear(f"image_projector.{name}", wide, hidden, bias=False)
    yield from linear("image_projector.w2", text_size, wide, bias=False)
    yield "pad_embed", 2, 2 * hidden, 1


def molmo2(tower: Values, top: Values, text_size: int) -> Parts:
    """Attention over the patches of some of the tower's layers side by side, and a gated part into the text model."""
    adapter = tower
    hidden, seen = adapter.integer("hidden_size"), len(adapter.entries("vision_feature_layer"))
    heads = adapter.integer("num_attention_heads") * adapter.integer("head_dim")
    groups = adapter.integer("num_key_value_heads") * adapter.integer("head_dim")
    bias = adapter.flag("attention_bias")
    yield from linear("image_pooling_2d.q_proj", heads, seen * hidden, bias=bias)
    for name in ("k_proj", "v_proj"):
        yield from linear(f"image_pooling_2d.{name}", groups, seen * hidden, bias=bias)
    yield from linear("image_pooling_2d.o_proj", hidden, heads)
    wide, out = adapter.integer("intermediate_size"), adapter.integer("text_hidden_size")
    for name in ("gate_proj", "up_proj"):
        yield from linear(f"image_projector.{name}", wide, hidden, bias=adapter.flag("mlp_bias"))
    yield from linear("image_projector.down_proj", out, wide, bias=adapter.flag("mlp_bias"))


def granite_docling(tower: Values, top: Values, text_size: int) -> Parts:
    """Pixels shuffled by ``scale_factor``, and unless the file leaves it out by half of it for fine print too.

    Each way has a projection and mergers of the tower's earlier layers; a router, if any, chooses between them.
    """
    hidden, out, scale = tower.integer("hidden_size"), tower.integer("out_hidden_size"), tower.integer("scale_factor")
    earlier = len(tower.integers("deepstack_visual_indexes"))
    yield from norm("ln_in", hidden)
    for shuffle in (scale, scale // 2) if tower.get("use_fine_route") is not False else (scale,):
        merged = hidden * shuffle * shuffle
        yield from linear("projection", out, merged, bias=False)
        yield from norm("deepstack_mergers.layer_norm", merged, earlier)
        yield from two_layers("deepstack_mergers.linear", merged, out, out, earlier)
    yield from norm("ln_mid", out)
    yield from linear("mlp_fc2", out, out, bias=False)
    yield from norm("ln_out", out)
    if routed := top.optional_integer("density_router_hidden_size"):
        yield from linear("density_router.att", 1, hidden)
        yield from norm("density_router.norm", hidden)
        yield from two_layers("density_router", hidden, routed, 1)


def perception_lm(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers from the backbone's width, which its file gives among the arguments for its library."""
    hidden = Values(tower.table("model_args") or {}, tower.model_type).integer("embed_dim")
    yield from two_layers("linear", hidden, text_size, text_size)
