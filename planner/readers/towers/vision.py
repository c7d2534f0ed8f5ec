"""Vision towers by the name of their layout, from their own config (*tower*) and the whole file's (*top*)."""

from planner.readers.towers.image_tokens import janus
from planner.readers.towers.merging import (
    dots3_note,
    dots_ocr,
    ernie4_5_vl,
    glm4v,
    glm5_next,
    glm_ocr,
    qwen2_5_vl,
    qwen2_vl,
    qwen3_vl,
    step3p7,
)
from planner.readers.towers.parts import (
    Parts,
    attention,
    encoder,
    gated,
    linear,
    norm,
    patches,
    pixels,
    two_layers,
)
from planner.readers.towers.patches import (
    backbone,
    blip_2,
    hunyuan_vl,
    hy_v4_vl,
    inkling2,
    lfm3,
    minicpmv,
    ovis2,
    radio,
    rotary_siglip,
    siglip,
)
from planner.readers.towers.sam import clip_after_sam, deepseek_vl_hybrid, downsampled, queries_after_sam, sam
from planner.readers.towers.vector_quantizers import apertus, chameleon, emu3
from planner.readers.values import Values


def clip(tower: Values, top: Values, text_size: int) -> Parts:
    """CLIP's vision model: a class token, LayerNorm before and after."""
    hidden = tower.integer("hidden_size")
    yield "class_embedding", 1, hidden, 1
    yield from linear("patch_embedding", hidden, pixels(tower), bias=False)
    yield "position_embedding.weight", patches(tower) + 1, hidden, 1
    yield from norm("pre_layernorm", hidden)
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))
    if tower.get("has_post_layernorm") is not False:
        yield from norm("post_layernorm", hidden)


def pixtral(tower: Values, top: Values, text_size: int) -> Parts:
    """Pixtral: a Llama-like encoder without biases."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    yield from linear("patch_conv", hidden, pixels(tower), bias=False)
    yield from norm("ln_pre", hidden, bias=False)
    yield from attention("layers.attention", hidden, count, qkv_bias=False, out_bias=False)
    yield from gated("layers.feed_forward", hidden, tower.integer("intermediate_size"), count, bias=False)
    yield from norm("layers.attention_norm", hidden, count, bias=False)
    yield from norm("layers.ffn_norm", hidden, count, bias=False)


def llama4(tower: Values, top: Values, text_size: int) -> Parts:
    """Llama 4: CLIP's shape with a pixel-shuffle adapter."""
    hidden, wide = tower.integer("hidden_size"), tower.integer("projector_input_dim")
    intermediate = tower.integer("intermediate_size")
    yield "class_embedding", 1, hidden, 1
    yield from linear("patch_embedding", hidden, pixels(tower), bias=False)
    yield "positional_embedding_vlm", patches(tower) + 1, hidden, 1
    yield from norm("layernorm_pre", hidden)
    yield from encoder("layers", hidden, intermediate, tower.integer("num_hidden_layers"))
    yield from norm("layernorm_post", hidden)
    yield from two_layers("vision_adapter", intermediate, wide, tower.integer("projector_output_dim"), bias=False)


def mllama(tower: Values, top: Values, text_size: int) -> Parts:
    """Llama 3.2 Vision: tiles with gated position embeddings, local and then global layers."""
    hidden, intermediate = tower.integer("hidden_size"), tower.integer("intermediate_size")
    tiles, positions = tower.integer("max_num_tiles"), patches(tower) + 1
    ratios = len(tower.entries("supported_aspect_ratios")) + 1
    yield "class_embedding", 1, hidden, 1
    yield from linear("patch_embedding", hidden, pixels(tower), bias=False)
    yield "gated_positional_embedding", positions, hidden, 1
    yield "gated_positional_embedding.tile_embedding", ratios, tiles * positions * hidden, 1
    yield "tile_positional_embeddings", ratios, tiles * hidden, 2
    yield "positional_gates", 1, 1, 3
    yield from norm("layernorm_pre", hidden)
    yield from norm("layernorm_post", hidden)
    for name, count in (("transformer", "num_hidden_layers"), ("global_transformer", "num_global_layers")):
        number = tower.integer(count)
        yield from attention(f"{name}.layers.self_attn", hidden, number, qkv_bias=False, out_bias=False)
        yield from two_layers(f"{name}.layers.mlp", hidden, intermediate, hidden, number)
        yield from norm(f"{name}.layers.input_layernorm", hidden, number)
        yield from norm(f"{name}.layers.post_attention_layernorm", hidden, number)
    yield "global_transformer.gates", 1, 2, tower.integer("num_global_layers")


def moonvit(tower: Values, top: Values, text_size: int) -> Parts:
    """MoonViT, Kimi's encoder: learned positions of a square grid."""
    hidden = tower.integer("hidden_size")
    yield from linear("patch_embed", hidden, pixels(tower))
    yield "pos_emb", tower.integer("init_pos_emb_height") * tower.integer("init_pos_emb_width"), hidden, 1
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))
    yield from norm("final_layernorm", hidden)


