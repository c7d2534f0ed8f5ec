"""What one layer keeps on one rank, in pages: one page holds a block of tokens, or a request's recurrent state."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from math import lcm
from typing import Any

from planner.architecture import (
    Attention,
    CompressedAttention,
    CrossAttention,
    LatentAttention,
    Layer,
    Recurrence,
    SharedCache,
    StateTensor,
    distinct_layers,
)
from planner.deployment import Deployment
from planner.engines.split import heads_on_rank
from planner.engines.vllm.options import Options
from planner.errors import PlannerError
from planner.formats import NumberFormat
from planner.records import dataclass
from planner.settings.data import EngineSettings

FULL, SLIDING, CHUNKED, STATE = "full attention", "sliding window", "chunked attention", "state"
INDEXED = "indexed"
DELTA_NET = "gated_delta_net"


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCache:
    """One layer's cache. *page_bytes* is what one block costs; a state's page is one state, whatever *block_tokens*.

    *checkpoints* are blocks that a request keeps of a state while prefixes are cached, beside its usual ones;
    *keeps_all*: mamba_cache_mode = all keeps one for every block.

    Layers with equal caches may share a group.
    """

    kind: str
    block_tokens: int
    page_bytes: int
    window_tokens: int = 0
    checkpoints: int = 0
    keeps_all: bool = False

    @property
    def title(self) -> str:
        return f"{self.kind} {self.window_tokens:,}" if self.window_tokens else self.kind


def layer_caches(layers: Iterable[Layer], deployment: Deployment, chosen: Options) -> Counter[LayerCache]:
    """How many caches of each kind the *layers* have on one tensor-parallel rank.

    Where attention and states are mixed, the block of attention is made so long that its page holds a state:

        block = align · ceil(state bytes / (align · attention bytes per token))

    Source: vllm/platforms/interface.py, _align_hybrid_block_size; vllm/v1/kv_cache_interface.py for the pages.
    """
    settings = deployment.settings
    attention: Counter[tuple[str, int, int]] = Counter()
    states: Counter[int] = Counter()
    recurrences: set[str] = set()
    latent_kinds: set[str] = set()
    for layer, count in distinct_layers(layers):
        for mixer in layer.mixers:
            match mixer:
                case Attention():
                    attention[_kind(mixer), _attention_bytes(mixer, deployment), mixer.window_tokens or 0] += count
                case LatentAttention():
                    width = mixer.kv_lora_rank + mixer.qk_rope_head_dim
                    latent_kinds.add(INDEXED if mixer.index_head_dim else str(width))
                    for token_bytes in _latent_bytes(mixer, deployment):
                        attention[FULL, token_bytes, 0] += count
                case Recurrence():
                    states[_state_bytes(mixer, deployment, chosen)] += count
                    recurrences.add(mixer.kind)
                case SharedCache():
                    pass
                case CompressedAttention() | CrossAttention():
                    raise PlannerError(
                        "How vLLM packs images' keys is not known here: plan with engine minimum or transformers."
                    )
    block = _block_tokens(settings, latent_kinds)
    state_bytes = max(states, default=0)
    if attention and states:
        token_bytes = max(size for _, size, _ in attention)
        delta_net = DELTA_NET in recurrences
        block = max(block, _aligned(state_bytes, token_bytes, _alignment(deployment, latent_kinds, delta_net)))
        state_bytes = block * token_bytes
    caches: Counter[LayerCache] = Counter()
    for (kind, token_bytes, window), count in attention.items():
        caches[LayerCache(kind=kind, block_tokens=block, page_bytes=block * token_bytes, window_tokens=window)] += count
    if states:
        checkpoints = max(settings.rule("state_checkpoints").get(kind, 0) for kind in recurrences)
        kept = LayerCache(
            kind=STATE,
            block_tokens=block,
            page_bytes=state_bytes,
            checkpoints=checkpoints,
            keeps_all=recurrences <= set(settings.rule("all_states_of")),
        )
        caches[kept] += states.total()
    return caches


def without_windows(caches: Counter[LayerCache]) -> Counter[LayerCache]:
    """The same layers when each keeps everything."""
    found: Counter[LayerCache] = Counter()
    for cache, count in caches.items():
        found[replace(cache, kind=FULL, window_tokens=0) if cache.window_tokens else cache] += count
    return found


def in_model_format(layer: Layer) -> Layer:
    """The same layer with recurrent states that have the model's own format."""
    return replace(
        layer,
        mixers=tuple(
            replace(mixer, states=tuple(replace(state, format=None) for state in mixer.states))
            if isinstance(mixer, Recurrence)
            else mixer
            for mixer in layer.mixers
        ),
    )


