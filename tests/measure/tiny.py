"""A model so small that a test of a whole experiment takes a second: a folder with a config and no weights."""

import json
from pathlib import Path

LAYERS, HEADS, KV_HEADS, HEAD_DIM, HIDDEN, INTERMEDIATE, VOCABULARY = 3, 4, 2, 16, 64, 96, 320
CONFIG = {
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "intermediate_size": INTERMEDIATE,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
    "initializer_range": 0.2,  # at 0.02 such a model repeats its last token, whatever its layers compute
    "torch_dtype": "float32",
}


def write(folder: Path) -> str:
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return str(folder)
