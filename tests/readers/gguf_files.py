"""GGUF files for the tests: through the gguf package where a real writer matters, by hand where it would not lie."""

import struct
from collections.abc import Iterable, Mapping
from math import prod
from pathlib import Path

from planner import format_presets, presets
from planner.architecture import Architecture
from planner.formats import QuantScheme
from planner.kv_cache import bytes_per_token_at, fixed_bytes, model_specs
from planner.readers.gguf import read_gguf
from planner.weights import model_bytes

Scalar = int | float | bool | str
Keys = Mapping[str, Scalar | list[int] | list[bool] | list[str]]
Shapes = Mapping[str, tuple[int, tuple[int, ...]]]
"""Name to ggml type and shape, the contiguous dimension first."""

KNOWLEDGE = presets.gguf_knowledge()
F32, F16, Q4_0, Q8_0, Q4_K, Q6_K = 0, 1, 2, 8, 12, 14
FP16 = format_presets.formats()["fp16"]
AS_STORED = QuantScheme(format=None, rest=FP16)
NOTHING: Mapping[str, tuple[int, ...]] = {"ffn_up": (64, 8)}
"""Tensors of a layer that say nothing of its attention."""
LLAMA = {"attention__head_count": 8, "attention__head_count_kv": 2}
BLOCK = {
    "attn_norm": (64,), "attn_q": (64, 64), "attn_k": (64, 16), "attn_v": (64, 16), "attn_output": (64, 64),
    "ffn_norm": (64,), "ffn_gate": (64, 192), "ffn_up": (64, 192), "ffn_down": (192, 64),
}  # fmt: skip


def text(value: str, order: str = "<") -> bytes:
    data = value.encode()
    return struct.pack(f"{order}Q", len(data)) + data


def value(content: object, order: str = "<") -> bytes:
    """A value with its type: numbers as u32, as converters write them."""
    match content:
        case bool():
            return struct.pack(f"{order}IB", 7, content)
        case int():
            return struct.pack(f"{order}II", 4, content)
        case float():
            return struct.pack(f"{order}If", 6, content)
        case str():
            return struct.pack(f"{order}I", 8) + text(content, order)
        case list():
            items = [value(item, order) for item in content]
            kind = items[0][:4] if items else struct.pack(f"{order}I", 4)
            return (
                struct.pack(f"{order}I", 9)
                + kind
                + struct.pack(f"{order}Q", len(items))
                + b"".join(i[4:] for i in items)
            )
    raise TypeError(content)


def tensor_info(name: str, kind: int, shape: Iterable[int], offset: int, order: str = "<") -> bytes:
    shape = tuple(shape)
    return text(name, order) + struct.pack(f"{order}I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def header(keys: Keys, tensors: Shapes, order: str = "<", version: int = 3) -> tuple[bytes, int]:
    """A header that describes *tensors* one after another, padded to its data, and the bytes of these."""
    infos, end = b"", 0
    alignment = keys.get("general.alignment", 32)
    assert isinstance(alignment, int)
    for name, (kind, shape) in tensors.items():
        start = -(-end // alignment) * alignment
        infos += tensor_info(name, kind, shape, start, order)
        end = start + KNOWLEDGE.types[kind].bytes_for(shape[0], prod(shape[1:]))
    data = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(keys))
    data += b"".join(text(key, order) + value(content, order) for key, content in keys.items()) + infos
    return data + b"\0" * (-len(data) % alignment), end


def write(path: Path, keys: Keys, tensors: Shapes, order: str = "<", version: int = 3) -> int:
    """Write *keys* and *tensors* to *path* without the tensors' values; returns the bytes of the tensors alone."""
    data, end = header(keys, tensors, order, version)
    with path.open("wb") as file:
        file.write(data)
        file.truncate(len(data) + end)
    return sum(KNOWLEDGE.types[kind].bytes_for(shape[0], prod(shape[1:])) for kind, shape in tensors.values())


def model(
    architecture: str,
    layers: int,
    block: Mapping[str, tuple[int, ...]] | list[Mapping[str, tuple[int, ...]]],
    **keys: Scalar | list[int] | list[bool],
) -> tuple[Keys, Shapes]:
    """A small model in 32 bit: *block* is each layer's tensors, or a list; a key is ``attention__head_count``."""
    embedding = keys.setdefault("embedding_length", 64)
    assert isinstance(embedding, int)
    found: dict[str, Scalar | list[int] | list[bool]] = {"general.architecture": architecture}
    found |= {f"{architecture}.{key.replace('__', '.')}": content for key, content in keys.items()}
    found.setdefault(f"{architecture}.block_count", layers)
    tensors: dict[str, tuple[int, tuple[int, ...]]] = {
        "token_embd.weight": (F32, (embedding, 100)),
        "output_norm.weight": (F32, (embedding,)),
    }
    for index in range(layers):
        of_layer = block[index] if isinstance(block, list) else block
        for name, shape in of_layer.items():
            suffix = "" if name.endswith((".bias", ".scale", "ssm_a")) else ".weight"
            tensors[f"blk.{index}.{name}{suffix}"] = (F32, shape)
    return found, tensors


def read(folder: Path, made: tuple[Keys, Shapes]) -> Architecture:
    write(folder / "x.gguf", *made)
    return read_gguf(folder / "x.gguf", KNOWLEDGE)


def stored_bytes(architecture: Architecture) -> int:
    """Bytes of everything in *architecture*: layers, what is around them, towers, layers for prediction."""
    around = (*architecture.tensors, *(tensor for tower in architecture.towers for tensor in tower.tensors))
    return model_bytes(architecture.layers, around, AS_STORED) + model_bytes(architecture.mtp_layers, (), AS_STORED)


def bytes_per_token(architecture: Architecture, at: int = 0) -> float:
    return bytes_per_token_at(model_specs(architecture.layers, FP16, FP16), at)


def state_bytes(architecture: Architecture) -> int:
    return fixed_bytes(model_specs(architecture.layers, FP16, FP16))


def kinds(architecture: Architecture) -> str:
    """The layers' kinds by their first letters: full, sliding, chunked, latent, none, gated delta net, lightning."""
    return "".join(layer.kind[0] for layer in architecture.layers)
