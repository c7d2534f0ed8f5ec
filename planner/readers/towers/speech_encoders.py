"""Audio towers with memory or convolutions instead of Whisper's layers, and their projectors."""

from planner.readers.towers.parts import Parts, encoder, linear, norm, two_layers
from planner.readers.values import Values


def fun_asr_nano(tower: Values, top: Values, text_size: int) -> Parts:
    """SAN-M, arXiv:2006.01713: attention and a depthwise convolution over its values; the first layer is wider."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    wider = tower.integer("num_mel_bins") * tower.integer("num_stacked_frames") - hidden
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), count)
    yield "layers.0.self_attn.wider", hidden, 3 * wider, 1
    yield "layers.0.input_layernorm.wider", 2, wider, 1
    yield "layers.self_attn.fsmn.conv.weight", hidden, tower.integer("fsmn_kernel_size"), count
    yield from norm("layers.final_layernorm", hidden, 2)


def fun_asr_nano_projector(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers, and attention over what is heard."""
    seen = Values(top.table("audio_config") or {}, top.model_type, defaults=tower.table("audio") or {})
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    yield from two_layers("linear", seen.integer("hidden_size"), tower.integer("projector_hidden_size"), hidden)
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), count)


def vibevoice(tower: Values, top: Values, text_size: int) -> Parts:
    """Stages of convolutions that shorten sound, each with depthwise ones and feed-forward parts: VibeVoice."""
    kernel, expansion = tower.integer("kernel_size"), tower.integer("ffn_expansion")
    depths, ratios = tower.integers("depths", minimum=1), tower.integers("downsampling_ratios", minimum=1)
    width = tower.integer("num_filters")
    yield from linear("stem.conv", width, tower.integer("channels") * kernel)
    for stage, depth in enumerate(depths):
        if stage:
            yield from linear("conv_layers.conv", 2 * width, width * 2 * ratios[stage - 1])
            width *= 2
        yield "stage.norms_and_scales", 4, width, depth
        yield from linear("stage.mixer.conv", width, kernel, depth)
        yield from two_layers("stage.ffn", width, expansion * width, width, depth)
    yield from linear("head.conv", tower.integer("hidden_size"), width * kernel)


def vibevoice_projector(tower: Values, top: Values, text_size: int) -> Parts:
    """Two layers with a norm between, from a tokenizer's width."""
    yield from two_layers("linear", tower.integer("hidden_size"), text_size, text_size)
    yield from norm("norm", text_size, bias=False)


def inkling(tower: Values, top: Values, text_size: int) -> Parts:
    """Inkling's ear: a word for every level of every pitch, and a norm."""
    hidden = tower.integer("text_hidden_size")
    yield "embed_audio_tokens.weight", tower.integer("n_mel_bins") * tower.integer("mel_vocab_size"), hidden, 1
    yield from norm("norm", hidden, bias=False)


def wavtokenizer(tower: Values, top: Values, text_size: int) -> Parts:
    """WavTokenizer, arXiv:2408.16532: stages that shorten time, and a recurrence; its codebook is a buffer."""
    width, kernel = tower.integer("num_filters"), tower.integer("kernel_size")
    residual, compress = tower.integer("residual_kernel_size"), tower.integer("compress")
    shortcuts = tower.integer("num_residual_layers") if tower.flag("use_conv_shortcut") else 0
    yield from _normed("conv_in", width, tower.integer("audio_channels") * kernel)
    for ratio in reversed(tower.integers("upsampling_ratios", minimum=1)):
        inner, layers = width // compress, tower.integer("num_residual_layers")
        yield from _normed("block.conv1", inner, width * residual, layers)
        yield from _normed("block.conv2", width, inner, layers)
        yield from _normed("block.shortcut", width, width, shortcuts)
        yield from _normed("downsample", 2 * width, width * 2 * ratio)
        width *= 2
    yield "lstm.weights", 4 * width, 2 * width, tower.integer("num_lstm_layers")
    yield "lstm.biases", 2, 4 * width, tower.integer("num_lstm_layers")
    yield from _normed("conv_out", tower.integer("hidden_size"), width * tower.integer("last_kernel_size"))


def _normed(name: str, rows: int, columns: int, count: int = 1) -> Parts:
    """A convolution with weight normalisation: a length for each output beside its direction."""
    yield from linear(name, rows, columns, count)
    yield f"{name}.length", 1, rows, count


def omniasr(tower: Values, top: Values, text_size: int) -> Parts:
    """Omnilingual ASR: convolutions over the wave, each with a norm, positions by a grouped one, and usual layers."""
    hidden, sizes, kernels = tower.integer("hidden_size"), tower.integers("conv_dim"), tower.integers("conv_kernel")
    if len(kernels) != len(sizes) or not sizes:
        raise tower.uneven("conv_kernel", len(kernels), len(sizes))
    for before, size, kernel in zip((1, *sizes), sizes, kernels, strict=False):
        yield from linear("subsampling.conv_layers.conv", size, before * kernel, bias=tower.flag("conv_bias"))
        yield from norm("subsampling.conv_layers.layer_norm", size)
    yield from norm("subsampling.layer_norm", sizes[-1])
    yield from linear("subsampling.projection", hidden, sizes[-1])
    group = hidden // tower.integer("num_conv_pos_embedding_groups")
    yield from linear("encode_positions.conv", hidden, group * tower.integer("num_conv_pos_embeddings"))
    yield from encoder("layers", hidden, tower.integer("intermediate_size"), tower.integer("num_hidden_layers"))
    yield from norm("layer_norm", hidden)
