"""Safetensors headers: exact bytes, shards, and one sentence for every file that is not what it says."""

import json
import tracemalloc
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from planner.errors import BadFile, PlannerError
from planner.readers.safetensors import has_safetensors, read_safetensors
from planner.readers.safetensors.header import header_length, parse_header
from planner.readers.safetensors.index import parse_index
from planner.readers.stored_tensors import DTYPE_BITS, StoredTensors
from tests.readers.safetensors_files import header, write, write_index

TWO = {"a.weight": ("BF16", (4, 8)), "b.weight": ("F32", (3,))}


def test_reads_what_the_safetensors_library_writes(tmp_path: Path) -> None:
    save_file({"a": np.zeros((2, 3), np.float16), "b": np.zeros((5,), np.int64)}, tmp_path / "x.safetensors")
    stored = read_safetensors(tmp_path / "x.safetensors")
    assert {(t.name, t.dtype, t.shape, t.bytes) for t in stored} == {("a", "F16", (2, 3), 12), ("b", "I64", (5,), 40)}
    assert stored.bytes == 52


@pytest.mark.parametrize("dtype", DTYPE_BITS)
def test_every_type_takes_its_bits(tmp_path: Path, dtype: str) -> None:
    assert write(tmp_path / "x.safetensors", {"w": (dtype, (3, 8))}) == 3 * DTYPE_BITS[dtype]
    assert read_safetensors(tmp_path / "x.safetensors").bytes == 3 * DTYPE_BITS[dtype]


def test_scalars_and_empty_tensors_are_tensors(tmp_path: Path) -> None:
    write(tmp_path / "x.safetensors", {"scalar": ("F32", ()), "empty": ("BF16", (0, 7)), "w": ("U8", (3,))})
    stored = read_safetensors(tmp_path / "x.safetensors")
    assert {t.name: t.bytes for t in stored} == {"scalar": 4, "empty": 0, "w": 3}


def test_a_folder_is_read_through_its_index(tmp_path: Path) -> None:
    first = write(tmp_path / "model-00001-of-00002.safetensors", {"a": ("BF16", (4,))})
    second = write(tmp_path / "model-00002-of-00002.safetensors", {"b": ("BF16", (6,))})
    # Mistral's repositories hold the same weights a second time under another name.
    write(tmp_path / "consolidated.safetensors", {"copy": ("BF16", (10,))})
    weight_map = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    write_index(tmp_path / "model.safetensors.index.json", weight_map, first + second)
    stored = read_safetensors(tmp_path)
    assert stored.bytes == 20
    assert [t.name for t in stored] == ["a", "b"]
    assert has_safetensors(tmp_path)


def test_shards_without_an_index_belong_together_by_name(tmp_path: Path) -> None:
    write(tmp_path / "model-00001-of-00003.safetensors", {"a": ("BF16", (4,))})
    write(tmp_path / "model-00003-of-00003.safetensors", {"b": ("BF16", (6,))})
    stored = read_safetensors(tmp_path)
    assert stored.bytes == 20
    assert stored.missing_files == ("model-00002-of-00003.safetensors",)


def test_an_index_alone_gives_its_files_and_its_own_total(tmp_path: Path) -> None:
    write_index(tmp_path / "model.safetensors.index.json", {"a": "x.safetensors", "b": "y.safetensors"}, 1234)
    stored = read_safetensors(tmp_path / "model.safetensors.index.json")
    assert (stored.groups, stored.missing_files) == ((), ("x.safetensors", "y.safetensors"))
    assert parse_index((tmp_path / "model.safetensors.index.json").read_bytes(), "x").total_bytes == 1234
    assert stored.warnings == (
        "model.safetensors.index.json is incomplete: x.safetensors, y.safetensors not found, so the shapes and bytes "
        "of their tensors are not known.",
    )


def test_only_the_tensors_of_missing_shards_are_unknown(tmp_path: Path) -> None:
    write(tmp_path / "x.safetensors", {"a": ("BF16", (4,))})
    write_index(tmp_path / "model.safetensors.index.json", {"a": "x.safetensors", "b": "y.safetensors"})
    stored = read_safetensors(tmp_path)
    assert (stored.bytes, stored.missing_files) == (8, ("y.safetensors",))


