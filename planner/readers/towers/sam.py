"""SAM's encoder, arXiv:2304.02643, and the towers for documents that see through it first."""

from planner.readers.towers.parts import Parts, attention, encoder, gated, linear, norm, patches, pixels
from planner.readers.values import Values


def sam(tower: Values, top: Values, text_size: int) -> Parts:
    """Relative positions in windows, and in some layers over the whole image."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    side = tower.integer("image_size") // tower.integer("patch_size")
    wide = len(tower.integers("global_attn_indexes"))
    head_dim = hidden // tower.integer("num_attention_heads")
    yield from linear("patch_embed", hidden, pixels(tower))
    yield "pos_embed", side * side, hidden, 1
    yield from encoder("layers", hidden, tower.integer("mlp_dim"), count)
    yield "layers.attn.rel_pos", 2 * (2 * tower.integer("window_size") - 1), head_dim, count - wide
    yield "layers.attn.rel_pos_global", 2 * (2 * side - 1), head_dim, wide
    yield from _neck(tower)


def downsampled(tower: Values, top: Values, text_size: int) -> Parts:
    """SAM and two convolutions that halve the grid: DeepSeek-OCR 2, Unlimited-OCR."""
    first, second = tower.integers("downsample_channels", length=2, minimum=1)
    yield from sam(tower, top, text_size)
    yield from linear("proj.conv1", first, 9 * tower.integer("output_channels"), bias=False)
    yield from linear("proj.conv2", second, 9 * first, bias=False)


def deepseek_vl_hybrid(tower: Values, top: Values, text_size: int) -> Parts:
    """SAM, a second neck for a layer before its last, two convolutions, and how much these two count."""
    out = tower.integer("output_channels")
    yield from sam(tower, top, text_size)
    yield from _neck(tower)
    yield from linear("proj.conv1", 2 * out, 9 * out, bias=False)
    yield from linear("proj.conv2", 4 * out, 18 * out, bias=False)
    yield "high_res_vision_alpha", 1, 1, 1


def clip_after_sam(tower: Values, top: Values, text_size: int) -> Parts:
    """CLIP's encoder on SAM's patches, without patches of its own: Unlimited-OCR."""
    hidden = tower.integer("hidden_size")
    yield "class_embedding", 1, hidden, 1
    yield "position_embedding.weight", patches(tower) + 1, hidden, 1
    yield from norm("pre_layernorm", hidden)
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))


def queries_after_sam(tower: Values, top: Values, text_size: int) -> Parts:
    """A language model's layers over SAM's patches and as many learned queries, by size of image: DeepSeek-OCR 2."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    kept = hidden // tower.integer("num_attention_heads") * tower.integer("num_key_value_heads")
    yield from attention("layers.self_attn", hidden, count, out_bias=False, kv=kept)
    yield from gated("layers.mlp", hidden, tower.integer("intermediate_size"), count, bias=False)
    yield "norms", 2 * count + 1, hidden, 1
    yield "queries", tower.integer("queries"), hidden, 1


def deepseek_vl_hybrid_aligner(tower: Values, top: Values, text_size: int) -> Parts:
    """Both towers into half of the text model's width each, and a matrix over the halves."""
    seen = top.table("high_res_vision_config") or {}
    high_res = Values(seen, top.model_type, defaults=tower.table("high_res") or {})
    yield from linear("vision_proj", text_size // 2, tower.integer("hidden_size"))
    yield from linear("high_res_vision_proj", text_size // 2, 4 * high_res.integer("output_channels"))
    yield from linear("proj", text_size, text_size)


def deepseek_ocr2_projector(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix, and a learned separator of views."""
    yield from linear("multi_modal_projector", text_size, tower.integer("hidden_size"))
    yield "view_separator", 1, text_size, 1


def unlimited_ocr_projector(tower: Values, top: Values, text_size: int) -> Parts:
    """One matrix from both towers side by side, and learned separators of views and rows."""
    sam_table = top.table("vision_config.sam_config") or {}
    first = Values(sam_table, top.model_type, defaults=tower.table("sam") or {})
    seen = tower.integer("hidden_size") + first.integers("downsample_channels", length=2, minimum=1)[1]
    yield from linear("multi_modal_projector", text_size, seen)
    yield "separators", 2, text_size, 1


def _neck(tower: Values) -> Parts:
    hidden, out = tower.integer("hidden_size"), tower.integer("output_channels")
    yield from linear("neck.conv1", out, hidden, bias=False)
    yield from norm("neck.layer_norm1", out)
    yield from linear("neck.conv2", out, 9 * out, bias=False)
    yield from norm("neck.layer_norm2", out)
