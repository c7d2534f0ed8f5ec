"""Cells of llama.cpp's caches: plain, with a window, latent, and recurrent states.

Source: https://github.com/ggml-org/llama.cpp/blob/3f545becc/src/llama-kv-cache.cpp, llama-kv-cache-iswa.cpp and
llama-memory-recurrent.cpp.
"""

from collections.abc import Iterable, Sequence

from planner.architecture import Attention, LatentAttention, Mixer, Recurrence, distinct_layers
from planner.deployment import Deployment
from planner.engines.base import Rank
from planner.engines.llama_cpp.options import Options, options
from planner.errors import PlannerError
from planner.kv_cache import KVCacheSpec, attention_bytes_per_token, fixed_bytes, mixer_spec
from planner.records import dataclass

FP32_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSpec(KVCacheSpec):
    """A cache in cells: an entry is as many cells as one step of the padding.

    *window_tokens* is the window behind *max_tokens*, which is that of a cache for one slot, or for all that share it.
    """

    window_tokens: int | None = None


def cache_specs(rank: Rank, deployment: Deployment) -> tuple[CellSpec, ...]:
    """One request's caches on *rank*, one spec a window."""
    chosen = options(deployment)
    widest = _widest_values(rank, deployment, chosen)
    states_bytes = 0
    cells: dict[int | None, int] = {}
    for layer, count in distinct_layers(rank.layers):
        for mixer in layer.mixers:
            window = getattr(mixer, "window_tokens", None)
            if chosen.window_extra_tokens is None:
                window = None
            spec = _spec(mixer, deployment, widest)
            states_bytes += count * spec.fixed_bytes
            if spec.bytes_per_entry:
                cells[window] = cells.get(window, 0) + count * spec.bytes_per_entry
    shared_by = chosen.n_parallel if chosen.unified(1) else 1
    specs = [
        CellSpec(
            bytes_per_entry=cell_bytes * chosen.padding,
            tokens_per_entry=chosen.padding,
            max_tokens=None if window is None else chosen.window_cells(window, shared_by),
            window_tokens=window,
        )
        for window, cell_bytes in cells.items()
    ]
    return (*specs, *([CellSpec(fixed_bytes=states_bytes)] if states_bytes else ()))


def cache_bytes(specs: Sequence[KVCacheSpec], deployment: Deployment, tokens: int, requests: int) -> int:
    """All slots together.

    One cache of tokens · requests cells where they share, else as many caches as slots; a state a slot either way.
    """
    chosen = options(deployment)
    slots = chosen.slots(requests)
    is_unified = chosen.unified(requests)
    cells = chosen.cells(tokens, requests)
    total = 0
    for spec in specs:
        held = cells
        window = getattr(spec, "window_tokens", None)
        if window is not None:
            held = min(held, chosen.window_cells(window, slots if is_unified else 1))
        entries = held // spec.tokens_per_entry
        total += spec.bytes_per_entry * entries * (1 if is_unified else slots)
    return total + state_bytes(specs, deployment, requests)


def state_bytes(specs: Iterable[KVCacheSpec], deployment: Deployment, requests: int) -> int:
    """The recurrent states of all slots, which are printed apart from the cells."""
    return fixed_bytes(specs) * options(deployment).slots(requests)


def _spec(mixer: Mixer, deployment: Deployment, widest_values: int | None) -> KVCacheSpec:
    """One mixer's cell or state."""
    key_format, value_format = deployment.kv_cache_k, deployment.kv_cache_v
    match mixer:
        case Attention():
            if widest_values is not None:
                keys = key_format.bytes_for(mixer.num_key_value_heads * mixer.head_dim)
                return KVCacheSpec(bytes_per_entry=keys + value_format.bytes_for(widest_values))
            return KVCacheSpec(bytes_per_entry=attention_bytes_per_token(mixer, key_format, value_format))
        case LatentAttention():
            spec = mixer_spec(mixer, key_format, value_format)
            return KVCacheSpec(bytes_per_entry=spec.bytes_per_entry + _second_latent(mixer, deployment))
        case Recurrence():
            elements = sum(state.elements for state in mixer.states)
            return KVCacheSpec(fixed_bytes=FP32_BYTES * elements * options(deployment).states)
        case _:
            return mixer_spec(mixer, key_format, value_format)


def latent_values(deployment: Deployment) -> str:
    """What is kept beside a latent: ``none``, a ``copy``, or every head's keys and values instead: ``expanded``."""
    settings = deployment.settings
    kept: str = settings.rule("latent_values")
    if kept == "mla_attn":
        level = settings.values["mla_attn"]
        return "expanded" if level == 0 else "copy" if level == 1 and settings.text("flash_attn") == "off" else "none"
    return kept


def _second_latent(mixer: LatentAttention, deployment: Deployment) -> int:
    """Bytes a cell beside the latent and its rotary part."""
    kept = latent_values(deployment)
    if kept == "expanded":
        raise PlannerError(
            "Here llama.cpp keeps keys and values of every head in place of the latent, which only a GGUF file without "
            "key_length_mla is counted for: name a later --engine-version, or mla_attn=3 for ik_llama_cpp."
        )
    follows_keys = deployment.settings.rule("latent_values") == "mla_attn"
    value_format = deployment.kv_cache_k if follows_keys else deployment.kv_cache_v
    return value_format.bytes_for(mixer.kv_lora_rank) if kept == "copy" else 0


def _widest_values(rank: Rank, deployment: Deployment, chosen: Options) -> int | None:
    """The width to which transposed values are padded: without flash attention, where layers differ."""
    if chosen.flash_attn:
        return None
    widths = {
        mixer.num_key_value_heads * mixer.v_head_dim
        for layer, _ in distinct_layers(rank.layers)
        for mixer in layer.mixers
        if isinstance(mixer, Attention)
    }
    return max(widths) if len(widths) > 1 else None
