"""GGUF models that are not known, cannot be bounded or contradict themselves: an upper bound, or one sentence."""

from pathlib import Path

import gguf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import format_presets, preset_files
from planner.errors import BadFile, BadPreset, PlannerError, UnsupportedModel
from planner.kv_cache import model_specs
from planner.readers.gguf import read_gguf
from planner.readers.gguf.knowledge import parse_gguf_knowledge
from planner.units import counted
from tests.readers.gguf_files import (
    BLOCK,
    F32,
    FP16,
    KNOWLEDGE,
    LLAMA,
    NOTHING,
    Keys,
    Shapes,
    bytes_per_token,
    header,
    model,
    read,
    stored_bytes,
)


def test_an_unknown_architecture_is_bounded_from_above(tmp_path: Path) -> None:
    """Every trait that makes a known model smaller is ignored: windows, sharing, latent attention."""
    keys = LLAMA | {"attention__sliding_window": 4, "attention__shared_kv_layers": 1, "attention__key_length_mla": 4}
    found = read(tmp_path, model("newcomer", 2, BLOCK, **keys, attention__value_length_mla=4))
    assert bytes_per_token(found, at=100) == 2 * 2 * 8 * 2 * 2
    assert found.assumed
    assert found.warnings[0] == (
        "GGUF architecture 'newcomer' is not known: its cache is counted as attention over every token in every layer, "
        "the most that its head counts allow."
    )


def test_an_architecture_of_odd_letters_stays_one_readable_line(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel) as error:
        read(tmp_path, model("llama\x01\n" + 200 * "x", 1, BLOCK))
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 300


UNBOUNDED: dict[str, tuple[dict[str, tuple[int, ...]], dict[str, object], str]] = {
    "no heads": (BLOCK, {"attention__head_count_kv": 2}, "does not give its attention's head counts"),
    "states": ({"ssm_conv1d": (4, 64)}, LLAMA, "recurrent layers whose states are not understood"),
    "indexer": (BLOCK, LLAMA | {"attention__indexer__key_length": 8}, r"does: newcomer\.attention\.indexer\."),
    "compression": (BLOCK, LLAMA | {"attention__compress_ratios": [4]}, "keys that may keep more than attention does"),
    "wider keys": ({"attn_k": (64, 32)}, LLAMA, r"attn_k of 32 rows, where .*\.attention\.key_length make 16"),
    "wider projection": ({"attn_qkv": (64, 200)}, LLAMA, "an attn_qkv of 200 rows"),
}  # fmt: skip


@pytest.mark.parametrize(("block", "keys", "sentence"), UNBOUNDED.values(), ids=UNBOUNDED)
def test_an_unknown_architecture_without_a_bound_is_refused(
    tmp_path: Path, block: dict[str, tuple[int, ...]], keys: dict[str, object], sentence: str
) -> None:
    with pytest.raises(UnsupportedModel, match=sentence) as error:
        read(tmp_path, model("newcomer", 1, block, **keys))  # type: ignore[arg-type]
    assert "'newcomer'" in str(error.value)


def test_every_architecture_of_the_gguf_package_is_known() -> None:
    assert set(gguf.MODEL_ARCH_NAMES.values()) <= KNOWLEDGE.rules.keys() | KNOWLEDGE.refused.keys()


@pytest.mark.parametrize("architecture", KNOWLEDGE.refused)
def test_what_has_no_cache_is_refused_by_name(tmp_path: Path, architecture: str) -> None:
    with pytest.raises(UnsupportedModel) as error:
        read(tmp_path, model(architecture, 1, BLOCK, **LLAMA))
    assert str(error.value) == f"GGUF architecture {architecture!r} {KNOWLEDGE.refused[architecture]}."


def test_an_adapter_is_named_as_one(tmp_path: Path) -> None:
    keys, tensors = model("llama", 1, BLOCK, **LLAMA)
    with pytest.raises(
        BadFile, match=r"is an adapter's \('general.type'\), not a model's; plan the model that it is for"
    ):
        read(tmp_path, ({**keys, "general.type": "adapter"}, tensors))


@pytest.mark.parametrize("architecture", KNOWLEDGE.rules)
def test_a_renamed_architecture_never_counts_less(tmp_path: Path, architecture: str) -> None:
    """The same file under a name that nobody knows: at least as many bytes, or refused."""
    rule = KNOWLEDGE.rules[architecture]
    block = {"attn_k": (64, 16)}
    keys: dict[str, object] = LLAMA | {"attention__sliding_window": 4}
    if rule.needs_pattern:
        keys["attention__sliding_window_pattern"] = [True, False]
    if rule.state == "lightning_attention":
        keys["attention__key_length"] = keys["attention__value_length"] = 8
    if rule.compressed or rule.indexed:
        keys |= {"attention__key_length": 8, "rope__dimension_count": 4, "attention__indexer__key_length": 8}
        keys |= {"attention__compress_ratios": [4, 128]} if rule.compressed else {}
        read(tmp_path, model(architecture, 2, block, **keys))  # type: ignore[arg-type]
        with pytest.raises(UnsupportedModel, match="keys that may keep more than attention does"):
            read(tmp_path, model("newcomer", 2, block, **keys))  # type: ignore[arg-type]
        return
    known = read(tmp_path, model(architecture, 2, block, **keys))  # type: ignore[arg-type]
    renamed = read(tmp_path, model("newcomer", 2, block, **keys))  # type: ignore[arg-type]
    for tokens in (1, 4, 1000):
        specs = [model_specs(found.layers, FP16, FP16) for found in (known, renamed)]
        growing = [sum(spec.bytes_for(tokens) - spec.fixed_bytes for spec in one) for one in specs]
        assert growing[0] <= growing[1]


