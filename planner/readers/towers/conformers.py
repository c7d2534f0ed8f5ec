"""Audio towers whose layers are convolutions and attention between two half feed-forward parts: arXiv:2005.08100."""

from planner.readers.towers.parts import Parts, attention, linear, norm, two_layers
from planner.readers.values import Values


def gemma3n(tower: Values, top: Values, text_size: int) -> Parts:
    """Gemma 3n's conformer: convolutions that halve time and pitch, then layers that its text model projects."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    first, second = tower.integers("subsampling_conv_channels", length=2, minimum=1)
    bins = tower.integer("num_mel_bins") // 4
    yield from linear("subsample.layer0.conv", first, 9, bias=False)
    yield from norm("subsample.layer0.norm", first, bias=False)
    yield from linear("subsample.layer1.conv", second, 9 * first, bias=False)
    yield from norm("subsample.layer1.norm", second, bias=False)
    yield from linear("subsample.input_proj_linear", hidden, second * bins, bias=False)
    yield from two_layers("layers.feed_forward", hidden, 4 * hidden, hidden, 2 * count, bias=False)
    yield from attention("layers.self_attn", hidden, count, qkv_bias=False, out_bias=False)
    yield from linear("layers.self_attn.relative_k_proj", hidden, hidden, count, bias=False)
    yield "layers.self_attn.per_dim_scale", 1, hidden // tower.integer("num_attention_heads"), count
    yield from linear("layers.lconv1d.linear_start", 2 * hidden, hidden, count, bias=False)
    yield from linear("layers.lconv1d.linear_end", hidden, hidden, count, bias=False)
    yield "layers.lconv1d.depthwise_conv1d.weight", hidden, tower.integer("conv_kernel_size"), count
    yield "layers.norms", 9, hidden, count


def gemma4(tower: Values, top: Values, text_size: int) -> Parts:
    """Gemma 4's: the same, and a projection of its own."""
    yield from gemma3n(tower, top, text_size)
    yield from linear("output_proj", tower.integer("output_proj_dims"), tower.integer("hidden_size"))


def phi4_multimodal(tower: Values, top: Values, text_size: int) -> Parts:
    """Phi-4-multimodal's: depthwise convolutions before the layers, gated feed-forward parts, a bias by distance.

    Two projectors lead into the text model, one for speech alone and one for speech beside an image.
    """
    hidden, count, channels = (
        tower.integer("hidden_size"),
        tower.integer("num_blocks"),
        tower.integer("nemo_conv_channels"),
    )
    reduction, out = tower.integer("time_reduction"), tower.integer("ext_pw_out_channel")
    yield from linear("embed.conv", channels, 9, reduction.bit_length() - 1)
    yield from linear("embed.pointwise_conv", channels, channels, reduction.bit_length() - 2)
    yield from linear("embed.out", hidden, channels * -(-tower.integer("input_size") // reduction))
    yield "relative_attention_bias", 2 * tower.integer("bias_max_distance"), tower.integer("num_attention_heads"), 1
    yield from linear("layers.feed_forward.gate_up_proj", 2 * tower.integer("intermediate_size"), hidden, 2 * count)
    yield from linear("layers.feed_forward.down_proj", hidden, tower.integer("intermediate_size"), 2 * count)
    yield from attention("layers.self_attn", hidden, count)
    inner, separated = (
        hidden * tower.integer("depthwise_multiplier"),
        tower.integer("depthwise_separable_out_channel"),
    )
    yield "layers.conv.glu.biases", 2, out, count
    yield from linear("layers.conv.glu.ext_pw_conv_1d", 2 * out, hidden, count)
    yield from linear("layers.conv.dw_conv", inner, tower.integer("kernel_size"), count)
    yield from linear("layers.conv.pw_conv", separated, inner, count)
    yield from linear("layers.conv.ext_pw_conv_1d", out, hidden, count)
    yield "layers.norms", 10, hidden, count
    yield from two_layers("speech_projection", hidden, text_size, text_size, 2)


def granite_speech(tower: Values, top: Values, text_size: int) -> Parts:
    """Granite Speech's: relative positions a layer, and letters predicted in the middle and at the end."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    width, letters = tower.integer("num_attention_heads") * tower.integer("head_dim"), tower.integer("output_dim")
    inner = hidden * tower.integer("conv_expansion_factor")
    yield from linear("input_linear", hidden, tower.integer("input_dim"))
    yield from two_layers("layers.ff", hidden, hidden * tower.integer("feedforward_mult"), hidden, 2 * count)
    yield from linear("layers.attn.to_qkv", 3 * width, hidden, count, bias=False)
    yield from linear("layers.attn.to_out", hidden, width, count)
    yield "layers.attn.rel_pos_emb", 2 * tower.integer("max_pos_emb") + 1, tower.integer("head_dim"), count
    yield from linear("layers.conv.up_conv", 2 * inner, hidden, count)
    yield "layers.conv.depth_conv", inner, tower.integer("conv_kernel_size"), count
    yield from norm("layers.conv.batch_norm", inner, count)
    yield from linear("layers.conv.down_conv", hidden, inner, count)
    yield "layers.norms", 10, hidden, count
    yield from linear("out", letters, hidden)
    yield from linear("out_mid", hidden, letters)