def _kind(attention: Attention) -> str:
    if attention.window_tokens is None:
        return FULL
    return CHUNKED if attention.window_kind == "chunked" else SLIDING


def _attention_bytes(attention: Attention, deployment: Deployment) -> int:
    """Bytes a token on one rank: heads are divided, and repeated once there are more ranks than heads."""
    share = heads_on_rank(attention.num_key_value_heads, deployment.tensor_parallel, "vLLM")
    number_format = deployment.kv_cache_k
    return share * (number_format.bytes_for(attention.head_dim) + number_format.bytes_for(attention.v_head_dim))


def _latent_bytes(latent: LatentAttention, deployment: Deployment) -> Iterator[int]:
    """Bytes a token of the latent and, as a layer of its own, of the indexer: whole on every rank."""
    settings, number_format = deployment.settings, deployment.kv_cache_k
    if not settings.rule("latent_cache"):
        raise PlannerError(
            f"vLLM {settings.version} expands latent attention into keys and values of every head, which is not "
            "counted here; ask for 0.7.1 or later."
        )
    if latent.window_tokens is not None:
        raise PlannerError("How vLLM packs latent attention with a window into blocks is not known here.")
    is_byte = number_format.bytes_for(1) == 1
    if latent.index_head_dim and is_byte:
        yield settings.rule("sparse_latent_fp8_token_bytes")
    else:
        yield number_format.bytes_for(latent.kv_lora_rank + latent.qk_rope_head_dim)
    if latent.index_head_dim:
        yield settings.rule("indexer_token_bytes")


def _state_bytes(recurrence: Recurrence, deployment: Deployment, chosen: Options) -> int:
    """One request's state of one layer; a convolution keeps a column more for each drafted token."""
    known: Mapping[str, str] = deployment.settings.rule("state_formats") or {}
    if recurrence.kind not in known:
        raise PlannerError(
            f"How vLLM {deployment.settings.version} keeps the states of {recurrence.kind} is not known here; "
            f"known are: {', '.join(known) or 'none'}."
        )
    total = 0
    for state in recurrence.states:
        columns = state.columns + (chosen.draft_tokens if state.name == "conv" else 0)
        rows = state.rows if recurrence.is_whole else -(-state.rows // deployment.tensor_parallel)
        total += rows * columns * _element_bytes(state, known[recurrence.kind], deployment)
    return total


def _element_bytes(state: StateTensor, rule: str, deployment: Deployment) -> int:
    """Convolutions are kept in the model's 16 bits, recurrent states as set, else as *rule* says."""
    chosen = deployment.settings.text("mamba_ssm_cache_dtype")
    sixteen_bit: NumberFormat = deployment.weights.rest
    if state.name == "conv":
        return sixteen_bit.bytes_for(1)
    if chosen not in (None, "auto"):
        return 4 if chosen == "float32" else 2
    return (state.format if rule == "file" and state.format else sixteen_bit).bytes_for(1)


def _block_tokens(settings: EngineSettings, latent_kinds: Iterable[str]) -> int:
    usual: int = settings.rule("block_tokens")
    return settings.integer("block_size") or max((usual, *_latent_blocks(settings, latent_kinds)))


def _alignment(deployment: Deployment, latent_kinds: Collection[str], delta_net: bool) -> int:
    """What blocks that hold a state come in multiples of: the kernels', on some makers' cards a state's own."""
    settings = deployment.settings
    multiples: Mapping[str, int] = settings.rule("state_block_multiples") or {}
    kind = "latent" if latent_kinds else deployment.device.vendor if delta_net else ""
    asked = settings.integer("block_size") if settings.rule("aligns_to_block_size") else None
    usual: int = asked or settings.rule("block_tokens")
    return lcm(usual, multiples.get(kind, 1), *_latent_blocks(settings, latent_kinds))


def _latent_blocks(settings: EngineSettings, latent_kinds: Iterable[str]) -> list[int]:
    by_kind: Mapping[str, Any] = settings.rule("latent_block_tokens") or {}
    return [by_kind[kind] for kind in latent_kinds if kind in by_kind]


def _aligned(state_bytes: int, token_bytes: int, alignment: int) -> int:
    """The shortest block, a multiple of *alignment*, whose page holds a state.

    >>> _aligned(2_146_304, 1_024, 16)
    2096
    """
    return alignment * -(-state_bytes // (alignment * token_bytes))
