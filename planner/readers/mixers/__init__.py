"""What each kind of layer caches and weighs: one rule a kind, its module imported when a model has such a layer."""

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module

from planner.architecture import Mixer, Tensor
from planner.readers.attention_kinds import CHUNKED, CROSS, LATENT, SLIDING, SPARSE
from planner.readers.decoder import Decoder
from planner.readers.layer_plan import LayerPlan
from planner.readers.layer_words import FULL
from planner.readers.layout import (
    ATTENTION_AND_MAMBA2,
    COMPRESSED_CONVOLUTIONAL,
    CONVOLVED,
    EXPERT_ATTENTION,
    FILTERED,
    KEY_VALUE_CONVOLVED,
    LIGHTNING,
    LOW_RANK_MAMBA2,
    REFERENCE,
    SHARED_AND_MAMBA,
    SHARED_AND_MAMBA2,
    TWICE_LATENT,
    UNROTATED_LATENT,
    WINDOWED_COMPRESSED_CONVOLUTIONAL,
    WINDOWED_CONVOLVED,
    WINDOWED_KEY,
    WINDOWED_KEY_VALUE_CONVOLVED,
    WINDOWED_LATENT,
)
from planner.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerRule:
    """How the token mixer of one kind of layer is built: *mixers* what it keeps, *tensors* what it weighs."""

    mixers: Callable[[Decoder, LayerPlan], tuple[Mixer, ...]]
    tensors: Callable[[Decoder, LayerPlan], Iterator[Tensor]]


_Names = tuple[str, str, str]
"""A module of this package, and its functions for what a mixer keeps and weighs; ``""`` for one without."""

_STANDARD = ("attention", "attention", "attention_tensors")
_SHARED = (("attention", "attention", ""), ("shared_block", "", "shared_block_tensors"))
_CONVOLVED = ("convolved_attention", "convolved", "convolved_tensors")
_KEY_VALUE_CONVOLVED = ("convolved_attention", "key_value_convolved", "key_value_convolved_tensors")
_COMPRESSED = ("convolved_attention", "compressed_convolutional", "compressed_convolutional_tensors")
_MAMBA = ("state_space", "mamba", "mamba_tensors")
_MAMBA2 = ("state_space", "mamba2", "mamba2_tensors")

MIXERS: dict[str, tuple[_Names, ...]] = {
    FULL: (_STANDARD,),
    SLIDING: (_STANDARD,),
    CHUNKED: (_STANDARD,),
    REFERENCE: (("attention", "reference_attention", "attention_tensors"),),
    SPARSE: (("attention", "sparse_attention", "sparse_tensors"),),
    CROSS: (("attention", "cross_attention", "cross_tensors"),),
    FILTERED: (_STANDARD, ("localized_filtering", "localized_filter", "localized_filter_tensors")),
    CONVOLVED: (_CONVOLVED,),
    WINDOWED_CONVOLVED: (_CONVOLVED,),
    KEY_VALUE_CONVOLVED: (_KEY_VALUE_CONVOLVED,),
    WINDOWED_KEY_VALUE_CONVOLVED: (_KEY_VALUE_CONVOLVED,),
    COMPRESSED_CONVOLUTIONAL: (_COMPRESSED,),
    WINDOWED_COMPRESSED_CONVOLUTIONAL: (_COMPRESSED,),
    EXPERT_ATTENTION: (("attention", "attention", ""), ("expert_attention", "", "expert_attention_tensors")),
    LATENT: (("attention", "latent_attention", "latent_tensors"),),
    WINDOWED_LATENT: (("attention", "latent_attention", "latent_tensors"),),
    UNROTATED_LATENT: (("attention", "latent_attention", "latent_tensors"),),
    TWICE_LATENT: (*(("attention", "latent_attention", ""),) * 2, ("shortcut", "", "twice_latent_tensors")),
    WINDOWED_KEY: (("compressed_attention", "windowed_key", "windowed_key_tensors"),),
    "heavily_compressed_attention": (("compressed_attention", "heavily_compressed", "heavily_compressed_tensors"),),
    "compressed_sparse_attention": (("compressed_attention", "compressed_sparse", "compressed_sparse_tensors"),),
    LIGHTNING: (("linear_attention", "lightning_attention", "lightning_tensors"),),
    "mamba": (_MAMBA,),
    "mamba2": (_MAMBA2,),
    LOW_RANK_MAMBA2: (("state_space", "mamba2", "low_rank_mamba2_tensors"),),
    ATTENTION_AND_MAMBA2: (_STANDARD, _MAMBA2),
    SHARED_AND_MAMBA: (*_SHARED, _MAMBA),
    SHARED_AND_MAMBA2: (*_SHARED, _MAMBA2),
    "gated_delta_net": (("linear_attention", "gated_delta_net", "gated_delta_net_tensors"),),
    "gated_delta_net_and_ngrams": (
        ("linear_attention", "gated_delta_net", "gated_delta_net_tensors"),
        ("ngram_memory", "ngram_state", "ngram_tensors"),
    ),
    "kimi_delta_attention": (("linear_attention", "kimi_delta_attention", "kimi_delta_tensors"),),
    "short_convolution": (("short_convolution", "short_convolution", "short_convolution_tensors"),),
    "rg_lru": (("gated_recurrence", "gated_recurrence", "gated_recurrence_tensors"),),
    "rwkv": (("rwkv", "rwkv", "rwkv_tensors"),),
    "rwkv7": (("rwkv", "rwkv7", "rwkv7_tensors"),),
    "rwkv7_first": (("rwkv", "rwkv7", "rwkv7_tensors"),),
    "mlstm": (("xlstm", "mlstm", "mlstm_tensors"),),
    "linear": (("attention", "", "linear_tensors"),),
    "none": (),
}
"""The mixers that run side by side in a layer of each kind."""


@cache
def mixer_rule(kind: str) -> MixerRule:
    """The rule of *kind*, a key of ``MIXERS``; several mixers in one layer each add what they keep and weigh."""
    parts = [(import_module(f"{__name__}.{module}"), keeps, weighs) for module, keeps, weighs in MIXERS[kind]]
    keep = [getattr(module, name) for module, name, _ in parts if name]
    weigh = [getattr(module, name) for module, _, name in parts if name]
    return MixerRule(
        mixers=lambda decoder, plan: tuple(mixer for rule in keep for mixer in rule(decoder, plan)),
        tensors=lambda decoder, plan: (tensor for rule in weigh for tensor in rule(decoder, plan)),
    )
