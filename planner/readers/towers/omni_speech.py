"""What turns Qwen3-Omni's text into speech: a talker with experts, a predictor of its finer codes, and a vocoder."""

from planner.readers.towers.parts import Parts, attention, gated, linear, norm, two_layers
from planner.readers.values import Values


def talker(tower: Values, top: Values, text_size: int) -> Parts:
    """A decoder with experts over the first codes of a sound, and a small one over the others, a head for each."""
    text, finer = (
        Values(tower.table(config) or {}, tower.model_type, defaults=tower.table(defaults) or {})
        for config, defaults in (("text_config", "text"), ("code_predictor_config", "finer"))
    )
    hidden, count, seen = text.integer("hidden_size"), text.integer("num_hidden_layers"), tower.integer("seen")
    experts, shared = text.integer("num_experts"), text.integer("shared_expert_intermediate_size")
    yield from _decoder("talker", text, hidden // text.integer("num_attention_heads"))
    yield from linear("talker.mlp.gate", experts, hidden, count, bias=False)
    yield from gated("talker.mlp.experts", hidden, text.integer("moe_intermediate_size"), count * experts, bias=False)
    yield from gated("talker.mlp.shared_expert", hidden, shared, count, bias=False)
    yield "talker.mlp.shared_expert_gate", 1, hidden, count
    yield "talker.codec_embedding_and_head", 2 * text.integer("vocab_size"), hidden, 1
    for name in ("text_projection", "hidden_projection"):
        yield from two_layers(f"talker.{name}", seen, text.integer("intermediate_size"), hidden)
    width, others = finer.integer("hidden_size"), finer.integer("num_code_groups") - 1
    yield from _decoder("code_predictor", finer, finer.integer("head_dim"))
    yield from gated(
        "code_predictor.mlp", width, finer.integer("intermediate_size"), finer.integer("num_hidden_layers"), bias=False
    )
    yield "code_predictor.embeddings_and_heads", 2 * finer.integer("vocab_size"), width, others


def _decoder(name: str, text: Values, head_dim: int) -> Parts:
    """Grouped attention with normed queries and keys, and the norms of every layer and the last."""
    hidden, count = text.integer("hidden_size"), text.integer("num_hidden_layers")
    width, kept = text.integer("num_attention_heads") * head_dim, text.integer("num_key_value_heads") * head_dim
    for projection, rows in (("q_proj", width), ("k_proj", kept), ("v_proj", kept)):
        yield from linear(f"{name}.self_attn.{projection}", rows, hidden, count, bias=False)
    yield from linear(f"{name}.self_attn.o_proj", hidden, width, count, bias=False)
    yield f"{name}.self_attn.qk_norms", 2, head_dim, count
    yield f"{name}.norms", 2 * count + 1, hidden, 1


def code2wav(tower: Values, top: Values, text_size: int) -> Parts:
    """Layers over codes, upsampling with ConvNeXt blocks, and stages that halve the channels up to samples."""
    hidden, count = tower.integer("hidden_size"), tower.integer("num_hidden_layers")
    yield "code_embedding.weight", tower.integer("codebook_size") * tower.integer("num_quantizers"), hidden, 1
    kept = tower.integer("num_key_value_heads") * (hidden // tower.integer("num_attention_heads"))
    yield from attention("pre_transformer.self_attn", hidden, count, qkv_bias=False, out_bias=False, kv=kept)
    yield from gated("pre_transformer.mlp", hidden, tower.integer("intermediate_size"), count, bias=False)
    yield "pre_transformer.norms_and_scales", 4 * count + 1, hidden, 1
    for ratio in tower.integers("upsampling_ratios", minimum=1):
        yield from linear("upsample.conv", hidden, hidden * ratio)
        yield from linear("upsample.dwconv", hidden, 7)
        yield from norm("upsample.norm", hidden)
        yield from two_layers("upsample.pwconv", hidden, 4 * hidden, hidden)
        yield "upsample.gamma", 1, hidden, 1
    channels = tower.integer("decoder_dim")
    yield from linear("decoder.conv_in", channels, 7 * hidden)
    for rate in tower.integers("upsample_rates", minimum=1):
        yield "decoder.snake", 2, channels, 1
        yield "decoder.upsample.weight", channels, channels // 2 * 2 * rate, 1
        channels //= 2
        yield "decoder.upsample.bias", 1, channels, 1
        yield from linear("decoder.units.conv1", channels, 7 * channels, 3)
        yield from linear("decoder.units.conv2", channels, channels, 3)
        yield "decoder.units.snakes", 4, channels, 3
    yield "decoder.snake_out", 2, channels, 1
    yield from linear("decoder.conv_out", 1, 7 * channels)
