"""A small RWKV-7 model that llama.cpp loads; its weights are zeros."""

from pathlib import Path

from tests.engines.tiny_models import WIDTH, WORDS, Block
from tests.readers.gguf_files import F16, F32, write

RANK, INNER, LAYERS = 32, 448, 3


def block() -> Block:
    vector, square = (F32, (WIDTH,)), (F16, (WIDTH, WIDTH))
    found: dict[str, tuple[int, tuple[int, ...]]] = {
        f"{name}.{part}": vector for name in ("attn_norm", "attn_norm_2", "time_mix_ln") for part in ("weight", "bias")
    }
    for name in ("w", "a", "v"):
        found[f"time_mix_{name}0.weight"] = vector
    for name in ("w", "a", "v", "g"):
        found[f"time_mix_{name}1.weight"] = (F16, (WIDTH, RANK))
        found[f"time_mix_{name}2.weight"] = (F16, (RANK, WIDTH))
    for name in ("key", "value", "receptance", "output"):
        found[f"time_mix_{name}.weight"] = square
    for name in ("k_k", "k_a", "r_k"):
        found[f"time_mix_{name}.weight"] = vector
    return {
        **found,
        "time_mix_lerp_fused.weight": (F32, (WIDTH, 1, 1, 6)),
        "channel_mix_lerp_k.weight": (F32, (WIDTH, 1, 1)),
        "channel_mix_key.weight": (F16, (WIDTH, INNER)),
        "channel_mix_value.weight": (F16, (INNER, WIDTH)),
    }


def write_rwkv(folder: Path) -> Path:
    keys = {
        "block_count": LAYERS,
        "context_length": 8_192,
        "embedding_length": WIDTH,
        "feed_forward_length": INNER,
        "vocab_size": WORDS,
        "attention.head_count": 0,
        "attention.layer_norm_epsilon": 1e-5,
        "attention.layer_norm_rms_epsilon": 1e-5,
        "wkv.head_size": 32,
        "token_shift_count": 2,
        **{f"attention.{name}_lora_rank": RANK for name in ("decay", "iclr", "value_residual_mix", "gate")},
    }
    named: dict[str, object] = {"general.architecture": "rwkv7", "tokenizer.ggml.model": "none"}
    named |= {f"rwkv7.{key}": value for key, value in keys.items()}
    tensors: dict[str, tuple[int, tuple[int, ...]]] = {
        "token_embd.weight": (F16, (WIDTH, WORDS)),
        "output.weight": (F16, (WIDTH, WORDS)),
        **{
            f"{name}.{part}": (F32, (WIDTH,))
            for name in ("token_embd_norm", "output_norm")
            for part in ("weight", "bias")
        },
    }
    for index in range(LAYERS):
        tensors |= {f"blk.{index}.{name}": made for name, made in block().items()}
    path = folder / "rwkv7.gguf"
    write(path, named, tensors)  # type: ignore[arg-type]
    return path
