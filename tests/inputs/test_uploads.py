"""Files as a browser hands them over: told apart by content, whole or only their beginnings."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.inputs.uploads import read_uploads
from planner.weights import parameters
from tests.readers import gguf_files, safetensors_files
from tests.readers.gguf_files import BLOCK, LLAMA, bytes_per_token
from tests.readers.test_file_tensors import LLAMA as CONFIG
from tests.readers.test_file_tensors import checkpoint

CONFIG_TEXT = json.dumps(CONFIG).encode()
STORED_BYTES = 2 * sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for _, shape in checkpoint().values())


def index(total: int | None, *files: str) -> bytes:
    names = list(checkpoint())
    weight_map = {name: files[position % len(files)] for position, name in enumerate(names)}
    metadata = {} if total is None else {"total_size": total}
    return json.dumps({"metadata": metadata, "weight_map": weight_map}).encode()


def heads(folder: Path, tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> bytes:
    """A file's beginning, up to the end of its header."""
    safetensors_files.write(folder / "x.safetensors", tensors)
    content = (folder / "x.safetensors").read_bytes()
    return content[: 8 + int.from_bytes(content[:8], "little")]


def test_a_config_alone() -> None:
    found = read_uploads({"config (1).json": CONFIG_TEXT})
    assert (found.title, found.name) == ("Your model", "config.json")
    assert parameters(found) == STORED_BYTES // 2


def test_an_index_that_agrees_and_one_that_does_not() -> None:
    agrees = read_uploads({"config.json": CONFIG_TEXT, "i.json": index(STORED_BYTES, "a.safetensors")})
    assert agrees.warnings == (f"i.json states {STORED_BYTES:,} bytes, exactly what its config comes to.",)
    more = read_uploads({"config.json": CONFIG_TEXT, "i.json": index(STORED_BYTES + 2**30, "a.safetensors")})
    assert "1.00 GiB more than is counted" in more.warnings[0]
    silent = read_uploads({"config.json": CONFIG_TEXT, "i.json": index(None, "a.safetensors")})
    assert silent.warnings == ("i.json states no total, so it could not be compared.",)


def test_beginnings_of_safetensors_are_counted_as_stored(tmp_path: Path) -> None:
    tensors = {name: ("F32", shape) for name, (_, shape) in checkpoint().items()}
    found = read_uploads({"config.json": CONFIG_TEXT, "model.safetensors": heads(tmp_path, tensors)})
    stored = {tensor.stored.name for layer in found.layers for tensor in layer.tensors}
    assert stored == {"f32"}
    assert parameters(found) == STORED_BYTES // 2


def test_shards_that_are_all_there_are_read_together(tmp_path: Path) -> None:
    names = list(checkpoint())
    shards = {
        f"{part}.safetensors": heads(tmp_path, {name: checkpoint()[name] for name in names[start::2]})
        for start, part in enumerate("ab")
    }
    found = read_uploads(
        {"config.json": CONFIG_TEXT, "m.json": index(STORED_BYTES, "a.safetensors", "b.safetensors"), **shards}
    )
    assert parameters(found) == STORED_BYTES // 2
    assert not found.warnings


def test_one_part_of_several_is_not_the_model(tmp_path: Path) -> None:
    name = "model-00001-of-00002.safetensors"
    with pytest.raises(PlannerError, match=rf"{name} is incomplete: model-00002-of-00002\.safetensors not found"):
        read_uploads({"config.json": CONFIG_TEXT, name: heads(tmp_path, checkpoint())})
    without_head = {key: value for key, value in checkpoint().items() if key != "lm_head.weight"}
    with pytest.raises(PlannerError, match=r"x\.safetensors has no head"):
        read_uploads({"config.json": CONFIG_TEXT, "x.safetensors": heads(tmp_path, without_head)})


def test_a_quantisation_beside_the_config() -> None:
    beside = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    found = read_uploads({"config.json": CONFIG_TEXT, "hf_quant_config.json": json.dumps(beside).encode()})
    assert found.cache_format.name == "fp8"


def test_the_beginning_of_a_gguf_file_says_all() -> None:
    header, data_bytes = gguf_files.header(*gguf_files.model("llama", 2, BLOCK, **LLAMA))
    assert data_bytes > 0
    found = read_uploads({"tiny.gguf": header})
    assert len(found.layers) == 2
    # 2 layers × (2 key-value heads × 8 wide × 2, keys and values) × 2 bytes
    assert bytes_per_token(found) == 2 * 2 * 8 * 2 * 2


def test_a_gguf_file_cut_within_its_header() -> None:
    header, _ = gguf_files.header(*gguf_files.model("llama", 2, BLOCK, **LLAMA))
    with pytest.raises(PlannerError, match=r"cut within its header.*kvbudget plan --model tiny\.gguf"):
        read_uploads({"tiny.gguf": header[:300]})


def test_one_part_of_a_split_file() -> None:
    keys, tensors = gguf_files.model("llama", 1, BLOCK, **LLAMA)
    header, _ = gguf_files.header({**keys, "split.count": 3}, tensors)
    with pytest.raises(PlannerError, match=r"one of 3 parts; kvbudget plan --model x\.gguf reads them all"):
        read_uploads({"x.gguf": header})


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "0 files were given; 1 to 32"),
        ({f"{n}.json": CONFIG_TEXT for n in range(33)}, "33 files were given"),
        ({"a.json": CONFIG_TEXT, "b.json": CONFIG_TEXT}, "a.json and b.json are 2 files where one config.json"),
        ({"i.json": index(1, "a.safetensors")}, "i.json: the model's config.json is missing"),
        ({"a.safetensors": b"\x02" + bytes(7) + b"{}"}, "the model's config.json is missing"),
        ({"config.json": CONFIG_TEXT, "a.safetensors": b"\xff\0\0\0\0\0\0\0{"}, "give at least its first 263 bytes"),
        ({"config.json": CONFIG_TEXT, "a.gguf": b"GGUF"}, "give it alone"),
        ({"a.gguf": b"GGML"}, "does not begin with GGUF"),
        ({"config.json": b"[]"}, "config.json holds a JSON list"),
    ],
)
def test_what_does_not_belong_together_gets_a_sentence(files: dict[str, bytes], sentence: str) -> None:
    with pytest.raises(PlannerError) as caught:
        read_uploads(files)
    assert sentence in str(caught.value)


def test_a_tensor_twice(tmp_path: Path) -> None:
    head = heads(tmp_path, checkpoint())
    with pytest.raises(PlannerError, match="is in two of the files"):
        read_uploads({"config.json": CONFIG_TEXT, "a.safetensors": head, "b.safetensors": head})


@given(name=st.sampled_from(["x.json", "x.gguf", "x.safetensors"]), content=st.binary(max_size=300))
def test_any_bytes_give_a_model_or_a_sentence(name: str, content: bytes) -> None:
    """Never anything else than a PlannerError."""
    for files in ({name: content}, {"config.json": CONFIG_TEXT, name: content}, {name: b"GGUF\3\0\0\0" + content}):
        try:
            read_uploads(files)
        except PlannerError as error:
            assert "\n" not in str(error)
