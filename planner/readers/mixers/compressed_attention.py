"""DeepSeek-V4: one key that is its own value, kept token by token in a window and as one entry a block beyond it.

Layers without compression see their window alone. ``heavily_compressed_attention`` reads every entry of long blocks;
``compressed_sparse_attention`` has short, overlapping blocks and an indexer that picks among them.
Source: transformers 5.24, models/deepseek_v4/modeling_deepseek_v4.py.
"""

from collections.abc import Iterator

from planner.architecture import Mixer, Tensor
from planner.formats import Role
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.compressed_caches import long_blocks, overlapping_blocks, window


def windowed_key(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """The window: one vector a token for all heads, part of which is rotated."""
    values = decoder.values
    head_dim, rotary = values.integer("head_dim"), values.integer("qk_rope_head_dim", minimum=0)
    if rotary > head_dim:
        raise values.wrong("qk_rope_head_dim", rotary, f"at most head_dim, {head_dim}")
    heads = values.integer("num_attention_heads")
    return (window(heads, head_dim, rotary, values.integer("sliding_window")),)


def heavily_compressed(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    head_dim, block = decoder.values.integer("head_dim"), decoder.values.integer("compress_rate_hca")
    return (*windowed_key(decoder, plan), *long_blocks(head_dim, block))


def compressed_sparse(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    values = decoder.values
    blocks = overlapping_blocks(
        values.integer("head_dim"),
        values.integer("index_head_dim"),
        values.integer("compress_rate_csa"),
        decoder.formats["fp32"],
    )
    return (*windowed_key(decoder, plan), *blocks)


def windowed_key_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Queries through a low rank, one key, and an output projection by groups of heads."""
    values, hidden = decoder.values, decoder.hidden_size
    heads, head_dim = values.integer("num_attention_heads"), values.integer("head_dim")
    rank, groups = values.integer("q_lora_rank"), values.integer("o_groups")
    out_rank = groups * values.integer("o_lora_rank")
    yield decoder.matrix("self_attn.q_a_proj", rank, hidden, replicated=True)
    yield from decoder.norm("self_attn.q_a_norm", rank)
    yield decoder.matrix("self_attn.q_b_proj", heads * head_dim, rank)
    yield decoder.matrix("self_attn.kv_proj", head_dim, hidden, replicated=True)
    yield from decoder.norm("self_attn.kv_norm", head_dim)
    yield decoder.matrix("self_attn.o_a_proj", out_rank, heads * head_dim // groups)
    yield decoder.matrix("self_attn.o_b_proj", hidden, out_rank)
    yield decoder.vector("self_attn.sinks", heads, role=Role.BIAS)


def heavily_compressed_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    head_dim, block = decoder.values.integer("head_dim"), decoder.values.integer("compress_rate_hca")
    yield from windowed_key_tensors(decoder, plan)
    yield from _compressor(decoder, "self_attn.compressor", head_dim, head_dim, block)


def compressed_sparse_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    values = decoder.values
    head_dim, index_dim = values.integer("head_dim"), values.integer("index_head_dim")
    block, index_heads = values.integer("compress_rate_csa"), values.integer("index_n_heads")
    prefix = "self_attn.compressor.indexer"
    yield from windowed_key_tensors(decoder, plan)
    yield from _compressor(decoder, "self_attn.compressor", 2 * head_dim, head_dim, block)
    yield from _compressor(decoder, prefix, 2 * index_dim, index_dim, block)
    yield decoder.matrix(f"{prefix}.q_b_proj", index_heads * index_dim, values.integer("q_lora_rank"), replicated=True)
    yield decoder.matrix(f"{prefix}.weights_proj", index_heads, decoder.hidden_size, replicated=True)


def _compressor(decoder: Decoder, prefix: str, width: int, entry: int, block: int) -> Iterator[Tensor]:
    for name in ("kv_proj", "gate_proj"):
        yield decoder.matrix(f"{prefix}.{name}", width, decoder.hidden_size, replicated=True)
    yield Tensor(
        name=f"{prefix}.position_bias",
        role=Role.STATE,
        rows=block,
        columns=width,
        stored=decoder.stored,
        replicated=True,
    )
    yield from decoder.norm(f"{prefix}.kv_norm", entry)
