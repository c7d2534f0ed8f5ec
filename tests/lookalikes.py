"""Text models whose code lies beside their weights, as a class of the library that has the same tensors and cache."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner import presets
from planner.readers.text_config import find_text, opened
from tests.library import families


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """The library's *model_type*, its names for a file's keys, and what its class is told beside them."""

    model_type: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)


LIKE = {
    "PanguEmbedded": Alike(model_type="llama", renamed={"bias": "attention_bias"}),
    "baichuan": Alike(model_type="llama"),
    "chatglm": Alike(
        model_type="glm",
        renamed={
            "ffn_hidden_size": "intermediate_size",
            "kv_channels": "head_dim",
            "multi_query_group_num": "num_key_value_heads",
            "num_layers": "num_hidden_layers",
            "padded_vocab_size": "vocab_size",
        },
        given={"attention_bias": True, "pad_token_id": 0, "tie_word_embeddings": False},
    ),
    "dots_ocr": Alike(model_type="qwen2"),
    "hunyuan": Alike(model_type="hunyuan_v1_moe", renamed={"attention_head_dim": "head_dim"}),
    "internlm": Alike(model_type="llama", renamed={"bias": "attention_bias"}),
    "internlm2": Alike(model_type="llama", renamed={"bias": "mlp_bias"}),
    "kimi_k2": Alike(model_type="deepseek_v3"),
    "mimo": Alike(model_type="qwen2"),
    "minicpm": Alike(model_type="llama", given={"tie_word_embeddings": True}),
    "minicpmv": Alike(model_type="qwen2"),
    "orion": Alike(model_type="stablelm", given={"use_qkv_bias": False}),
    "phi3_v": Alike(model_type="phi3"),
    "xverse": Alike(model_type="llama"),
}
"""By model_type that the library lacks. That the shapes are equal is what a comparison shows."""


def lookalike(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The library's config of *config*'s text model, where it has a class of its shapes and none for the file."""
    model_type = str(config.get("model_type"))
    if model_type in families():
        return None
    if alike := LIKE.get(model_type):
        table = {key: value for key, value in config.items() if not isinstance(value, Mapping)}
        renamed = {alike.renamed.get(key, key): value for key, value in table.items()}
        return renamed | dict(alike.given) | {"model_type": alike.model_type}
    knowledge = presets.knowledge()
    text = find_text(opened(config, knowledge), knowledge)
    if not text.place or text.model_type not in families():
        return None
    return {**text.fallback, **text.table, "model_type": text.model_type}
