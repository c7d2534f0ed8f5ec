"""Projectors from a tower into the text model, by the name of their layout."""

from planner.readers.tower_parts import Parts, linear, norm, two_layers
from planner.readers.values import Values


def gemma3(tower: Values, top: Values, text_size: int) -> Parts:
    hidden = tower.integer("hidden_size")
    yield "mm_input_projection_weight", text_size, hidden, 1
    yield from norm("mm_soft_emb_norm", hidden, bias=False)


def gemma4(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix, from the audio tower's output or the vision tower's width."""
    width = tower.optional_integer("output_proj_dims") or tower.integer("hidden_size")
    yield from linear("embedding_projection", text_size, width, bias=False)


def llava(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers of the text model's width."""
    bias = top.get("multimodal_projector_bias") is not False
    yield from two_layers("multi_modal_projector", tower.integer("hidden_size"), text_size, text_size, bias=bias)


def llava_next(tower: Values, top: Values, text_size: int) -> Parts:
    """LLaVA's, and a learned token between rows of tiles."""
    yield "image_newline", 1, text_size, 1
    yield from llava(tower, top, text_size)


def mistral3(tower: Values, top: Values, text_size: int) -> Parts:
    """A merger of neighbouring patches, then two layers."""
    hidden, bias = tower.integer("hidden_size"), top.flag("multimodal_projector_bias")
    merge = top.optional_integer("spatial_merge_size") or 2
    yield from norm("norm", hidden, bias=False)
    yield from linear("patch_merger.merging_layer", hidden, hidden * merge * merge, bias=False)
    yield from two_layers("linear", hidden, text_size, text_size, bias=bias)


def llama4(tower: Values, top: Values, text_size: int) -> Parts:
    yield from linear("linear_1", text_size, tower.integer("vision_output_dim"), bias=False)


def mllama(tower: Values, top: Values, text_size: int) -> Parts:
    yield from linear("multi_modal_projector", text_size, tower.integer("vision_output_dim"))


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


def one_layer(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix with a bias: PaliGemma, Qwen2-Audio."""
    yield from linear("linear", text_size, tower.integer("hidden_size"))


def idefics3(tower: Values, top: Values, text_size: int) -> Parts:
    """A pixel shuffle by ``scale_factor``, then one matrix."""
    scale = top.optional_integer("scale_factor") or 2
    yield from linear("modality_projection", text_size, tower.integer("hidden_size") * scale * scale, bias=False)


def phi3_v(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers over four patches, and learned separators."""
    shuffled = 4 * tower.integer("hidden_size")
    yield "separators", 2, shuffled, 1
    yield from two_layers("img_projection", shuffled, text_size, text_size)


def voxtral(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers over four frames."""
    yield from two_layers("linear", tower.integer("intermediate_size"), text_size, text_size, bias=False)


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


def gemma4_unified(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix, from patches or from audio frames."""
    yield from linear("embedding_projection", text_size, tower.integer("output_proj_dims"), bias=False)


def step3p7(tower: Values, top: Values, text_size: int) -> Parts:
    yield from linear("projector", text_size, 4 * tower.integer("hidden_size"), bias=top.flag("projector_bias"))


PROJECTORS = {
    "gemma3": gemma3,
    "gemma4": gemma4,
    "llava": llava,
    "llava_next": llava_next,
    "mistral3": mistral3,
    "llama4": llama4,
    "mllama": mllama,
    "kimi": kimi,
    "kimi_k3": kimi_k3,
    "internvl": internvl,
    "one_layer": one_layer,
    "idefics3": idefics3,
    "phi3_v": phi3_v,
    "voxtral": voxtral,
    "muse_glimmer": muse_glimmer,
    "minimax_m3": minimax_m3,
    "gemma4_unified": gemma4_unified,
    "step3p7": step3p7,
    "deepseek_vl2": deepseek_vl2,
}
