"""What each kind of layer caches and weighs: one rule a kind."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planner.architecture import Mixer, Tensor
from planner.readers.attention import attention, attention_tensors, latent_attention, latent_tensors
from planner.readers.attention_kinds import CHUNKED, LATENT, SLIDING
from planner.readers.decoder import Decoder
from planner.readers.layer_words import FULL
from planner.readers.layout import LayerPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerRule:
    """How the token mixer of one kind of layer is built: *mixers* what it keeps, *tensors* what it weighs."""

    mixers: Callable[[Decoder, LayerPlan], tuple[Mixer, ...]]
    tensors: Callable[[Decoder, LayerPlan], Iterator[Tensor]]


_STANDARD = MixerRule(mixers=attention, tensors=attention_tensors)

MIXERS: dict[str, MixerRule] = {
    FULL: _STANDARD,
    SLIDING: _STANDARD,
    CHUNKED: _STANDARD,
    LATENT: MixerRule(mixers=latent_attention, tensors=latent_tensors),
}