def test_half_a_terabyte_opens_in_little_memory(tmp_path: Path) -> None:
    tensors = {f"model.layers.{i}.mlp.up_proj.weight": ("BF16", (2**14, 2**14)) for i in range(1000)}
    assert write(tmp_path / "model.safetensors", tensors) == 1000 * 2**29
    tracemalloc.start()
    stored = read_safetensors(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stored.bytes == 536_870_912_000
    assert peak < 4 * 2**20


def test_a_mixture_of_many_small_tensors_opens_in_little_memory(tmp_path: Path) -> None:
    """24,576 tensors in shards with an index, as a quantised mixture of experts has them: few kinds, many names."""
    weight_map = {}
    for layer in range(16):
        file = f"model-{layer + 1:05}-of-00016.safetensors"
        tensors = {
            f"model.layers.{layer}.mlp.experts.{expert}.{projection}_proj.{part}": kind
            for expert in range(256)
            for projection in ("gate", "up", "down")
            for part, kind in (("weight", ("F8_E4M3", (256, 256))), ("weight_scale_inv", ("F32", (2, 2))))
        }
        write(tmp_path / file, tensors)
        weight_map |= dict.fromkeys(tensors, file)
    write_index(tmp_path / "model.safetensors.index.json", weight_map)
    tracemalloc.start()
    stored = read_safetensors(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert stored.bytes == 16 * 256 * 3 * (256 * 256 + 16)
    assert [len(group.packed) for group in stored.groups] == 6 * [16 * 256]
    assert peak < 2 * 2**20


NAMES_AND_KINDS = st.dictionaries(
    st.one_of(
        st.from_regex(r"model\.layers\.\d{1,7}\.(mlp\.experts\.\d{1,3}\.)?\w{1,3}", fullmatch=True),
        st.text(max_size=4),
    ).filter(lambda name: name != "__metadata__" and "#" not in name),
    st.tuples(st.sampled_from(sorted(DTYPE_BITS)), st.lists(st.integers(0, 8), max_size=3)),
)


@given(NAMES_AND_KINDS, st.sampled_from([None, 1]), st.booleans(), st.booleans())
def test_a_header_means_the_same_however_it_is_written(
    kinds: dict[str, tuple[str, list[int]]], indent: int | None, as_ascii: bool, backwards: bool
) -> None:
    """Spaces, escapes and the order of entries and keys change the way it is read, not what is read."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in kinds.items():
        whole = [*shape, 8]
        start, end = end, end + prod(whole) * DTYPE_BITS[dtype] // 8
        entries[name] = {"dtype": dtype, "shape": whole, "data_offsets": [start, end]}
    text = json.dumps(entries, indent=indent, ensure_ascii=as_ascii).encode(errors="surrogatepass")
    if backwards:
        text = json.dumps(dict(reversed(entries.items())), sort_keys=True).encode()
    try:
        table = parse_header(text, end, "x")
    except BadFile:
        assert any("\ud800" <= letter <= "\udfff" for name in kinds for letter in name)
        return
    found = {(t.name, t.dtype, t.shape) for group in table.groups() for t in group}
    assert found == {(name, dtype, (*shape, 8)) for name, (dtype, shape) in kinds.items()}


def entry(**changes: object) -> dict[str, object]:
    return {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]} | changes


HOSTILE = {
    "no object": (b"[]", "is a JSON list, not an object"),
    "no JSON": (b"{,}", "is not JSON"),
    "no text": (b'{"\xff": 1}', "is not UTF-8"),
    "deep": (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    "digits": (b'{"a": ' + b"9" * 5000 + b"}", "too many digits"),
    "twice": (b'{"a": {}, "a": {}}', "names 'a' twice"),
    "key twice": (b'{"a": {"dtype": "U8", "dtype": "U8"}}', "names 'dtype' twice"),
    "not described": (b'{"a": {"dtype": "U8"}}', "not described by"),
    "surplus key": ({"a": entry(more=1)}, "not described by"),
    "dtype": ({"a": entry(dtype="Q4")}, "has dtype 'Q4'"),
    "dtype list": ({"a": entry(dtype=["U8"])}, "has dtype"),
    "negative": ({"a": entry(shape=[-4])}, "whole numbers from 0"),
    "float": ({"a": entry(shape=[4.0])}, "whole numbers from 0"),
    "boolean": ({"a": entry(shape=[True, 4])}, "whole numbers from 0"),
    "huge": ({"a": entry(shape=[2**63])}, "whole numbers from 0"),
    "product": ({"a": entry(shape=[2**40, 2**40])}, "2^63 elements"),
    "many dimensions": ({"a": entry(shape=[1] * 100)}, "whole numbers from 0"),
    "three offsets": ({"a": entry(data_offsets=[0, 1, 4])}, "two as data_offsets"),
    "size": ({"a": entry(shape=[5])}, "takes 4 bytes where 5 elements of U8 take 5"),
    "backwards": ({"a": entry(data_offsets=[4, 0])}, "ends at byte 0, before it starts at byte 4"),
    "half a byte": ({"a": entry(dtype="F4", shape=[7])}, "take 4"),
    "overlap": ({"a": entry(), "b": entry(data_offsets=[2, 6])}, "overlaps the tensor before it"),
    "gap": ({"a": entry(), "b": entry(data_offsets=[6, 10])}, "leaves a gap"),
    "cut short": ({"a": entry(), "b": entry(data_offsets=[4, 8])}, "is cut short"),
    "surplus bytes": ({}, "has bytes that no tensor describes"),
    "metadata twice": (b'{"__metadata__": {"a": "b", "a": "c"}}', "names 'a' twice"),
    "metadata's text": (b'{"__metadata__": {"a": "\xff"}}', "is not UTF-8"),
    "other spaces": (b'{"a": {"dtype": "U8", "shape": [\x0b4], "data_offsets": [0, 4]}}', "is not JSON"),
    "huge beside none": ({"a": entry(shape=[0, 2**63], data_offsets=[0, 0])}, "whole numbers from 0"),
}


@pytest.mark.parametrize(("text", "sentence"), HOSTILE.values(), ids=HOSTILE)
def test_a_wrong_header_is_refused_in_one_sentence(text: object, sentence: str) -> None:
    data = text if isinstance(text, bytes) else json.dumps(text).encode()
    with pytest.raises(BadFile) as error:
        parse_header(data, 4, "x.safetensors")
    assert sentence in str(error.value)
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "too short"),
        (b"\x01\x00\x00", "too short"),
        (b"\xff" * 8, "it is not a safetensors file"),
        ((10**9).to_bytes(8, "little"), "it is not a safetensors file"),
        ((100).to_bytes(8, "little") + b"{}", "header of 100 bytes is not all there"),
    ],
)
def test_a_wrong_length_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(BadFile, match=sentence):
        read_safetensors(tmp_path / "x.safetensors")


@pytest.mark.parametrize(
    ("index", "sentence"),
    [
        ([], "has no weight_map"),
        ({"weight_map": {}}, "has no weight_map"),
        ({"weight_map": {"a": 1}}, "must be in a .safetensors file beside the index"),
        ({"weight_map": {"a": "../x.safetensors"}}, "beside the index"),
        ({"weight_map": {"a": "/etc/x.safetensors"}}, "beside the index"),
        ({"weight_map": {"a": "..\\x.safetensors"}}, "beside the index"),
        ({"weight_map": {"a": "\ud800.safetensors"}}, "beside the index"),
        ({"weight_map": {"a": "x.bin"}}, "must be in a .safetensors file"),
        ({"weight_map": {"z": "here.safetensors"}}, "says that 'z' is in here.safetensors, which does not have it"),
        ({"weight_map": {"a": "x.safetensors"}, "metadata": {"total_size": "x"}}, "total_size must be a number"),
        ({"metadata": {"weight_map": {"a": "x.safetensors"}}, "weight_map": {}}, "has no weight_map"),
    ],
)
def test_a_wrong_index_is_refused(tmp_path: Path, index: object, sentence: str) -> None:
    write(tmp_path / "here.safetensors", {"a": ("U8", (1,))})
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(BadFile, match=sentence):
        read_safetensors(tmp_path)


def test_a_wrong_index_says_where(tmp_path: Path) -> None:
    """The place of a fault after the names is its place in the file."""
    text = '{"weight_map": {"a": "x.safetensors"}, ]'
    (tmp_path / "model.safetensors.index.json").write_text(text)
    with pytest.raises(BadFile, match=f"at character {len(text) - 1}"):
        read_safetensors(tmp_path)


def test_a_tensor_in_two_shards_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "x.safetensors", {"a": ("U8", (1,))})
    write(tmp_path / "y.safetensors", {"a": ("U8", (1,)), "b": ("U8", (1,))})
    write_index(tmp_path / "model.safetensors.index.json", {"a": "x.safetensors", "b": "y.safetensors"})
    with pytest.raises(BadFile, match="tensor 'a' is in two files"):
        read_safetensors(tmp_path)


def test_folders_that_do_not_say_what_belongs_together(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"no \.safetensors file"):
        read_safetensors(tmp_path)
    assert not has_safetensors(tmp_path)
    write(tmp_path / "one.safetensors", {"a": ("U8", (1,))})
    assert read_safetensors(tmp_path).bytes == 1
    write(tmp_path / "two.safetensors", {"b": ("U8", (2,))})
    with pytest.raises(BadFile, match="name one file"):
        read_safetensors(tmp_path)
    write(tmp_path / "model.safetensors", {"c": ("U8", (3,))})
    assert read_safetensors(tmp_path).bytes == 3


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"gone.safetensors cannot be read: No such file"):
        read_safetensors(tmp_path / "gone.safetensors")


GOOD, GOOD_BYTES = header(TWO)


@given(st.data())
@settings(max_examples=300, deadline=1000)
def test_a_damaged_header_never_gives_more_than_a_sentence(data: st.DataObject) -> None:
    """Whatever bytes change or are cut off: tensors that fill the file exactly, or a PlannerError."""
    text = bytearray(len(GOOD).to_bytes(8, "little") + GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    text = text[: data.draw(st.integers(0, len(text)))]
    try:
        length = header_length(bytes(text), "x")
        table = parse_header(bytes(text[8 : 8 + length]), GOOD_BYTES, "x")
    except PlannerError:
        return
    assert StoredTensors(source="x", groups=table.groups()).bytes == GOOD_BYTES
