"""GGUF headers: every type to the byte, both byte orders, and one sentence for every file that is not what it says."""

import io
import struct
import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import BadFile, PlannerError
from planner.readers.gguf.cursor import MAX_HEADER_BYTES
from planner.readers.gguf.header import GgufHeader, Skipped, read_header
from tests.readers.gguf_files import F16, F32, KNOWLEDGE, Q4_0, Q4_K, Q8_0, header, tensor_info, text, value, write

KEYS = {"general.architecture": "llama", "llama.block_count": 2, "tokenizer.ggml.tokens": ["a", "bc", ""]}
TENSORS = {"a": (F32, (3, 2)), "b": (Q8_0, (64, 5)), "c": (F16, (7,))}


def read(data: bytes, size: int | None = None) -> GgufHeader:
    return read_header(io.BytesIO(data), len(data) if size is None else size, "x.gguf", KNOWLEDGE.types)


def read_file(path: Path) -> GgufHeader:
    with path.open("rb") as file:
        return read_header(file, path.stat().st_size, path.name, KNOWLEDGE.types)


# Q8_1 exists only while computing; the package still has its size from before ggml halved its two sums.
STORED_TYPES = [kind for kind in gguf.GGMLQuantizationType if kind.name != "Q8_1"]


@pytest.mark.parametrize("kind", STORED_TYPES, ids=lambda kind: kind.name)
def test_every_type_of_the_gguf_package_equals_its_file(tmp_path: Path, kind: gguf.GGMLQuantizationType) -> None:
    """The writer lays out whole blocks of bytes; what it wrote is what is counted."""
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    rows, blocks = 6, 4
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    writer.add_tensor("w", np.zeros((rows, blocks * size), np.uint8), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (tensor,) = read_file(tmp_path / "x.gguf").tensors
    assert tensor.shape == (blocks * elements, rows)
    assert tensor.bytes == rows * blocks * size
    reader = gguf.GGUFReader(tmp_path / "x.gguf")
    assert tensor.bytes == reader.tensors[0].n_bytes


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [2, 3])
def test_both_byte_orders_and_versions_read_alike(tmp_path: Path, order: str, version: int) -> None:
    assert write(tmp_path / "x.gguf", KEYS, TENSORS, order, version) == 24 + 340 + 14
    found = read_file(tmp_path / "x.gguf")
    assert [(t.name, t.shape, t.bytes) for t in found.tensors] == [
        ("a", (3, 2), 24),
        ("b", (64, 5), 340),
        ("c", (7,), 14),
    ]
    assert found.metadata["llama.block_count"] == 2
    assert found.metadata["tokenizer.ggml.tokens"] == Skipped(length=3)


def test_kinds_of_values_are_kept_or_passed_over() -> None:
    keys = {
        "number": 7, "float": 0.5, "flag": True, "text": "abc", "numbers": [1, 2, 3], "flags": [True, False],
        "long text": "x" * 5000, "long array": list(range(3000)), "empty": [], "after": 9,
    }  # fmt: skip
    data, _ = header(keys, {})
    assert read(data).metadata == {
        "number": 7, "float": 0.5, "flag": True, "text": "abc", "numbers": (1, 2, 3), "flags": (1, 0),
        "long text": Skipped(length=5000), "long array": Skipped(length=3000), "empty": (), "after": 9,
    }  # fmt: skip


def test_strings_are_passed_over_across_windows() -> None:
    """A vocabulary much longer than one window of the reader, with one string that is longer still."""
    data, _ = header({"tokens": ["token"] * 200_000 + ["y" * 3_000_000] + ["z"], "after": 5}, {})
    assert read(data).metadata["after"] == 5


def test_an_unknown_type_is_measured_by_its_offsets() -> None:
    """A type from 97 up is one of ik_llama.cpp's; the tensor after it says where it ends."""
    infos = tensor_info("odd", 251, (256, 4), 0) + tensor_info("plain", F32, (8,), 608)
    data = b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + infos
    data += b"\0" * (-len(data) % 32) + b"\0" * 640
    found = read(data)
    assert [(t.name, t.format, t.bytes) for t in found.tensors[:1]] == [("odd", None, 608)]


def test_half_a_terabyte_opens_in_little_memory(tmp_path: Path) -> None:
    keys = {"general.architecture": "llama", "tokens": ["token"] * 256_000, "merges": ["to ken"] * 512_000}
    tensors = {f"blk.{i}.ffn_up.weight": (F16, (2**14, 2**14)) for i in range(1000)}
    assert write(tmp_path / "x.gguf", keys, tensors) == 1000 * 2**29
    read_file(tmp_path / "x.gguf")
    tracemalloc.start()
    found = read_file(tmp_path / "x.gguf")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.tensors) == 1000
    assert peak < 6 * 2**20


START = b"GGUF" + struct.pack("<I", 3)


def counts(tensors: int, keys: int) -> bytes:
    return START + struct.pack("<QQ", tensors, keys)


def one_key(content: bytes, key: str = "k") -> bytes:
    return counts(0, 1) + text(key) + content + b"\0" * 64