WRONG: dict[str, tuple[tuple[Keys, Shapes], str]] = {
    "no architecture": (({}, {"a": (F32, (1,))}), "does not name its general.architecture"),
    "no layers": (({"general.architecture": "llama", "llama.block_count": 2}, {"a": (F32, (1,))}), "has no layers"),
    "no block count": (({"general.architecture": "llama"}, {"a": (F32, (1,))}), "llama.block_count is missing"),
    "many blocks": (model("llama", 1, BLOCK, **LLAMA, block_count=5000), "block_count is 5,000"),
    "few blocks": (model("llama", 3, BLOCK, **LLAMA, block_count=2), "tensors of layer 2, but llama.block_count is 2"),
    "no embedding": (
        ({"general.architecture": "llama", "llama.block_count": 1}, {"blk.0.a": (F32, (1,))}),
        "llama.embedding_length is missing",
    ),
    "a text": (model("llama", 1, BLOCK, attention__head_count="eight"), "head_count is eight, not a sensible"),
    "a float": (model("llama", 1, BLOCK, attention__head_count=8.0), "is 8.0, not a sensible"),
    "too large": (model("llama", 1, NOTHING, **LLAMA, attention__key_length=2**31), "is 2147483648, not a sensible"),
    "few entries": (model("llama", 3, BLOCK, attention__head_count=[8, 8]), "has 2 entries for 3 layers"),
    "no heads": (model("llama", 1, BLOCK, attention__head_count=0), "layer 0 has attention tensors, but"),
    "keys": (model("llama", 1, BLOCK, attention__head_count=8), "an attn_k of 16 rows"),
    "no state size": (model("mamba", 1, {"ssm_in": (64, 64)}, attention__head_count=0), "ssm.inner_size is missing"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "sentence"), WRONG.values(), ids=WRONG)
def test_metadata_that_cannot_be_is_one_sentence(tmp_path: Path, made: tuple[Keys, Shapes], sentence: str) -> None:
    with pytest.raises(PlannerError) as error:
        read(tmp_path, made)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"types": {"x": "fp32"}}, r"types\.x must be the name of a format"),
        ({"types": {"0": "nonsense"}}, r"types\.0 must be the name of a format"),
        ({"architectures": {"full": "llama"}}, "architectures.full must be a list"),
        (
            {"architectures": {"full": ["a"], "rules": {"a": {}}, "refused": {}}},
            "a is in architectures.full and has a rule",
        ),
        ({"architectures": {"full": [], "rules": {"a": {"perod": 4}}, "refused": {}}}, "a.perod is not a known key"),
        ({"architectures": {"full": [], "rules": {"a": {"period": True}}, "refused": {}}}, "a.period must be int"),
        ({"architectures": {"full": [], "rules": {"a": {"state": "gas"}}, "refused": {}}}, "a.state must be one of"),
        ({"architectures": {"full": ["a"], "rules": {}, "refused": {"a": "x"}}}, "refused.a must be a reason"),
    ],
)
def test_wrong_knowledge_is_reported_by_path(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadPreset, match=sentence):
        parse_gguf_knowledge(
            preset_files.load_toml(preset_files.PRESETS / "gguf.toml") | changes, format_presets.formats()
        )


_DAMAGED_KEYS: dict[str, int | list[bool]] = {
    **LLAMA, "attention__sliding_window": 16, "attention__sliding_window_pattern": [True, False],
    "ssm__conv_kernel": 4, "ssm__inner_size": 64, "ssm__state_size": 16, "nextn_predict_layers": 1,
}  # fmt: skip
_HEADERS = [header(*model(name, 2, BLOCK, **_DAMAGED_KEYS)) for name in ("gemma4", "qwen35", "deepseek2", "unheard")]


@given(st.data())
@settings(max_examples=300, deadline=1000)
def test_a_damaged_model_never_gives_more_than_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever bytes of its metadata change: an architecture, or a PlannerError."""
    head, size = data.draw(st.sampled_from(_HEADERS))
    damaged = bytearray(head)
    for _ in range(data.draw(st.integers(1, 5))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.gguf"
    path.write_bytes(bytes(damaged) + b"\0" * size)
    try:
        found = read_gguf(path, KNOWLEDGE)
    except PlannerError:
        return
    assert stored_bytes(found) <= size


def test_layers_without_tensors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"x\.gguf has no tensors of layer 2, but llama\.block_count is 4"):
        read(tmp_path, model("llama", 2, BLOCK, **LLAMA, block_count=4))


@pytest.mark.parametrize("heads", [[2], [2, 2, 2]])
def test_a_list_of_another_length_than_the_layers_is_refused(tmp_path: Path, heads: list[int]) -> None:
    keys = {**LLAMA, "attention__head_count_kv": heads}
    with pytest.raises(UnsupportedModel, match=rf"head_count_kv has {counted(len(heads), 'entry')} for 2 layers"):
        read(tmp_path, model("llama", 2, BLOCK, **keys))


def test_a_pointer_to_a_file_is_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 123\n")
    with pytest.raises(BadFile, match=r"x\.gguf is a Git LFS pointer, not the file itself: fetch it"):
        read_gguf(path, KNOWLEDGE)
