"""Projectors from a tower into the text model, by the name of their layout."""

from planner.readers.towers.merging_projectors import (
    aya_vision,
    cohere2_vision,
    cosmos3,
    deepseek_vl2,
    granite_docling,
    idefics3,
    internvl,
    kimi,
    kimi_k3,
    lfm2_vl,
    lfm3_vl,
    locateanything,
    merged_two_layers,
    minicpmv,
    minimax_m3,
    mistral3,
    molmo,
    molmo2,
    muse_glimmer,
    nemotron_omni,
    normed_merger,
    perception_lm,
    phi3_v,
    step3,
    step3p7,
)
from planner.readers.towers.parts import Parts, linear, norm, pixels, two_layers
from planner.readers.towers.query_projectors import (
    aria,
    granite4_vision,
    idefics2,
    instructblip,
    minicpmv_resampler,
    qformer,
)
from planner.readers.towers.sam import deepseek_ocr2_projector, deepseek_vl_hybrid_aligner, unlimited_ocr_projector
from planner.readers.towers.speech_encoders import fun_asr_nano_projector, vibevoice_projector
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


def llama4(tower: Values, top: Values, text_size: int) -> Parts:
    yield from linear("linear_1", text_size, tower.integer("vision_output_dim"), bias=False)


def mllama(tower: Values, top: Values, text_size: int) -> Parts:
    yield from linear("multi_modal_projector", text_size, tower.integer("vision_output_dim"))


def one_layer(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix with a bias: Qwen2-Audio."""
    yield from linear("linear", text_size, tower.integer("hidden_size"))


def paligemma(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix into a width of its own, that of the text model in what is published."""
    yield from linear("linear", top.integer("projection_dim"), tower.integer("hidden_size"))


def fuyu(tower: Values, top: Values, text_size: int) -> Parts:
    """No tower: patches of the image straight into the text model's width."""
    yield from linear("vision_embed_tokens", text_size, pixels(top))


def voxtral(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers over four frames."""
    yield from two_layers("linear", tower.integer("intermediate_size"), text_size, text_size, bias=False)


def gemma4_unified(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix, from patches or from audio frames."""
    yield from linear("embedding_projection", text_size, tower.integer("output_proj_dims"), bias=False)


def gemma3n(tower: Values, top: Values, text_size: int) -> Parts:
    """Tokens of its own, a norm for these and one for what the tower sees, then one matrix."""
    hidden = tower.integer("hidden_size")
    yield "embedding", tower.integer("vocab_size"), hidden, 1
    yield "norms", 2, hidden, 1
    yield from linear("embedding_projection", text_size, hidden, bias=False)


def vipllava(tower: Values, top: Values, text_size: int) -> Parts:
    """A norm and two layers over several of the tower's layers side by side."""
    seen = len(top.entries("vision_feature_layers" if top.has("vision_feature_layers") else "vision_feature_layer"))
    wide = seen * tower.integer("hidden_size")
    yield from norm("projector_layernorm", wide)
    yield from two_layers("linear", wide, text_size, text_size)


def phi4_multimodal(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers, and learned separators of rows and views."""
    hidden = tower.integer("hidden_size")
    yield "separators", 2, hidden, 1
    yield from two_layers("img_projection", hidden, text_size, text_size)


def got_ocr2(tower: Values, top: Values, text_size: int) -> Parts:
    """Two convolutions up to the text model's width, and one matrix."""
    channels = tower.integer("output_channels")
    yield from linear("conv_upsampler1", 2 * channels, 9 * channels, bias=False)
    yield from linear("conv_upsampler2", text_size, 18 * channels, bias=False)
    yield from linear("multimodal_projector", text_size, text_size)


def janus(tower: Values, top: Values, text_size: int) -> Parts:
    """As many layers as *depth*, all of the width that the first leads into."""
    width = tower.integer("projection_dim")
    yield from linear("aligner.fc1", width, tower.integer("hidden_size"))
    yield from linear("aligner.hidden_layers", width, width, tower.integer("depth") - 1)


def two_plain_layers(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers of the text model's width, whatever the file says of biases."""
    yield from two_layers("linear", tower.integer("hidden_size"), text_size, text_size)


def glmasr(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers over four frames, twice the text model's width between."""
    yield from two_layers("linear", tower.integer("intermediate_size"), 2 * text_size, text_size)


def moss(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers over four frames of the tower, and a norm."""
    yield from two_layers("linear", 4 * tower.integer("hidden_size"), text_size, text_size)
    yield from norm("norm", text_size)


def minicpmo(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers from a quarter of the tower's feed-forward width, that is its own."""
    yield from two_layers("audio_projection_layer", tower.integer("intermediate_size") // 4, text_size, text_size)


def from_output(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix from where the tower's own merger led."""
    yield from linear("projector", text_size, tower.integer("out_hidden_size"))


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
    "fuyu": fuyu,
    "paligemma": paligemma,
    "voxtral": voxtral,
    "muse_glimmer": muse_glimmer,
    "minimax_m3": minimax_m3,
    "gemma4_unified": gemma4_unified,
    "step3": step3,
    "step3p7": step3p7,
    "deepseek_vl2": deepseek_vl2,
    "gemma3n": gemma3n,
    "lfm2_vl": lfm2_vl,
    "lfm3_vl": lfm3_vl,
    "merged_two_layers": merged_two_layers,
    "minicpmv": minicpmv,
    "aria": aria,
    "cohere2_vision": cohere2_vision,
    "aya_vision": aya_vision,
    "vipllava": vipllava,
    "phi4_multimodal": phi4_multimodal,
    "got_ocr2": got_ocr2,
    "janus": janus,
    "two_plain_layers": two_plain_layers,
    "glmasr": glmasr,
    "idefics2": idefics2,
    "minicpmv_resampler": minicpmv_resampler,
    "moss": moss,
    "from_output": from_output,
    "locateanything": locateanything,
    "minicpmo": minicpmo,
    "normed_merger": normed_merger,
    "nemotron_omni": nemotron_omni,
    "cosmos3": cosmos3,
    "molmo": molmo,
    "molmo2": molmo2,
    "qformer": qformer,
    "instructblip": instructblip,
    "granite4_vision": granite4_vision,
    "deepseek_vl_hybrid": deepseek_vl_hybrid_aligner,
    "deepseek_ocr2": deepseek_ocr2_projector,
    "unlimited_ocr": unlimited_ocr_projector,
    "fun_asr_nano": fun_asr_nano_projector,
    "vibevoice": vibevoice_projector,
    "granite_docling": granite_docling,
    "perception_lm": perception_lm,
}
