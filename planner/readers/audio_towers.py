"""Audio towers by the name of their layout."""

from planner.readers.tower_parts import Parts, attention, linear, norm, two_layers
from planner.readers.values import Values


def whisper(tower: Values, top: Values, text_size: int) -> Parts:
    """Whisper's encoder: two convolutions, keys without a bias."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    yield from linear("conv1", hidden, 3 * tower.integer("num_mel_bins"))
    yield from linear("conv2", hidden, 3 * hidden)
    yield "embed_positions.weight", tower.integer("max_source_positions"), hidden, 1
    for name in ("q_proj", "v_proj", "out_proj"):
        yield from linear(f"layers.self_attn.{name}", hidden, hidden, count)
    yield from linear("layers.self_attn.k_proj", hidden, hidden, count, bias=False)
    yield from two_layers("layers", hidden, tower.integer("intermediate_size"), hidden, count)
    yield from norm("layers.self_attn_layer_norm", hidden, count)
    yield from norm("layers.final_layer_norm", hidden, count)
    yield from norm("layer_norm", hidden)


def gemma4(tower: Values, top: Values, text_size: int) -> Parts:
    """Gemma 4's conformer: convolutions that halve time and pitch, two half feed-forward parts a layer."""
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
    yield from linear("output_proj", tower.integer("output_proj_dims"), hidden)


AUDIO = {"whisper": whisper, "gemma4_audio": gemma4}
