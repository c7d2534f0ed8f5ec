"""What turns Qwen2.5-Omni's text into speech: a second decoder, and a vocoder after it."""

from collections.abc import Sequence

from planner.readers.towers.parts import Parts, gated, linear, norm, two_layers
from planner.readers.values import Values


def qwen2_5_omni_talker(tower: Values, top: Values, text_size: int) -> Parts:
    """The talker: a Qwen2.5 decoder over sounds, on hidden states of the text model."""
    hidden, count, width = (
        tower.integer("hidden_size"),
        tower.integer("num_hidden_layers"),
        tower.integer("embedding_size"),
    )
    head_dim, vocab_size = tower.integer("head_dim"), tower.integer("vocab_size")
    yield "model.embed_tokens.weight", vocab_size, width, 1
    yield from linear("thinker_to_talker_proj", hidden, width)
    for name, heads in (
        ("q_proj", "num_attention_heads"),
        ("k_proj", "num_key_value_heads"),
        ("v_proj", "num_key_value_heads"),
    ):
        yield from linear(f"layers.self_attn.{name}", tower.integer(heads) * head_dim, hidden, count)
    yield from linear(
        "layers.self_attn.o_proj", hidden, tower.integer("num_attention_heads") * head_dim, count, bias=False
    )
    yield from gated("layers.mlp", hidden, tower.integer("intermediate_size"), count, bias=False)
    yield "layers.norms", 2, hidden, count
    yield from norm("norm", hidden, bias=False)
    yield from linear("codec_head", vocab_size, hidden, bias=False)


def qwen2_5_omni_token2wav(tower: Values, top: Values, text_size: int) -> Parts:
    """The vocoder: a diffusion transformer from sounds to a spectrogram, and BigVGAN from there to samples."""
    yield from _diffusion(Values(tower.table("dit_config") or {}, tower.model_type, defaults=_table(tower, "dit")))
    yield from _bigvgan(Values(tower.table("bigvgan_config") or {}, tower.model_type, defaults=_table(tower, "vgan")))


def _table(tower: Values, key: str) -> dict[str, object]:
    return dict(tower.table(key) or {})


def _diffusion(dit: Values) -> Parts:
    hidden, count, mel = dit.integer("hidden_size"), dit.integer("num_hidden_layers"), dit.integer("mel_dim")
    width, embedded = dit.integer("num_attention_heads") * dit.integer("head_dim"), dit.integer("emb_dim")
    speaker = dit.integer("enc_emb_dim")
    yield from two_layers("dit.time_embed", 256, hidden, hidden)
    yield "dit.codec_embed.weight", dit.integer("num_embeds") + 1, embedded, 1
    yield from linear("dit.input_embed.proj", hidden, mel + speaker + dit.integer("enc_dim") + embedded)
    yield from _speaker_encoder(dit)
    yield from linear("dit.blocks.attn_norm", 6 * hidden, hidden, count)
    yield from linear("dit.blocks.to_qkv", 3 * width, hidden, count)
    yield from linear("dit.blocks.to_out", hidden, width, count)
    yield from two_layers("dit.blocks.ff", hidden, hidden * dit.integer("ff_mult"), hidden, count)
    yield from linear("dit.norm_out", 2 * hidden, hidden)
    yield from linear("dit.proj_out", mel, hidden)


def _speaker_encoder(dit: Values) -> Parts:
    """ECAPA-TDNN, arXiv:2005.07143: convolutions with squeeze and excitation over the voice to speak with."""
    channels, kernels = dit.integers("enc_channels", minimum=1), dit.integers("enc_kernel_sizes", minimum=1)
    squeezed, scale = dit.integer("enc_se_channels"), dit.integer("enc_res2net_scale")
    yield from linear("speaker.blocks.0", channels[0], dit.integer("mel_dim") * kernels[0])
    for before, size, kernel in zip(channels[:-2], channels[1:-1], kernels[1:-1], strict=True):
        part = size // scale
        yield from linear("speaker.blocks.tdnn1", size, before)
        yield from linear("speaker.blocks.res2net", part, part * kernel, scale - 1)
        yield from linear("speaker.blocks.tdnn2", size, size)
        yield from two_layers("speaker.blocks.se", size, squeezed, size)
    last, pooled = channels[-1], dit.integer("enc_attention_channels")
    yield from linear("speaker.mfa", last, last * kernels[-1])
    yield from linear("speaker.asp.tdnn", pooled, 3 * last)
    yield from linear("speaker.asp.conv", last, pooled)
    yield from linear("speaker.fc", dit.integer("enc_dim"), 2 * last)


def _bigvgan(vocoder: Values) -> Parts:
    """BigVGAN, arXiv:2206.04658: every stage halves the channels, and filters them by kernels of several sizes."""
    channels = vocoder.integer("upsample_initial_channel")
    kernels: Sequence[int] = vocoder.integers("resblock_kernel_sizes", minimum=1)
    yield from linear("bigvgan.conv_pre", channels, 7 * vocoder.integer("mel_dim"))
    for upsampling in vocoder.integers("upsample_kernel_sizes", minimum=1):
        yield "bigvgan.ups.weight", channels, channels // 2 * upsampling, 1
        channels //= 2
        yield "bigvgan.ups.bias", 1, channels, 1
        for kernel in kernels:
            yield from linear("bigvgan.resblocks.convs", channels, channels * kernel, 6)
            yield "bigvgan.resblocks.activations", 2, channels, 6
    yield "bigvgan.activation_post", 2, channels, 1
    yield "bigvgan.conv_post.weight", 7, channels, 1
