"""Layers of models by hand: what they cache, not what they weigh; where a test wants no preset, or there is none."""

from planner.architecture import Architecture, Attention, LatentAttention, Layer, Mixer, Recurrence, StateTensor
from tests.builders import FP32, attention, model


def gated_delta_net(key_heads: int, value_heads: int, width: int = 128, kernel: int = 4) -> Recurrence:
    channels = (2 * key_heads + value_heads) * width
    states = (
        StateTensor(name="conv", rows=channels, columns=kernel - 1),
        StateTensor(name="recurrent", rows=value_heads, columns=width * width, format=FP32),
    )
    return Recurrence(kind="gated_delta_net", states=states)


def kimi_delta_attention(heads: int, width: int = 128, kernel: int = 4) -> Recurrence:
    states = (
        StateTensor(name="conv", rows=3 * heads * width, columns=kernel - 1),
        StateTensor(name="recurrent", rows=heads, columns=width * width, format=FP32),
    )
    return Recurrence(kind="kimi_delta_attention", states=states)


def mamba2(heads: int, head_dim: int, state_size: int, groups: int, kernel: int = 4) -> Recurrence:
    states = (
        StateTensor(name="conv", rows=heads * head_dim + 2 * groups * state_size, columns=kernel - 1),
        StateTensor(name="recurrent", rows=heads, columns=head_dim * state_size, format=FP32),
    )
    return Recurrence(kind="mamba2", states=states)


def mixed(*parts: tuple[int, tuple[Mixer, ...]], drafts: Mixer | None = None) -> Architecture:
    """So many layers of each kind; groups do not depend on their order."""
    layers = [layer for count, mixers in parts for layer in [Layer(kind="shape", mixers=mixers, tensors=())] * count]
    found = model(*layers, limit=None)
    if drafts is None:
        return found
    return Architecture(
        **{name: getattr(found, name) for name in found.__slots__ if name != "mtp_layers"},
        mtp_layers=(Layer(kind="mtp", mixers=(drafts,), tensors=()),),
    )


def full(heads: int, head_dim: int) -> Attention:
    return attention(2 * heads, heads, head_dim)


def latent(rank: int, rotary: int) -> LatentAttention:
    return LatentAttention(num_attention_heads=32, kv_lora_rank=rank, qk_rope_head_dim=rotary)


def shape(name: str) -> Architecture:
    """The model called *name*; KeyError for one that is not here."""
    return {
        "gdn-27b": mixed((16, (full(4, 256),)), (48, (gated_delta_net(16, 48),)), drafts=full(4, 256)),
        "gdn-35b-a3b": mixed((10, (full(2, 256),)), (30, (gated_delta_net(16, 32),)), drafts=full(2, 256)),
        "gdn-92-layers": mixed((23, (full(4, 256),)), (69, (gated_delta_net(16, 128),))),
        "qwen3.5-0.8b": mixed((6, (full(2, 256),)), (18, (gated_delta_net(16, 16),))),
        "qwen3.5-9b": mixed((8, (full(4, 256),)), (24, (gated_delta_net(16, 32),))),
        "granite-4.0-h-1b": mixed((4, (full(4, 128),)), (36, (mamba2(48, 64, 128, 1),))),
        "falcon-h1-3b": mixed((32, (full(2, 128), mamba2(32, 128, 256, 1)))),
        "kimi-linear-48b": mixed((7, (latent(512, 64),)), (20, (kimi_delta_attention(32),))),
        "gemma-3-1b": mixed((4, (full(1, 256),)), (22, (attention(4, 1, 256, window_tokens=512),))),
        "2-latent-layers": mixed((2, (latent(512, 64),))),
        "28-layers-16-heads": mixed((28, (full(16, 128),))),
        "32-layers-16-heads": mixed((32, (full(16, 128),))),
        "32-layers-8-heads": mixed((32, (full(8, 128),))),
        "36-layers-8-heads": mixed((36, (full(8, 128),))),
        "65-layers-8-heads": mixed((65, (full(8, 128),))),
    }[name]
