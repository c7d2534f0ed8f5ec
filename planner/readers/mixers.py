"""What each kind of layer caches and weighs: one rule a kind."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planner.architecture import Mixer, Tensor
from planner.readers.attention import (
    attention,
    attention_tensors,
    cross_attention,
    cross_tensors,
    latent_attention,
    latent_tensors,
    linear_tensors,
    sparse_attention,
    sparse_tensors,
)
from planner.readers.attention_kinds import CHUNKED, CROSS, LATENT, SLIDING, SPARSE
from planner.readers.compressed_attention import (
    compressed_sparse,
    compressed_sparse_tensors,
    heavily_compressed,
    heavily_compressed_tensors,
    windowed_key,
    windowed_key_tensors,
)
from planner.readers.decoder import Decoder
from planner.readers.gated_recurrence import gated_recurrence, gated_recurrence_tensors
from planner.readers.layer_words import FULL
from planner.readers.layout import (
    ATTENTION_AND_MAMBA2,
    LIGHTNING,
    SHARED_AND_MAMBA,
    SHARED_AND_MAMBA2,
    WINDOWED_KEY,
    LayerPlan,
)
from planner.readers.linear_attention import (
    gated_delta_net,
    gated_delta_net_tensors,
    kimi_delta_attention,
    kimi_delta_tensors,
    lightning_attention,
    lightning_tensors,
)
from planner.readers.rwkv import rwkv, rwkv_tensors
from planner.readers.shared_block import shared_block_tensors
from planner.readers.short_convolution import short_convolution, short_convolution_tensors
from planner.readers.state_space import mamba, mamba2, mamba2_tensors, mamba_tensors
from planner.readers.xlstm import mlstm, mlstm_tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerRule:
    """How the token mixer of one kind of layer is built: *mixers* what it keeps, *tensors* what it weighs."""

    mixers: Callable[[Decoder, LayerPlan], tuple[Mixer, ...]]
    tensors: Callable[[Decoder, LayerPlan], Iterator[Tensor]]


def _side_by_side(*rules: MixerRule) -> MixerRule:
    """Several mixers in one layer, each with what it keeps and weighs."""
    return MixerRule(
        mixers=lambda decoder, plan: tuple(mixer for rule in rules for mixer in rule.mixers(decoder, plan)),
        tensors=lambda decoder, plan: (tensor for rule in rules for tensor in rule.tensors(decoder, plan)),
    )


_STANDARD = MixerRule(mixers=attention, tensors=attention_tensors)
_SHARED = MixerRule(mixers=attention, tensors=shared_block_tensors)
_MAMBA = MixerRule(mixers=mamba, tensors=mamba_tensors)
_MAMBA2 = MixerRule(mixers=mamba2, tensors=mamba2_tensors)

MIXERS: dict[str, MixerRule] = {
    FULL: _STANDARD,
    SLIDING: _STANDARD,
    CHUNKED: _STANDARD,
    SPARSE: MixerRule(mixers=sparse_attention, tensors=sparse_tensors),
    CROSS: MixerRule(mixers=cross_attention, tensors=cross_tensors),
    LATENT: MixerRule(mixers=latent_attention, tensors=latent_tensors),
    WINDOWED_KEY: MixerRule(mixers=windowed_key, tensors=windowed_key_tensors),
    "heavily_compressed_attention": MixerRule(mixers=heavily_compressed, tensors=heavily_compressed_tensors),
    "compressed_sparse_attention": MixerRule(mixers=compressed_sparse, tensors=compressed_sparse_tensors),
    LIGHTNING: MixerRule(mixers=lightning_attention, tensors=lightning_tensors),
    "mamba": _MAMBA,
    "mamba2": _MAMBA2,
    ATTENTION_AND_MAMBA2: _side_by_side(_STANDARD, _MAMBA2),
    SHARED_AND_MAMBA: _side_by_side(_SHARED, _MAMBA),
    SHARED_AND_MAMBA2: _side_by_side(_SHARED, _MAMBA2),
    "gated_delta_net": MixerRule(mixers=gated_delta_net, tensors=gated_delta_net_tensors),
    "kimi_delta_attention": MixerRule(mixers=kimi_delta_attention, tensors=kimi_delta_tensors),
    "short_convolution": MixerRule(mixers=short_convolution, tensors=short_convolution_tensors),
    "rg_lru": MixerRule(mixers=gated_recurrence, tensors=gated_recurrence_tensors),
    "rwkv": MixerRule(mixers=rwkv, tensors=rwkv_tensors),
    "mlstm": MixerRule(mixers=mlstm, tensors=mlstm_tensors),
    "linear": MixerRule(mixers=lambda decoder, plan: (), tensors=linear_tensors),
    "none": MixerRule(mixers=lambda decoder, plan: (), tensors=lambda decoder, plan: iter(())),
}