def kimi_k3(tower: Values, top: Values, text_size: int) -> Parts:
    """Kimi-K3's MoonViT: no biases, and attention wider than the encoder."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    width = tower.integer("qkv_hidden_size")
    yield from linear("patch_embed", hidden, pixels(tower), bias=False)
    yield "pos_emb", tower.integer("init_pos_emb_height") * tower.integer("init_pos_emb_width"), hidden, 1
    yield from linear("layers.wqkv", 3 * width, hidden, count, bias=False)
    yield from linear("layers.wo", hidden, width, count, bias=False)
    yield from two_layers("layers.mlp", hidden, tower.integer("intermediate_size"), hidden, count, bias=False)
    yield from norm("layers.norm0", hidden, count, bias=False)
    yield from norm("layers.norm1", hidden, count, bias=False)
    yield from norm("final_layernorm", hidden, bias=False)


def intern_vit(tower: Values, top: Values, text_size: int) -> Parts:
    """InternViT: a class token, and a scale for each residual."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    size = "norm" if tower.choice("norm_type", "rms_norm", "layer_norm") == "rms_norm" else ""
    yield "class_embedding", 1, hidden, 1
    yield from linear("patch_embedding", hidden, pixels(tower))
    yield "position_embedding", patches(tower) + 1, hidden, 1
    yield from attention("layers.attn", hidden, count, qkv_bias=tower.flag("qkv_bias"))
    yield from two_layers("layers.mlp", hidden, tower.integer("intermediate_size"), hidden, count)
    yield from norm("layers.norm1", hidden, count, bias=not size)
    yield from norm("layers.norm2", hidden, count, bias=not size)
    yield "layers.residual_scales", 2, hidden, count
    if tower.flag("qk_normalization"):
        yield "layers.attn.qk_norms", 2, hidden, count


def step3(tower: Values, top: Values, text_size: int) -> Parts:
    """Step-3: CLIP's encoder without norms around it, and its patch embedding has a bias."""
    hidden = tower.integer("hidden_size")
    yield "class_embedding", 1, hidden, 1
    yield from linear("patch_embedding", hidden, pixels(tower))
    yield "position_embedding.weight", patches(tower) + 1, hidden, 1
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))


def minimax_m3(tower: Values, top: Values, text_size: int) -> Parts:
    """MiniMax-M3: two frames a patch, rotary positions."""
    hidden = tower.integer("hidden_size")
    yield from linear("patch_embedding", hidden, pixels(tower, tower.integer("temporal_patch_size")), bias=False)
    yield from norm("pre_layernorm", hidden)
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))


def gemma4(tower: Values, top: Values, text_size: int) -> Parts:
    """Gemma 4's own encoder: its text layer's norms, positions by row and column."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    head_dim, heads = tower.integer("head_dim"), tower.integer("num_attention_heads")
    bias = tower.flag("attention_bias")
    yield "position_embedding_table", 2 * tower.integer("position_embedding_size"), hidden, 1
    yield from linear("input_proj", hidden, pixels(tower), bias=False)
    for name, rows in (("q_proj", heads), ("k_proj", tower.integer("num_key_value_heads"))):
        yield from linear(f"layers.{name}", rows * head_dim, hidden, count, bias)
    yield from linear("layers.v_proj", tower.integer("num_key_value_heads") * head_dim, hidden, count, bias)
    yield from linear("layers.o_proj", hidden, heads * head_dim, count, bias)
    yield "layers.qk_norms", 2, head_dim, count
    yield from gated("layers.mlp", hidden, tower.integer("intermediate_size"), count, bias=False)
    yield "layers.norms", 4, hidden, count


def gemma4_unified(tower: Values, top: Values, text_size: int) -> Parts:
    """Gemma 4 without an encoder: large patches straight into the text model's width."""
    width = tower.integer("mm_embed_dim")
    patch = tower.integer("patch_size") * tower.integer("pooling_kernel_size")
    yield from norm("patch_ln1", 3 * patch * patch)
    yield from linear("patch_dense", width, 3 * patch * patch)
    yield from norm("patch_ln2", width)
    yield "pos_embedding", 2 * tower.integer("mm_posemb_size"), width, 1
    yield from norm("pos_norm", width)


def muse_glimmer(tower: Values, top: Values, text_size: int) -> Parts:
    """Muse Glimmer: two frames a patch, LayerNorm before and after, an adapter without biases."""
    hidden = tower.integer("hidden_size")
    yield from linear("patch_embedding", hidden, pixels(tower, tower.integer("patch_temporal")), bias=False)
    yield "position_embedding_table", tower.integer("pos_emb_height") * tower.integer("pos_emb_width"), hidden, 1
    yield from norm("ln_pre", hidden)
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))
    yield from norm("ln_post", hidden)


VISION = {
    "clip_vision_model": clip,
    "siglip_vision_model": siglip,
    "pixtral": pixtral,
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "llama4_vision_model": llama4,
    "mllama_vision_model": mllama,
    "glm4v": glm4v,
    "glm5_next": glm5_next,
    "kimi_k3": kimi_k3,
    "moonvit": moonvit,
    "intern_vit": intern_vit,
    "minimax_m3": minimax_m3,
    "gemma4_vision": gemma4,
    "gemma4_unified": gemma4_unified,
    "step3": step3,
    "step3p7": step3p7,
    "ernie4_5_vl": ernie4_5_vl,
    "muse_glimmer": muse_glimmer,
    "glm_ocr": glm_ocr,
    "rotary_siglip": rotary_siglip,
    "minicpmv": minicpmv,
    "ovis2": ovis2,
    "sam": sam,
    "downsampled_sam": downsampled,
    "clip_after_sam": clip_after_sam,
    "queries_after_sam": queries_after_sam,
    "deepseek_vl_hybrid": deepseek_vl_hybrid,
    "chameleon": chameleon,
    "emu3": emu3,
    "apertus": apertus,
    "lfm3": lfm3,
    "dots3_note": dots3_note,
    "dots_ocr": dots_ocr,
    "blip_2": blip_2,
    "janus_images": janus,
    "hy_v4_vl": hy_v4_vl,
    "hunyuan_vl": hunyuan_vl,
    "inkling2": inkling2,
    "radio": radio,
    "backbone": backbone,
}
