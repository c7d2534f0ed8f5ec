"""GGUF files to architectures: layers, experts, towers, split files; weights equal the file to the byte."""

from pathlib import Path

import pytest

from planner.architecture import Attention, distinct_layers
from planner.errors import BadFile
from planner.readers.gguf import read_gguf
from planner.weights import active_parameters, bytes_by_role, parameters, parameters_by_role
from tests.readers.gguf_files import (
    AS_STORED,
    BLOCK,
    F16,
    F32,
    FP16,
    KNOWLEDGE,
    LLAMA,
    Q4_0,
    Q4_K,
    Q6_K,
    Q8_0,
    Shapes,
    model,
    read,
    stored_bytes,
    write,
)


def test_a_llama_is_read_whole(tmp_path: Path) -> None:
    keys, tensors = model("llama", 4, BLOCK, context_length=4096, **LLAMA)
    found = read(tmp_path, (keys | {"general.name": "Small Llama"}, tensors))
    assert (found.name, found.title, found.model_type) == ("x", "Small Llama", "llama")
    assert (found.hidden_size, found.vocab_size, found.max_position_embeddings) == (64, 100, 4096)
    assert {layer.mixers for layer in found.layers} == {
        (Attention(num_attention_heads=8, num_key_value_heads=2, head_dim=8, v_head_dim=8),)
    }
    assert parameters_by_role(found) == {
        "embedding": 6400,
        "norm": 64 * 9,
        "linear": 4 * (64 * 64 * 2 + 64 * 16 * 2 + 64 * 192 * 3),
    }
    assert [count for _, count in distinct_layers(found.layers)] == [4]
    assert found.cache_format == FP16
    assert found.warnings == ()
    assert not found.assumed


def test_prediction_layers_are_beside_the_model(tmp_path: Path) -> None:
    prediction = BLOCK | {"nextn.eh_proj": (128, 64), "nextn.enorm": (64,)}
    keys, tensors = model("glm4moe", 3, [BLOCK, BLOCK, prediction], **LLAMA, nextn_predict_layers=1)
    size = write(tmp_path / "x.gguf", keys, tensors)
    found = read_gguf(tmp_path / "x.gguf", KNOWLEDGE)
    assert (len(found.layers), len(found.mtp_layers)) == (2, 1)
    assert stored_bytes(found) == size
    assert parameters_by_role(found)["mtp"] == 128 * 64 + 64 + sum(a * (b[0] if b else 1) for a, *b in BLOCK.values())
    assert found.mtp_layers[0].mixers == found.layers[0].mixers


def test_declared_prediction_layers_that_are_not_in_the_file(tmp_path: Path) -> None:
    keys, tensors = model("step35", 2, BLOCK, **LLAMA, block_count=3, nextn_predict_layers=1)
    found = read(tmp_path, (keys, tensors))
    assert (len(found.layers), found.mtp_layers) == (2, ())


MIXTURE = {
    "ffn_gate_inp": (64, 8), "ffn_up_exps": (64, 32, 8), "ffn_down_exps": (32, 64, 8), "ffn_up_exps.bias": (32, 8),
    "ffn_up_shexp": (64, 32),
}  # fmt: skip


def test_a_token_uses_some_experts(tmp_path: Path) -> None:
    found = read(tmp_path, model("qwen3moe", 2, MIXTURE, **LLAMA, expert_count=8, expert_used_count=2))
    roles = parameters_by_role(found)
    assert (roles["expert"], roles["router"], roles["linear"]) == (2 * 2 * 8 * 64 * 32, 2 * 64 * 8, 2 * 64 * 32)
    assert parameters(found) - active_parameters(found) == 2 * 6 * (2 * 64 * 32 + 32)


def test_experts_as_tensors_of_their_own_are_counted_together(tmp_path: Path) -> None:
    block = {f"ffn_up.{expert}": (64, 32) for expert in range(8)}
    found = read(tmp_path, model("llama", 1, block, **LLAMA, expert_used_count=2))
    (tensor,) = found.layers[0].tensors
    assert (tensor.count, tensor.active, tensor.role) == (8, 2, "expert")


def test_towers_stand_beside_the_model(tmp_path: Path) -> None:
    keys, tensors = model("gemma3", 1, BLOCK, **LLAMA)
    tensors = dict(tensors) | {
        "v.blk.0.attn_q.weight": (F32, (8, 8)),
        "mm.0.weight": (F32, (8, 4)),
        "a.conv1d.1.weight": (F32, (3,)),
    }
    size = write(tmp_path / "x.gguf", keys, tensors)
    found = read_gguf(tmp_path / "x.gguf", KNOWLEDGE)
    assert {tower.kind: sum(t.elements for t in tower.tensors) for tower in found.towers} == {"vision": 96, "audio": 3}
    assert stored_bytes(found) == size


