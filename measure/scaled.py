"""A model's published figures made small: fewer layers and experts, a short vocabulary and windows, the same heads.

What one layer keeps for one token stays as published, so that a small copy's cache is the published layout's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LAYERS = 6
"""Enough for every pattern of layers in use: a full layer after five sliding ones, dense layers before experts."""

LIMITS = {
    "num_hidden_layers": LAYERS,
    "n_layer": LAYERS,
    "n_layers": LAYERS,
    "num_layers": LAYERS,
    "num_transformer_layers": LAYERS,
    "num_blocks": LAYERS,
    "vocab_size": 1_024,
    "vocab_size_per_layer_input": 1_024,
    "max_position_embeddings": 4_096,
    "intermediate_size": 256,
    "moe_intermediate_size": 64,
    "shared_expert_intermediate_size": 64,
    "moe_shared_expert_intermediate_size": 64,
    "ffn_hidden_size": 256,
    "sliding_window": 64,
    "attention_chunk_size": 64,
    "num_experts": 8,
    "num_local_experts": 8,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "num_experts_per_token": 2,
    "num_kv_shared_layers": 1,
    "attn_layer_offset": LAYERS - 1,
    "n_group": 1,
    "topk_group": 1,
}
"""The most that a key may say in a small copy."""
BEYOND_LAYERS = ("compress_ratios",)
"""Lists with an entry a layer and more, for layers that draft."""
NUMBERS = {
    "full_attn_layers": 1,
    "kda_layers": 1,
    "cross_attention_layers": 0,
    "attn_layer_indices": 0,
    "mlp_only_layers": 0,
}
"""Lists of layers' numbers, and the number of the first layer in each."""
_PATTERN = "hybrid_override_pattern"
"""A letter a layer."""
_COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers", "num_blocks")
_TEXT = ("text_config", "llm_config", "language_config")
_PROMPT_WORDS = ("token_id", "token_index")
_STATE_KEYS = ("state_size", "d_inner", "conv_kernel")
"""Where one of these stands, intermediate_size is the width of the state, not of a feed-forward part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A config and what was changed in it: each key's published figure and the small one."""

    config: dict[str, Any]
    changes: dict[str, tuple[Any, Any]]

    def said(self) -> str:
        """The changes in words; empty where the model is as small already."""
        shown = [f"{key} {old} → {new}" for key, (old, new) in self.changes.items() if isinstance(old, int)]
        return ", ".join(shown)


def scale_down(config: Mapping[str, Any]) -> Scaled:
    """A small copy of *config*, its nested text model too. Special tokens beyond the short vocabulary are dropped.

    It has the first layers; where a kind of layer is not among them, the first one of it stands in for the last.
    """
    small: dict[str, Any] = {}
    changes: dict[str, tuple[Any, Any]] = {}
    kept = {"intermediate_size"} if any(key in config for key in _STATE_KEYS) else set()
    layers = _layers(config)
    chosen = _chosen(config, layers)
    for key, value in config.items():
        if key in _TEXT and isinstance(value, Mapping):
            nested = scale_down(value)
            small[key] = nested.config
            changes |= nested.changes
            continue
        new = _cut(key, value, layers, chosen)
        if key in LIMITS and key not in kept:
            new = _limited(new, LIMITS[key])
        elif key.endswith(_PROMPT_WORDS) and _beyond(value):
            new = None
        small[key] = new
        if new != value:
            changes[key] = (value, new)
    if not layers and not any(key in config for key in _TEXT):
        small["num_hidden_layers"] = LAYERS  # what is not said is the class's own number, which is a whole model's
    if "vocab_size" in small:
        small["pad_token_id"] = 0  # the class's own may lie beyond the short vocabulary; some compute with it
    return Scaled(config=small, changes=changes)


def _layers(config: Mapping[str, Any]) -> int:
    """How many layers *config* says, or its list of their kinds; 0: neither does."""
    said = next((config[key] for key in _COUNTS if isinstance(config.get(key), int)), 0)
    return said or len(config.get("layers_block_type") or "")


def _chosen(config: Mapping[str, Any], layers: int) -> list[int]:
    """The layers that are kept: the first ones, among which the last make room for kinds that they lack."""
    found = list(range(min(layers, LAYERS)))
    for key, value in config.items():
        firsts: list[int] = []
        if _is_per_layer(key, value, layers) and all(isinstance(kind, str) for kind in value):
            firsts = [value.index(kind) for kind in dict.fromkeys(value)]
        elif key in NUMBERS and value:
            firsts = [min(value) - NUMBERS[key]]
        lacking = [number for number in firsts if number >= LAYERS]
        found[len(found) - len(lacking) :] = lacking
    kinds = config.get("layer_types")
    if config.get("num_kv_shared_layers") and kinds and kinds[found[-1]] not in [kinds[n] for n in found[:-1]]:
        found[-2:] = found[-1], found[-1] + 1  # the last layer shares the cache of an earlier one of its kind
    return found


def _is_per_layer(key: str, value: Any, layers: int) -> bool:
    return len(value) == layers if isinstance(value, list) or key == _PATTERN else False


def _cut(key: str, value: Any, layers: int, chosen: list[int]) -> Any:
    """*value* for the *chosen* of so many layers, in dictionaries within it too."""
    if isinstance(value, Mapping):
        return {name: _cut(name, each, layers, chosen) for name, each in value.items()}
    if key in NUMBERS and isinstance(value, list):
        first = NUMBERS[key]
        return [chosen.index(number - first) + first for number in value if number - first in chosen]
    if not (_is_per_layer(key, value, layers) or (key in BEYOND_LAYERS and isinstance(value, list))):
        return value
    cut = [value[number] for number in chosen]
    return "".join(cut) if isinstance(value, str) else cut


def _limited(value: Any, most: int) -> Any:
    """*value*, or each entry of such a list, no larger than *most*; what is no number stays."""
    if isinstance(value, list):
        return [_limited(each, most) for each in value]
    return min(value, most) if isinstance(value, int) and not isinstance(value, bool) else value


def _beyond(value: Any) -> bool:
    ids = value if isinstance(value, list) else [value]
    return any(isinstance(number, int) and number >= LIMITS["vocab_size"] for number in ids)
