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
    "n_group": 1,
    "topk_group": 1,
}
"""The most that a key may say in a small copy."""
PER_LAYER = (
    "layer_types",
    "compress_ratios",
    "mlp_layer_types",
    "layers_block_type",
    "indexer_types",
    "no_rope_layers",
    "mlp_only_layers",
)
"""Lists with an entry a layer, cut with the layers."""
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
    """A small copy of *config*, its nested text model too. Special tokens beyond the short vocabulary are dropped."""
    small: dict[str, Any] = {}
    changes: dict[str, tuple[Any, Any]] = {}
    kept = {"intermediate_size"} if any(key in config for key in _STATE_KEYS) else set()
    for key, value in config.items():
        new = value
        if key in LIMITS and key not in kept and isinstance(value, int) and not isinstance(value, bool):
            new = min(value, LIMITS[key])
        elif key in PER_LAYER and isinstance(value, list):
            new = value[:LAYERS]
        elif key.endswith(_PROMPT_WORDS) and _beyond(value):
            new = None
        elif key == "text_config" and isinstance(value, Mapping):
            nested = scale_down(value)
            new = nested.config
            changes |= nested.changes
        small[key] = new
        if new != value and key != "text_config":
            changes[key] = (value, new)
    if "vocab_size" in small:
        small["pad_token_id"] = None  # the class's own default may lie beyond the short vocabulary
    return Scaled(config=small, changes=changes)


def _beyond(value: Any) -> bool:
    ids = value if isinstance(value, list) else [value]
    return any(isinstance(number, int) and number >= LIMITS["vocab_size"] for number in ids)
