"""LongCat-Flash: two attentions and two dense parts in one layer, and experts on a shortcut around the second half.

Source: arXiv:2509.01322; transformers 5.24, models/longcat_flash/modeling_longcat_flash.py.
"""

from collections.abc import Iterator
from dataclasses import replace

from planner.architecture import Tensor
from planner.readers.decoder import Decoder
from planner.readers.feed_forward import mlp
from planner.readers.layer_plan import LayerPlan
from planner.readers.mixers.attention import latent_tensors


def twice_latent_tensors(decoder: Decoder, plan: LayerPlan) -> Iterator[Tensor]:
    """Both attentions and both dense parts; the experts are the layer's feed-forward part."""
    size = plan.intermediate_size or decoder.values.integer("intermediate_size")
    for half in range(2):
        for tensor in latent_tensors(decoder, plan):
            yield replace(tensor, name=tensor.name.replace("self_attn", f"self_attn.{half}"))
        yield from mlp(decoder, f"mlps.{half}", size, decoder.is_on(decoder.structure.mlp_bias))