def test_weights_equal_a_mixed_file_to_the_byte(tmp_path: Path) -> None:
    """As Q4_K_M mixes them: more bits in the head and in some layers, 32 bits in norms and biases."""
    keys = {"general.architecture": "llama", "llama.block_count": 2, "llama.embedding_length": 256}
    keys |= {"llama.attention.head_count": 8, "llama.attention.head_count_kv": 2}
    tensors: Shapes = {
        "token_embd.weight": (Q4_K, (256, 1000)),
        "output.weight": (Q6_K, (256, 1000)),
        "output_norm.weight": (F32, (256,)),
        "rope_freqs.weight": (F32, (16,)),
        "blk.0.attn_k.weight": (Q4_K, (256, 64)),
        "blk.0.attn_k.bias": (F32, (64,)),
        "blk.0.ffn_down.weight": (Q6_K, (512, 256)),
        "blk.1.attn_k.weight": (Q8_0, (256, 64)),
        "blk.1.attn_k.bias": (F32, (64,)),
        "blk.1.ffn_down.weight": (Q4_0, (512, 256)),
        "blk.1.ffn_down.scale": (F32, (1,)),
    }
    size = write(tmp_path / "x.gguf", keys, tensors)
    found = read_gguf(tmp_path / "x.gguf", KNOWLEDGE)
    assert stored_bytes(found) == size
    assert parameters(found) == 2 * 256_000 + 256 + 16 + 2 * (256 * 64 + 64 + 512 * 256)
    assert bytes_by_role(found.layers, found.tensors, AS_STORED) == {
        "embedding": 1000 * 144,
        "head": 1000 * 210,
        "norm": 1024,
        "bias": 64 + 2 * 256,
        "linear": 64 * 144 + 256 * 420 + 64 * 272 + 256 * 288 + 4,
    }
    assert len(distinct_layers(found.layers)) == 2
    assert found.stored_as == "q6_k"


def test_an_unknown_type_keeps_its_bytes(tmp_path: Path) -> None:
    keys, tensors = model("llama", 1, {"attn_k": (64, 16), "ffn_up_exps": (64, 32, 8)}, **LLAMA, expert_used_count=2)
    size = write(tmp_path / "x.gguf", keys, tensors)
    data = (tmp_path / "x.gguf").read_bytes()
    name = b"blk.0.ffn_up_exps.weight"
    at = data.index(name) + len(name) + 4 + 24
    (tmp_path / "x.gguf").write_bytes(data[:at] + (251).to_bytes(4, "little") + data[at + 4 :])
    found = read_gguf(tmp_path / "x.gguf", KNOWLEDGE)
    assert stored_bytes(found) == size
    assert parameters(found) - active_parameters(found) == 6 * 64 * 32
    assert found.warnings == ("Tensor types 251 are not known: their bytes are taken from the file's offsets.",)


def split(folder: Path, count: int = 3, **changes: object) -> int:
    """A llama of *count* layers in as many parts; returns the bytes of their tensors."""
    keys, tensors = model("llama", count, BLOCK, **LLAMA)
    names = list(tensors)
    size = 0
    for number in range(count):
        part = names[number * len(names) // count : (number + 1) * len(names) // count]
        numbers: dict[str, object] = {"split.no": number, "split.count": count, "split.tensors.count": len(names)}
        own = {**(keys if number == 0 else {}), **numbers, **changes}
        path = folder / f"model-{number + 1:05}-of-{count:05}.gguf"
        size += write(path, own, {name: tensors[name] for name in part})  # type: ignore[arg-type]
    return size


@pytest.mark.parametrize("part", [1, 2, 3])
def test_a_split_file_is_read_from_any_part(tmp_path: Path, part: int) -> None:
    size = split(tmp_path)
    found = read_gguf(tmp_path / f"model-{part:05}-of-00003.gguf", KNOWLEDGE)
    assert stored_bytes(found) == size
    assert len(found.layers) == 3


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    split(tmp_path)
    (tmp_path / "model-00002-of-00003.gguf").unlink()
    with pytest.raises(BadFile, match=r"model-00002-of-00003\.gguf cannot be read: No such file"):
        read_gguf(tmp_path / "model-00001-of-00003.gguf", KNOWLEDGE)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"split.no": 0}, r"model-00002-of-00003\.gguf does not say that it is part 2 of 3"),
        ({"split.count": 2}, "one of 2 parts and must be named as such"),
        ({"split.count": 2**31}, "split into 2,147,483,648 parts"),
        ({"split.count": "x"}, r"key 'split\.count' must be a whole number"),
        ({"split.tensors.count": 7}, "its parts have 29 tensors and should have 7"),
    ],
)
def test_parts_that_do_not_belong_together(tmp_path: Path, changes: dict[str, object], sentence: str) -> None:
    split(tmp_path, **changes)
    with pytest.raises(BadFile, match=sentence):
        read_gguf(tmp_path / "model-00001-of-00003.gguf", KNOWLEDGE)


def test_a_part_that_is_two_parts(tmp_path: Path) -> None:
    split(tmp_path)
    first = (tmp_path / "model-00001-of-00003.gguf").read_bytes()
    (tmp_path / "model-00002-of-00003.gguf").write_bytes(first)
    with pytest.raises(BadFile, match="does not say that it is part 2 of 3"):
        read_gguf(tmp_path / "model-00001-of-00003.gguf", KNOWLEDGE)


def test_parts_with_the_same_tensor(tmp_path: Path) -> None:
    split(tmp_path)
    write(tmp_path / "model-00002-of-00003.gguf", {"split.no": 1, "split.count": 3}, {"token_embd.weight": (F16, (4,))})
    with pytest.raises(BadFile, match="two of its parts have the same tensor"):
        read_gguf(tmp_path / "model-00001-of-00003.gguf", KNOWLEDGE)


def test_a_renamed_part_is_refused(tmp_path: Path) -> None:
    split(tmp_path)
    (tmp_path / "model-00001-of-00003.gguf").rename(tmp_path / "model.gguf")
    with pytest.raises(BadFile, match=r"must be named as such, like model-00001-of-00003\.gguf"):
        read_gguf(tmp_path / "model.gguf", KNOWLEDGE)
