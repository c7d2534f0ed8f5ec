"""Every key that the gguf package defines is read, bounds the cache, costs nothing, or is said: none is lost."""

from pathlib import Path

import gguf
import pytest

from planner.errors import UnsupportedModel
from planner.kv_cache import model_specs
from planner.readers.gguf.keys import _is_like
from tests.readers.gguf_files import BLOCK, FP16, KNOWLEDGE, LLAMA, bytes_per_token, model, read, state_bytes

OWN = sorted(
    {
        name.replace("{arch}.", "").replace("{dense}", "dense_2")
        for group in vars(gguf.Keys).values()
        if isinstance(group, type)
        for name in vars(group).values()
        if isinstance(name, str) and name.startswith("{arch}.")
    }
)
READ = {"attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.value_length"}
"""What a model of attention alone is built from."""
NEWER = ("recurrent.state_size", "loop_count", "attention.cross_attention_layers", "memory.slots")
"""Names that nobody has given a meaning here."""


def written(key: str) -> dict[str, object]:
    """A small model's keys with *key* at a value that would matter; head widths as they follow from the rest."""
    value: object = 8
    if key == "attention.sliding_window_pattern":
        value = [True, False]
    return {**LLAMA, key.replace(".", "__"): value}


@pytest.mark.parametrize("key", [key for key in OWN if key not in {*READ, "block_count", "embedding_length"}])
def test_a_key_that_is_defined_never_lowers_a_bound(tmp_path: Path, key: str) -> None:
    keys = KNOWLEDGE.keys
    full = bytes_per_token(read(tmp_path, model("llama", 2, BLOCK, **LLAMA)))
    made = model("newcomer", 2, BLOCK, **written(key))  # type: ignore[arg-type]
    if _is_like(key, (*keys.harmless, *keys.bounded)):
        assert bytes_per_token(read(tmp_path, made)) == full
    else:
        with pytest.raises(UnsupportedModel, match=rf"may keep more than attention does: newcomer\.{key}; only a file"):
            read(tmp_path, made)


@pytest.mark.parametrize("key", [key for key in OWN if _is_like(key, KNOWLEDGE.keys.parts)])
def test_keys_of_layers_that_a_known_model_does_not_have_are_said(tmp_path: Path, key: str) -> None:
    """As in the files of Granite 4.0 models without a single recurrent layer."""
    found = read(tmp_path, model("granite", 2, BLOCK, **written(key)))  # type: ignore[arg-type]
    assert found.warnings == (
        "The file has keys of layers that GGUF architecture 'granite' does not have or tell by them, and no tensors "
        f"for such: granite.{key}. Nothing is counted for these.",
    )
    assert not found.assumed


@pytest.mark.parametrize("key", NEWER)
def test_keys_that_nobody_knows_are_refused_or_said(tmp_path: Path, key: str) -> None:
    with pytest.raises(UnsupportedModel, match=f"newcomer.{key}"):
        read(tmp_path, model("newcomer", 2, BLOCK, **written(key)))  # type: ignore[arg-type]
    found = read(tmp_path, model("llama", 2, BLOCK, **written(key)))  # type: ignore[arg-type]
    assert found.assumed
    assert found.warnings == (
        f"Keys of the file that are not understood here, so that it may keep more than is counted: llama.{key}.",
    )
    nothing = model("newcomer", 2, BLOCK, **LLAMA, **{key.replace(".", "__"): 0})
    assert bytes_per_token(read(tmp_path, nothing)) == 2 * 2 * 2 * 8 * 2


OF_OLLAMA = ("video_token_id", "use_qk_norm", "vision.tile_size", "attention.head_dim", "attention.chunk_size")


@pytest.mark.parametrize("key", OF_OLLAMA)
def test_keys_that_ollama_writes_besides_change_nothing(tmp_path: Path, key: str) -> None:
    found = read(tmp_path, model("llama", 2, BLOCK, **written(key)))  # type: ignore[arg-type]
    assert (found.warnings, found.assumed) == ((), False)
    assert bytes_per_token(read(tmp_path, model("newcomer", 2, BLOCK, **written(key)))) == 2 * 2 * 2 * 8 * 2  # type: ignore[arg-type]


def test_windows_and_sharing_count_only_where_llama_cpp_reads_them(tmp_path: Path) -> None:
    shared = read(tmp_path, model("llama", 2, BLOCK, **LLAMA, attention__shared_kv_layers=1))
    latent = {"attention__key_length_mla": 4, "attention__value_length_mla": 4, "attention__kv_lora_rank": 4}
    assert bytes_per_token(shared) == 2 * 2 * 2 * 8 * 2
    assert bytes_per_token(read(tmp_path, model("llama", 2, BLOCK, **LLAMA, **latent))) == 2 * 2 * 2 * 8 * 2


def test_a_model_that_loops_keeps_a_cache_for_every_run(tmp_path: Path) -> None:
    """Nanbeige: two layers, three times, and their weights once."""
    once = read(tmp_path, model("nanbeige", 2, BLOCK, **LLAMA))
    found = read(tmp_path, model("nanbeige", 2, BLOCK, **LLAMA, num_loops=3))
    assert bytes_per_token(found) == 3 * bytes_per_token(once) == 3 * 2 * 2 * 2 * 8 * 2
    assert [len(layer.tensors) > 0 for layer in found.layers] == [True] * 2 + [False] * 4
    assert state_bytes(found) == 0
    assert model_specs(found.layers[:2], FP16, FP16) == model_specs(once.layers, FP16, FP16)
    with pytest.raises(UnsupportedModel, match="2 layers cannot run 5,000 times"):
        read(tmp_path, model("nanbeige", 2, BLOCK, **LLAMA, num_loops=5000))
