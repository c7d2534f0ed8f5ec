"""The attention part of a layer: what it caches and what it weighs."""

from collections.abc import Iterator
from dataclasses import replace

from planner.architecture import Attention, CrossAttention, LatentAttention, Mixer, SharedCache, Tensor
from planner.formats import Role
from planner.readers.attention_kinds import CHUNKED
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.layer_words import FULL
from planner.readers.layout import UNROTATED_LATENT


def attention(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Keys and values of every token, or of those in the window; nothing where another layer's are read."""
    if plan.shares_cache:
        return (SharedCache(),)
    mixer = Attention(
        num_attention_heads=plan.num_attention_heads,
        num_key_value_heads=plan.num_key_value_heads,
        head_dim=plan.head_dim,
        v_head_dim=plan.v_head_dim,
        window_tokens=plan.window_tokens,
        window_kind="chunked" if plan.kind == CHUNKED else "sliding",
    )
    return (mixer,)


def reference_attention(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """The whole prompt, and a window of what is written: Unlimited-OCR."""
    return tuple(
        replace(mixer, window_kind="reference") for mixer in attention(decoder, plan) if isinstance(mixer, Attention)
    )


def latent_attention(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """One compressed vector and rotary key a token."""
    values = decoder.values
    mixer = LatentAttention(
        num_attention_heads=plan.num_attention_heads,
        kv_lora_rank=plan.kv_lora_rank or values.integer("kv_lora_rank"),
        qk_rope_head_dim=_rotary_and_other(decoder, plan)[0],
        index_head_dim=_index_width(decoder) if plan.has_indexer else 0,
        index_format=decoder.formats["fp32"] if decoder.is_on(decoder.structure.index_in_fp32) else None,
        window_tokens=plan.window_tokens,
    )
    return (mixer,)


def _index_width(decoder: Decoder) -> int:
    """What the indexer keeps of a token: its key and, where it pools keys, the key's weights and a flag (GLM-5.3)."""
    head_dim = decoder.values.integer("index_head_dim")
    return head_dim if decoder.values.optional_integer("index_kpool") is None else 2 * head_dim + 1


def _input_width(decoder: Decoder) -> int:
    """The hidden states that attention reads side by side; a file that has another width for them is refused."""
    width = decoder.structure.attention_inputs * decoder.hidden_size
    key = "attention_hidden_size"
    if decoder.structure.attention_inputs > 1 and decoder.values.optional_integer(key) not in (None, width):
        raise decoder.values.wrong(key, decoder.values.get(key), f"{width}: the embedding beside the layer's input")
    return width


def attention_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """The projections, norms and biases of multi-head attention and its kin."""
    structure, heads = decoder.structure, plan.num_attention_heads
    hidden = _input_width(decoder)
    key_value_heads = 0 if plan.shares_cache else plan.num_key_value_heads
    bias = decoder.is_on(structure.qkv_bias)
    gated = 2 if decoder.is_on(structure.output_gate) else 1
    yield from _queries(decoder, gated * heads * plan.head_dim, hidden, bias)
    if key_value_heads:
        yield from decoder.linear(
            "self_attn.k_proj", key_value_heads * plan.head_dim, hidden, bias, heads=key_value_heads
        )
        if plan.kind != FULL or not decoder.is_on(structure.keys_as_values):
            yield from decoder.linear(
                "self_attn.v_proj", key_value_heads * plan.v_head_dim, hidden, bias, heads=key_value_heads
            )
    yield from decoder.linear(
        "self_attn.o_proj", decoder.hidden_size, heads * plan.v_head_dim, decoder.is_on(structure.o_bias)
    )
    if decoder.is_on(structure.qk_norm):
        wide = structure.qk_norm_width == "all"
        yield from decoder.norm("self_attn.q_norm", plan.head_dim * (heads if wide else 1), structure.qk_norm_bias)
        if key_value_heads:
            size = plan.head_dim * (key_value_heads if wide else 1)
            yield from decoder.norm("self_attn.k_norm", size, structure.qk_norm_bias)
    yield from _sinks(decoder, plan)


def _queries(decoder: Decoder, rows: int, hidden: int, bias: bool) -> Iterator[Tensor]:
    """One projection, or two through ``query_rank``: multi-matrix factorisation, Step-3, arXiv:2507.19427."""
    rank = decoder.values.optional_integer("query_rank")
    if rank is None:
        yield from decoder.linear("self_attn.q_proj", rows, hidden, bias)
        return
    yield from decoder.linear("self_attn.q_a_proj", rank, hidden, bias, replicated=True)
    yield from decoder.norm("self_attn.q_a_layernorm", rank)
    yield decoder.matrix("self_attn.q_b_proj", rows, rank)


def linear_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """One projection in place of attention: Nemotron-NAS."""
    yield decoder.matrix("self_attn.linear_attn", decoder.hidden_size, decoder.hidden_size)


def cross_attention(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Keys and values of one image in as many tiles as it may have: every tile's patches and one token for the tile."""
    values = decoder.values
    patches = (values.integer("image_size") // values.integer("patch_size")) ** 2
    mixer = CrossAttention(
        num_attention_heads=plan.num_attention_heads,
        num_key_value_heads=plan.num_key_value_heads,
        head_dim=plan.head_dim,
        tokens=values.integer("max_num_tiles") * (patches + 1),
    )
    return (mixer,)


def cross_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Attention from the text to an image: Llama 3.2 Vision, with a gate for each residual."""
    yield from attention_tensors(decoder, plan)
    yield from decoder.norm("cross_attn.q_norm", plan.head_dim)
    yield from decoder.norm("cross_attn.k_norm", plan.head_dim)
    yield decoder.vector("cross_attn_gates", 2, role=Role.BIAS)


def sparse_attention(decoder: Decoder, plan: LayerPlan) -> tuple[Mixer, ...]:
    """Attention to chosen blocks: all keys and values are kept, and an index key without a value: MiniMax-M3."""
    index = Attention(
        num_attention_heads=decoder.values.integer("index_n_heads"),
        num_key_value_heads=1,
        head_dim=decoder.values.integer("index_head_dim"),
        v_head_dim=0,
    )
    return (*attention(decoder, plan), index)


def sparse_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Multi-head attention and the index that chooses its blocks."""
    yield from attention_tensors(decoder, plan)
    heads, head_dim = decoder.values.integer("index_n_heads"), decoder.values.integer("index_head_dim")
    yield decoder.matrix("self_attn.index_q_proj", heads * head_dim, decoder.hidden_size)
    yield decoder.matrix("self_attn.index_k_proj", head_dim, decoder.hidden_size, replicated=True)
    yield from decoder.norm("self_attn.index_q_norm", head_dim)
    yield from decoder.norm("self_attn.index_k_norm", head_dim)


def latent_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Multi-head latent attention: DeepSeek-V2, arXiv:2405.04434, section 2.1."""
    heads = plan.num_attention_heads
    values, hidden = decoder.values, decoder.hidden_size
    bias = decoder.is_on(decoder.structure.qkv_bias)
    query_rank = values.optional_integer("q_lora_rank")
    rank = plan.kv_lora_rank or values.integer("kv_lora_rank")
    (rope, nope), v_head_dim = _rotary_and_other(decoder, plan), values.integer("v_head_dim")
    if query_rank is None:
        yield decoder.matrix("self_attn.q_proj", heads * (nope + rope), hidden)
    else:
        yield from decoder.linear("self_attn.q_a_proj", query_rank, hidden, bias, replicated=True)
        yield from decoder.norm("self_attn.q_a_layernorm", query_rank)
        yield decoder.matrix("self_attn.q_b_proj", heads * (nope + rope), query_rank)
    yield from decoder.linear("self_attn.kv_a_proj_with_mqa", rank + rope, hidden, bias, replicated=True)
    yield from decoder.norm("self_attn.kv_a_layernorm", rank)
    yield decoder.matrix("self_attn.kv_b_proj", heads * (nope + v_head_dim), rank)
    yield from decoder.linear("self_attn.o_proj", hidden, heads * v_head_dim, decoder.is_on(decoder.structure.o_bias))
    if plan.has_indexer:
        yield from _indexer(decoder)
    yield from _sinks(decoder, plan)


def _rotary_and_other(decoder: Decoder, plan: LayerPlan) -> tuple[int, int]:
    """How much of a latent query turns with the position, and how much does not."""
    values = decoder.values
    rope = values.integer("qk_rope_head_dim", minimum=0)
    nope = plan.qk_nope_head_dim or values.integer("qk_nope_head_dim", minimum=0)
    return (0, nope + rope) if plan.kind == UNROTATED_LATENT else (rope, nope)


def _sinks(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    if decoder.is_on(decoder.structure.sinks):
        yield decoder.vector("self_attn.sinks", plan.num_attention_heads, role=Role.BIAS)


def _indexer(decoder: Decoder) -> Iterator[Tensor]:
    """The sparse-attention indexer of DeepSeek-V3.2: many query heads, one key head."""
    values, hidden = decoder.values, decoder.hidden_size
    heads, head_dim = values.integer("index_n_heads"), values.integer("index_head_dim")
    rank = values.optional_integer("q_lora_rank") or hidden
    yield decoder.matrix("self_attn.indexer.wq_b", heads * head_dim, rank, replicated=True)
    yield decoder.matrix("self_attn.indexer.wk", head_dim, hidden, replicated=True)
    yield from decoder.norm("self_attn.indexer.k_norm", head_dim, True)
    yield decoder.matrix("self_attn.indexer.weights_proj", heads, hidden, replicated=True)
    pool = values.optional_integer("index_kpool")
    if pool is not None:
        yield decoder.matrix("self_attn.indexer.index_kpool_compress_ape", pool, head_dim, replicated=True)
        yield decoder.matrix("self_attn.indexer.index_kpool_compress_gate", head_dim, hidden, replicated=True)
