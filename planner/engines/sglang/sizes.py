"""What one layer keeps of a token or a request in SGLang, on one rank."""

from dataclasses import replace

from planner.architecture import (
    Architecture,
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Mixer,
    Recurrence,
    SharedCache,
    StateTensor,
    distinct_layers,
)
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.split import heads_on_rank
from planner.errors import PlannerError

CONV = "conv"
_SIXTEEN_BIT_BYTES = 2


def with_own_caches(architecture: Architecture) -> Architecture:
    """Layers that read another's cache have memory for one all the same, as large as that of the layer they read.

    It is the last one of their kind that keeps its own, else the last of all. Source: the pools that
    python/sglang/srt/model_executor/model_runner.py makes for every layer of the config; 997,846 tokens of Gemma-4-E4B
    in 79.94 GiB, 42 layers.
    """
    latest: dict[str, tuple[Mixer, ...]] = {}
    own: tuple[Mixer, ...] = ()
    layers = []
    for layer in architecture.layers:
        shares = any(isinstance(mixer, SharedCache) for mixer in layer.mixers)
        if not shares:
            latest[layer.kind] = own = layer.mixers
        layers.append(replace(layer, mixers=latest.get(layer.kind, own)) if shares else layer)
    return replace(architecture, layers=tuple(layers))


def token_bytes(mixer: Mixer, deployment: Deployment, is_sparse: bool) -> int:
    """Bytes of one token in one layer on this rank; latent vectors are whole on every rank.

    *is_sparse*: layers of the model have an indexer; all of them keep latents as it wants them then, and have memory
    for its keys.
    """
    number_format = deployment.kv_cache_k
    match mixer:
        case Attention():
            heads = heads_on_rank(mixer.num_key_value_heads, deployment.tensor_parallel, "SGLang")
            return heads * (number_format.bytes_for(mixer.head_dim) + number_format.bytes_for(mixer.v_head_dim))
        case LatentAttention() if mixer.window_tokens is None:
            return _latent_bytes(mixer, deployment, is_sparse)
        case _:
            raise PlannerError(_unknown(mixer))


def _latent_bytes(latent: LatentAttention, deployment: Deployment, is_sparse: bool) -> int:
    """Source: python/sglang/srt/mem_cache/memory_pool.py, DSATokenToKVPool: a buffer of an indexer in every layer."""
    settings, number_format = deployment.settings, deployment.kv_cache_k
    plain = number_format.bytes_for(latent.kv_lora_rank + latent.qk_rope_head_dim)
    if not is_sparse:
        return plain
    if settings.rule("indexer_token_bytes") is None:
        raise PlannerError(f"SGLang {settings.version} has no sparse attention; ask for 0.5.3 or later.")
    is_byte = number_format.bytes_for(1) == 1
    latent_bytes: int = settings.rule("sparse_latent_fp8_token_bytes") if is_byte else plain
    return latent_bytes + int(settings.rule("indexer_token_bytes"))


def state_parts(rank: Rank, deployment: Deployment) -> tuple[int, int]:
    """Bytes of one state of all layers: its convolutions, and the rest."""
    conv = rest = 0
    for layer, count in distinct_layers(rank.layers):
        for mixer in layer.mixers:
            if isinstance(mixer, Recurrence):
                kept = tuple(state for state in mixer.states if state.name == CONV)
                own = count * recurrence_bytes(replace(mixer, states=kept), deployment)
                conv, rest = conv + own, rest + count * recurrence_bytes(mixer, deployment) - own
    return conv, rest


def recurrence_bytes(recurrence: Recurrence, deployment: Deployment) -> int:
    """One request's state of one layer: convolutions in 16 bits, the rest as set, else as the model's file says."""
    return sum(
        -(-state.rows // deployment.tensor_parallel) * state.columns * _element_bytes(state, deployment)
        for state in recurrence.states
    )


def _element_bytes(state: StateTensor, deployment: Deployment) -> int:
    if state.name == CONV:
        return _SIXTEEN_BIT_BYTES
    chosen = deployment.settings.text("mamba_ssm_dtype")
    if chosen is not None:
        return 4 if chosen == "float32" else _SIXTEEN_BIT_BYTES
    default: int = deployment.settings.rule("state_bytes_default")
    return default if state.format is None else state.format.bytes_for(1)


def _unknown(mixer: Mixer) -> str:
    match mixer:
        case CompressedAttention() | LatentAttention():
            what = "compressed caches and latent attention with a window"
        case CrossAttention():
            what = "images' keys"
        case _:
            what = type(mixer).__name__
    return f"How SGLang keeps {what} is not known here: plan with engine minimum or transformers."