def one_tensor(
    name: str = "w", kind: int = F32, shape: tuple[int, ...] = (8,), offset: int = 0, more: bytes = b""
) -> bytes:
    data = counts(1 + bool(more), 0) + tensor_info(name, kind, shape, offset) + more
    return data + b"\0" * (-len(data) % 32) + b"\0" * 64


def array(kind: int, length: int) -> bytes:
    return struct.pack("<IIQ", 9, kind, length)


HOSTILE = {
    "empty": (b"", "does not begin with GGUF"),
    "magic": (b"GGML" + b"\0" * 100, "does not begin with GGUF"),
    "version 1": (b"GGUF" + struct.pack("<I", 1) + b"\0" * 100, "version 1; versions 2 and 3"),
    "version 0": (b"GGUF" + struct.pack("<I", 0) + b"\0" * 100, "version 0; versions 2 and 3"),
    "no counts": (START, "is cut short"),
    "key count": (counts(0, 2**63), "9,223,372,036,854,775,808 keys"),
    "keys without room": (counts(0, 100) + b"\0" * 100, "100 keys, more than it can have"),
    "tensor count": (counts(2**64 - 1, 0) + b"\0" * 100, "tensors, more than it can have"),
    "key length": (counts(0, 1) + struct.pack("<Q", 2**40) + b"\0" * 64, "a key of 1,099,511,627,776 bytes"),
    "key not text": (counts(0, 1) + struct.pack("<Q", 1) + b"\xff" + b"\0" * 64, "a key that is not UTF-8"),
    "empty key": (counts(0, 1) + text("") + value(1) + b"\0" * 64, "an empty key"),
    "key twice": (counts(0, 2) + (text("k") + value(1)) * 2 + b"\0" * 64, "the key 'k' twice"),
    "value type": (one_key(struct.pack("<I", 99)), "value of type 99"),
    "string length": (one_key(struct.pack("<IQ", 8, 2**62)), "is cut short"),
    "array length": (one_key(array(4, 2**60)), "1,152,921,504,606,846,976 elements"),
    "array without room": (one_key(array(4, 2**20)), "is cut short"),
    "array of arrays": (one_key(array(9, 1)), "value of type 9"),
    "strings without room": (one_key(array(8, 2**20)), "more strings than the file has room for"),
    "string in array": (one_key(array(8, 2) + struct.pack("<Q", 2**50)), "is cut short"),
    "last string in array": (one_key(array(8, 1) + struct.pack("<Q", 2**50)), "is cut short"),
    "alignment 0": (one_key(value(0), "general.alignment"), "must be a power of two"),
    "alignment 48": (one_key(value(48), "general.alignment"), "general.alignment is 48"),
    "alignment text": (one_key(value("32"), "general.alignment"), "must be a power of two"),
    "alignment float": (one_key(value(32.0), "general.alignment"), "must be a power of two"),
    "name length": (counts(1, 0) + struct.pack("<Q", 300) + b"\0" * 400, "a tensor name of 300 bytes"),
    "dimensions": (counts(1, 0) + text("w") + struct.pack("<I", 5) + b"\0" * 100, "5 dimensions"),
    "negative dimension": (one_tensor(shape=(2**64 - 1,)), "2^63 elements or more"),
    "product": (one_tensor(shape=(2**32, 2**32)), "2^63 elements or more"),
    "hidden product": (one_tensor(shape=(2**63, 0)), "2^63 elements or more"),
    "half a block": (one_tensor(kind=Q4_K, shape=(8,)), "rows of 8 elements, which blocks of 256"),
    "offset": (one_tensor(offset=32), "begins at byte 32 of the data, and must begin at 0"),
    "overlap": (one_tensor(more=tensor_info("v", F32, (8,), 0)), "'v' begins at byte 0 of the data, and must"),
    "tensor twice": (one_tensor(more=tensor_info("w", F32, (8,), 32)), "'w' is there twice"),
    "cut short": (one_tensor(shape=(8, 100)), "is cut short: tensor 'w' ends at byte 3,200"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "sentence"), HOSTILE.values(), ids=HOSTILE)
def test_a_wrong_header_is_refused_in_one_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(BadFile) as error:
        read(data)
    assert sentence in str(error.value)
    assert len(str(error.value)) < 250
    assert "\n" not in str(error.value)


def test_a_header_that_never_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    content = counts(0, 2) + text("long") + struct.pack("<IQ", 8, MAX_HEADER_BYTES) + text("k") + value(1)
    path.write_bytes(content)
    with path.open("r+b") as file:
        file.truncate(2 * MAX_HEADER_BYTES)
    with pytest.raises(BadFile, match="a header of more than 256 MiB"):
        read_file(path)


GOOD, GOOD_BYTES = header(KEYS, {"a": (F32, (3, 2)), "b": (Q4_0, (64, 5))})
GOOD += b"\0" * GOOD_BYTES


@given(st.data())
@settings(max_examples=500, deadline=1000)
def test_a_damaged_header_never_gives_more_than_a_sentence(data: st.DataObject) -> None:
    """Whatever bytes change or are cut off: tensors that lie in the file, or a PlannerError."""
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(0, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = damaged[: data.draw(st.integers(0, len(damaged)))]
    try:
        found = read(bytes(damaged))
    except PlannerError:
        return
    assert sum(tensor.bytes for tensor in found.tensors) <= len(damaged)
