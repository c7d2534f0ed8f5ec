"""Zamba and Zamba2: a few layers send their input, beside the embedding, through one transformer block before Mamba.

The block's weights exist once (Zamba2 may alternate between ``num_mem_blocks`` of them); every layer that uses it keeps
keys and values of its own. Sources: arXiv:2405.16712, arXiv:2411.15242.
"""

from collections.abc import Iterator

from planner.architecture import Tensor
from planner.readers.decoder import Decoder
from planner.readers.feed_forward import mlp
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.attention import attention_tensors


def shared_block_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """The block where a layer is the first to use it, and what each such layer has of its own."""
    hidden, intermediate = decoder.hidden_size, plan.intermediate_size or 4 * decoder.hidden_size
    if not plan.repeats_weights:
        yield from attention_tensors(decoder, plan)
        yield from mlp(decoder, "feed_forward", intermediate, decoder.is_on(decoder.structure.mlp_bias))
        yield from decoder.norm("shared_transformer.input_layernorm", 2 * hidden)
        yield from decoder.norm("shared_transformer.pre_ff_layernorm", hidden)
    yield decoder.matrix("linear", hidden, hidden)
    rank = decoder.values.optional_integer("adapter_rank")
    if rank is not None:
        yield from _adapter(decoder, "feed_forward.gate_up_proj", rank, hidden, 2 * intermediate)
        if decoder.values.flag("use_shared_attention_adapter"):
            for name in ("q", "k", "v"):
                yield from _adapter(decoder, f"self_attn.linear_{name}", rank, 2 * hidden, 2 * hidden)


def _adapter(decoder: Decoder, name: str, rank: int, columns: int, rows: int) -> Iterator[Tensor]:
    yield decoder.matrix(f"{name}_adapter.0", rank, columns)
    yield decoder.matrix(f"{name}_adapter.1", rows, rank)
