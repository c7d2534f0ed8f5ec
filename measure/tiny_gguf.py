"""A GGUF file small enough to start any engine with: the layers of a Llama, weights of zero, no tokenizer.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from collections.abc import Iterator
from math import prod
from pathlib import Path

LAYERS, HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, VOCABULARY, CONTEXT = 4, 256, 512, 8, 2, 512, 8_192
F32, F16 = 0, 1
ELEMENT_BYTES = {F32: 4, F16: 2}
ALIGNMENT = 32
_U32, _FLOAT, _STRING = 4, 6, 8

KEYS: dict[str, int | float | str] = {
    "general.architecture": "llama",
    "general.name": "tiny",
    "tokenizer.ggml.model": "none",
    "llama.block_count": LAYERS,
    "llama.context_length": CONTEXT,
    "llama.embedding_length": HIDDEN,
    "llama.feed_forward_length": INTERMEDIATE,
    "llama.vocab_size": VOCABULARY,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": KV_HEADS,
    "llama.rope.dimension_count": HIDDEN // HEADS,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
}


def write(path: Path) -> Path:
    """The file at *path*."""
    infos, offset = b"", 0
    tensors = list(_tensors())
    for name, kind, shape in tensors:
        infos += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        offset = _padded(offset + ELEMENT_BYTES[kind] * prod(shape))
    keys = b"".join(_text(key) + _value(value) for key, value in KEYS.items())
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(KEYS)) + keys + infos
    path.write_bytes(header.ljust(_padded(len(header)), b"\0") + bytes(offset))
    return path


def _tensors() -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """Name, type and shape, the contiguous dimension first."""
    width = HIDDEN // HEADS * KV_HEADS
    yield "token_embd.weight", F16, (HIDDEN, VOCABULARY)
    yield "output_norm.weight", F32, (HIDDEN,)
    yield "output.weight", F16, (HIDDEN, VOCABULARY)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{norm}.weight", F32, (HIDDEN,)
        for name, columns, rows in (
            ("attn_q", HIDDEN, HIDDEN), ("attn_k", HIDDEN, width), ("attn_v", HIDDEN, width),
            ("attn_output", HIDDEN, HIDDEN), ("ffn_gate", HIDDEN, INTERMEDIATE), ("ffn_up", HIDDEN, INTERMEDIATE),
            ("ffn_down", INTERMEDIATE, HIDDEN),
        ):  # fmt: skip
            yield f"blk.{layer}.{name}.weight", F16, (columns, rows)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: int | float | str) -> bytes:
    match value:
        case str():
            return struct.pack("<I", _STRING) + _text(value)
        case int():
            return struct.pack("<II", _U32, value)
        case _:
            return struct.pack("<If", _FLOAT, value)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
