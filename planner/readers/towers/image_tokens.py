"""Janus draws: VQGAN, arXiv:2012.09841, over images as tokens, and what leads these into the text model and out."""

from planner.readers.towers.parts import Parts, linear, norm
from planner.readers.values import Values


def janus(tower: Values, top: Values, text_size: int) -> Parts:
    """The tokenizer's encoder and decoder, its words, and two layers from words to hidden states and back."""
    latent, width, words = (
        tower.integer("latent_channels"),
        tower.integer("embed_dim"),
        tower.integer("num_embeddings"),
    )
    channels = [tower.integer("base_channels") * factor for factor in tower.integers("channel_multiplier", minimum=1)]
    yield from _encoder(tower, channels, latent)
    yield "quantize.embedding", words, width, 1
    yield from linear("quant_conv", width, latent)
    yield from linear("post_quant_conv", latent, width)
    yield from _decoder(tower, channels, latent)
    hidden = tower.optional_integer("projection_dim") or text_size
    embedded = tower.optional_integer("image_token_embed_dim") or text_size
    yield "generation_embeddings", words, width, 1
    yield from linear("generation_aligner.fc1", hidden, width)
    yield from linear("generation_aligner.hidden_layers", hidden, hidden, tower.integer("num_hidden_layers") - 1)
    yield from linear("generation_head.proj_out", embedded, hidden)
    yield from linear("generation_head.vision_head", words, embedded)


def _encoder(tower: Values, channels: list[int], latent: int) -> Parts:
    blocks, before = tower.integer("num_res_blocks"), channels[0]
    yield from linear("encoder.conv_in", before, 9 * tower.integer("in_channels"))
    for level, size in enumerate(channels):
        is_last = level == len(channels) - 1
        for _ in range(blocks):
            yield from _residual("encoder.down", before, size)
            before = size
            if is_last:
                yield from _attention("encoder.down.attn", size)
        if not is_last:
            yield from linear("encoder.down.downsample", size, 9 * size)
    yield from _middle("encoder.mid", before)
    yield from norm("encoder.norm_out", before)
    yield from linear("encoder.conv_out", latent, 9 * before)


def _decoder(tower: Values, channels: list[int], latent: int) -> Parts:
    blocks, before = tower.integer("num_res_blocks") + 1, channels[-1]
    yield from linear("decoder.conv_in", before, 9 * latent)
    yield from _middle("decoder.mid", before)
    for level, size in reversed(list(enumerate(channels))):
        for _ in range(blocks):
            yield from _residual("decoder.up", before, size)
            before = size
            if level == len(channels) - 1:
                yield from _attention("decoder.up.attn", size)
        if level:
            yield from linear("decoder.up.upsample", size, 9 * size)
    yield from norm("decoder.norm_out", before)
    yield from linear("decoder.conv_out", tower.integer("out_channels"), 9 * before)


def _residual(name: str, before: int, size: int) -> Parts:
    """Two convolutions, and one of a pixel where the channels change."""
    yield from norm(f"{name}.norm1", before)
    yield from linear(f"{name}.conv1", size, 9 * before)
    yield from norm(f"{name}.norm2", size)
    yield from linear(f"{name}.conv2", size, 9 * size)
    if before != size:
        yield from linear(f"{name}.nin_shortcut", size, before)


def _attention(name: str, size: int) -> Parts:
    yield from norm(f"{name}.norm", size)
    yield from linear(name, size, size, 4)


def _middle(name: str, size: int) -> Parts:
    yield from _residual(f"{name}.block_1", size, size)
    yield from _attention(f"{name}.attn_1", size)
    yield from _residual(f"{name}.block_2", size, size)
