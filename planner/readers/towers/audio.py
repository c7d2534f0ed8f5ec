"""Audio towers by the name of their layout."""

from planner.readers.towers.conformers import gemma3n, gemma4, granite_speech, phi4_multimodal
from planner.readers.towers.omni_speech import code2wav, talker
from planner.readers.towers.parts import Parts, linear, norm, two_layers
from planner.readers.towers.speech_decoders import qwen2_5_omni_talker, qwen2_5_omni_token2wav
from planner.readers.towers.speech_encoders import fun_asr_nano, inkling, omniasr, vibevoice, wavtokenizer
from planner.readers.values import Values


def whisper(tower: Values, top: Values, text_size: int) -> Parts:
    """Whisper's encoder: two convolutions, learned positions, keys without a bias."""
    yield "embed_positions.weight", tower.integer("max_source_positions"), tower.integer("hidden_size"), 1
    yield from computed_positions(tower, top, text_size)


def computed_positions(tower: Values, top: Values, text_size: int) -> Parts:
    """The same with positions that need no weights: GLM-ASR."""
    hidden = tower.integer("hidden_size")
    yield from linear("conv1", hidden, 3 * tower.integer("num_mel_bins"))
    yield from linear("conv2", hidden, 3 * hidden)
    yield from _layers(tower, key_bias=False)
    yield from norm("layer_norm", hidden)


def qwen2_5_omni(tower: Values, top: Values, text_size: int) -> Parts:
    """Qwen2.5-Omni: the same with two learned tokens, and a projection into the text model."""
    out = tower.integer("output_dim")
    yield from computed_positions(tower, top, text_size)
    yield "audio_bos_eos_token.weight", 2, out, 1
    yield from linear("proj", out, tower.integer("hidden_size"))


def qwen3_omni(tower: Values, top: Values, text_size: int) -> Parts:
    """Qwen3-Omni and Qwen3-ASR: three convolutions that halve time and pitch, and two layers into the text model."""
    hidden, channels = tower.integer("hidden_size"), tower.integer("downsample_hidden_size")
    yield from linear("conv2d1", channels, 9)
    yield from linear("conv2d2", channels, 9 * channels)
    yield from linear("conv2d3", channels, 9 * channels)
    yield from linear("conv_out", hidden, channels * -(-tower.integer("num_mel_bins") // 8), bias=False)
    yield from _layers(tower, key_bias=True)
    yield from norm("ln_post", hidden)
    yield from two_layers("proj", hidden, hidden, tower.integer("output_dim"))


def voxtral_realtime(tower: Values, top: Values, text_size: int) -> Parts:
    """Voxtral Realtime: a causal encoder with rotary positions, RMSNorm, and gates without biases."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    width, intermediate = (
        tower.integer("num_attention_heads") * tower.integer("head_dim"),
        tower.integer("intermediate_size"),
    )
    yield from linear("conv1", hidden, 3 * tower.integer("num_mel_bins"))
    yield from linear("conv2", hidden, 3 * hidden)
    for name in ("q_proj", "v_proj"):
        yield from linear(f"layers.self_attn.{name}", width, hidden, count)
    yield from linear("layers.self_attn.k_proj", width, hidden, count, bias=False)
    yield from linear("layers.self_attn.o_proj", hidden, width, count)
    for name in ("gate_proj", "up_proj"):
        yield from linear(f"layers.mlp.{name}", intermediate, hidden, count, bias=False)
    yield from linear("layers.mlp.down_proj", hidden, intermediate, count)
    yield "layers.norms", 2, hidden, count
    yield from norm("norm", hidden, bias=False)


def _layers(tower: Values, *, key_bias: bool) -> Parts:
    """Whisper's encoder layers."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    for name in ("q_proj", "v_proj", "out_proj"):
        yield from linear(f"layers.self_attn.{name}", hidden, hidden, count)
    yield from linear("layers.self_attn.k_proj", hidden, hidden, count, bias=key_bias)
    yield from two_layers("layers", hidden, tower.integer("intermediate_size"), hidden, count)
    yield from norm("layers.self_attn_layer_norm", hidden, count)
    yield from norm("layers.final_layer_norm", hidden, count)


def muse_spark(tower: Values, top: Values, text_size: int) -> Parts:
    """Muse Spark: stages that halve time, each of depthwise convolutions and feed-forward parts, and a projection."""
    widths, depths = tower.integers("hidden_sizes", minimum=1), tower.integers("depths", minimum=1)
    kernel, ratio = tower.integer("conv_kernel_size"), tower.number("mlp_ratio")
    before = 1
    for width, depth, patch in zip(widths, depths, tower.integers("patch_sizes", minimum=1), strict=True):
        yield from linear("layers.patch_embedder.proj", width, before * patch)
        yield from norm("layers.patch_embedder.norm", width, bias=False)
        yield from linear("layers.conv_blocks.conv", width, kernel, depth)
        yield from norm("layers.conv_blocks.norm", width, depth, bias=False)
        yield from two_layers("layers.conv_blocks.mlp", width, int(width * ratio), width, depth)
        before = width
    out = tower.integer("out_hidden_size")
    yield from norm("norm", before, bias=False)
    yield from linear("proj", out, before)
    yield from norm("post_proj_norm", out, bias=False)


def dots3_note(tower: Values, top: Values, text_size: int) -> Parts:
    """dots 3 Note: three convolutions that halve time and pitch, gated feed-forward parts, RMSNorm, an adapter."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    channels, intermediate = tower.integer("downsample_hidden_size"), tower.integer("intermediate_size")
    yield from linear("conv_stem.convs.0", channels, 9)
    yield from linear("conv_stem.convs", channels, 9 * channels, 2)
    yield from linear("conv_stem.conv_out", hidden, channels * -(-tower.integer("num_mel_bins") // 8), bias=False)
    for name in ("q_proj", "v_proj", "o_proj"):
        yield from linear(f"layers.self_attn.{name}", hidden, hidden, count, bias=tower.flag("attention_bias"))
    yield from linear("layers.self_attn.k_proj", hidden, hidden, count, bias=False)
    yield from linear("layers.mlp.gate_up_proj", 2 * intermediate, hidden, count)
    yield from linear("layers.mlp.down_proj", hidden, intermediate, count)
    yield "layers.norms", 2, hidden, count
    yield from norm("layer_norm", hidden, bias=False)
    out = tower.integer("adapter_out_dim")
    yield from norm("adapter.norm", hidden)
    yield from two_layers("adapter", tower.integer("adapter_input_size"), out, out)


AUDIO = {
    "whisper": whisper,
    "computed_positions": computed_positions,
    "gemma4_audio": gemma4,
    "gemma3n_audio": gemma3n,
    "phi4_multimodal": phi4_multimodal,
    "granite_speech": granite_speech,
    "qwen2_5_omni_audio": qwen2_5_omni,
    "qwen2_5_omni_talker": qwen2_5_omni_talker,
    "qwen2_5_omni_token2wav": qwen2_5_omni_token2wav,
    "qwen3_omni_audio": qwen3_omni,
    "voxtral_realtime": voxtral_realtime,
    "muse_spark": muse_spark,
    "dots3_note": dots3_note,
    "fun_asr_nano": fun_asr_nano,
    "vibevoice": vibevoice,
    "inkling": inkling,
    "omniasr": omniasr,
    "qwen3_omni_talker": talker,
    "qwen3_omni_code2wav": code2wav,
    "wavtokenizer": wavtokenizer,
}
