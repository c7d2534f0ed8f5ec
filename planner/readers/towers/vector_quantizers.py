"""Image tokenizers with a learned codebook, arXiv:2012.09841: convolutions that halve the image, then its words.

Of Chameleon and Apertus 1.5 the file holds the encoder alone; Emu3, which draws as well, has a decoder behind it.
"""

import math

from planner.readers.towers.parts import Parts, linear, norm
from planner.readers.values import Values


def chameleon(tower: Values, top: Values, text_size: int) -> Parts:
    latent, embedded = tower.integer("latent_channels"), tower.integer("embed_dim")
    is_attending = tower.get("attn_type") != "none" and tower.get("attn_type") is not None
    yield from _encoder(tower, _by_resolution(tower) if is_attending else frozenset(), is_attending)
    yield "quantize.embedding.weight", tower.integer("num_embeddings"), embedded, 1
    yield from linear("quant_conv", embedded, latent)
    yield from linear("post_quant_conv", latent, embedded)


def apertus(tower: Values, top: Values, text_size: int) -> Parts:
    """The same with a codebook of more words, and no way back."""
    latent, embedded = tower.integer("latent_channels"), tower.integer("embed_dim")
    yield from _encoder(tower, _by_resolution(tower), is_attending=True)
    yield "quantize.embedding.weight", tower.integer("codebook_size"), embedded, 1
    yield from linear("quant_conv", embedded, latent)


def emu3(tower: Values, top: Values, text_size: int) -> Parts:
    """Attention by stage, convolutions over time too, and a decoder whose norms see the words."""
    latent, embedded = tower.integer("latent_channels"), tower.integer("embed_dim")
    attending = frozenset(tower.integers("attn_resolutions"))
    coded = latent * (2 if tower.flag("double_latent") else 1)
    halvings = int(math.log2(tower.integer("temporal_downsample_factor")))
    yield from _encoder(tower, attending, is_attending=True)
    yield from linear("encoder.time_conv", coded, 36 * coded, halvings)
    yield from _over_time("encoder", coded, tower.integer("num_res_blocks"))
    yield "quantize.embedding.weight", tower.integer("codebook_size"), embedded, 1
    yield from linear("quant_conv", embedded, 3 * latent)
    yield from linear("post_quant_conv", latent, 3 * embedded)
    yield from _over_time("decoder", latent, tower.integer("num_res_blocks"))
    yield from linear("decoder.time_conv", latent, 27 * latent, halvings)
    yield from _decoder(tower, attending)


def _by_resolution(tower: Values) -> frozenset[int]:
    """Stages that attend: those whose images have one of the listed sides."""
    listed = tower.integers("attn_resolutions") if tower.get("attn_resolutions") is not None else ()
    stages, side = len(tower.integers("channel_multiplier")), tower.integer("resolution")
    return frozenset(stage for stage in range(stages) if side >> stage in listed)


def _encoder(tower: Values, attending: frozenset[int], is_attending: bool) -> Parts:
    """Stages of residual blocks, each but the last halving the image; *attending* ones have attention after a block."""
    widths = [tower.integer("base_channels") * factor for factor in tower.integers("channel_multiplier", minimum=1)]
    blocks, before = tower.integer("num_res_blocks"), tower.integer("base_channels")
    yield from linear("encoder.conv_in", before, 9 * tower.integer("in_channels"))
    for stage, width in enumerate(widths):
        yield from _residual("encoder.down.block", before, width)
        yield from _residual("encoder.down.block", width, width, blocks - 1)
        if stage in attending:
            yield from _attention("encoder.down.attn", width, blocks)
        if stage < len(widths) - 1:
            yield from linear("encoder.down.downsample", width, 9 * width)
        before = width
    yield from _residual("encoder.mid.block", before, before, 2)
    if is_attending:
        yield from _attention("encoder.mid.attn", before)
    yield from norm("encoder.norm_out", before)
    latent = tower.integer("latent_channels") * (2 if tower.flag("double_latent") else 1)
    yield from linear("encoder.conv_out", latent, 9 * before)


def _decoder(tower: Values, attending: frozenset[int]) -> Parts:
    """The stages back, with a block more each."""
    widths = [tower.integer("base_channels") * factor for factor in tower.integers("channel_multiplier", minimum=1)]
    blocks, words = tower.integer("num_res_blocks") + 1, tower.integer("embed_dim")
    before = widths[-1]
    yield from linear("decoder.conv_in", before, 9 * tower.integer("latent_channels"))
    yield from _residual("decoder.mid.block", before, before, 2, words)
    yield from _attention("decoder.mid.attn", before, 1, words)
    for stage, width in reversed(list(enumerate(widths))):
        yield from _residual("decoder.up.block", before, width, 1, words)
        yield from _residual("decoder.up.block", width, width, blocks - 1, words)
        if stage in attending:
            yield from _attention("decoder.up.attn", width, blocks, words)
        if stage:
            yield from linear("decoder.up.upsample", width, 9 * width)
        before = width
    yield from _norm("decoder.norm_out", before, 1, words)
    yield from linear("decoder.conv_out", tower.integer("out_channels"), 9 * before)


def _residual(name: str, before: int, width: int, count: int = 1, words: int = 0) -> Parts:
    """Two convolutions, each after a norm, and a matrix around them where the width changes."""
    yield from _norm(f"{name}.norm1", before, count, words)
    yield from linear(f"{name}.conv1", width, 9 * before, count)
    yield from _norm(f"{name}.norm2", width, count, words)
    yield from linear(f"{name}.conv2", width, 9 * width, count)
    if before != width:
        yield from linear(f"{name}.nin_shortcut", width, before, count)


def _attention(name: str, width: int, count: int = 1, words: int = 0) -> Parts:
    yield from _norm(f"{name}.norm", width, count, words)
    yield from linear(f"{name}.qkv_and_out", 4 * width, width, count)


def _norm(name: str, width: int, count: int, words: int) -> Parts:
    """A norm, scaled and shifted by the *words* at its place where there are any."""
    yield from norm(name, width, count)
    if words:
        yield from linear(f"{name}.by_words", 2 * width, words, count)


def _over_time(name: str, width: int, count: int) -> Parts:
    yield from norm(f"{name}.time_res_stack.norms", width, 2 * count)
    yield from linear(f"{name}.time_res_stack.convs", width, 27 * width, 2 * count)
