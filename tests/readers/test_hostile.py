"""Laws on hostile input: whatever a file holds, it is read or refused with one sentence, and quickly."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.architecture import Architecture
from planner.errors import BadFile, BadPreset, PlannerError
from planner.readers.families import parse_family
from planner.readers.family import Family
from planner.readers.hf_config import read_config
from planner.readers.json_text import parse_json
from planner.weights import parameters
from tests.readers.knowledge import KNOWLEDGE
from tests.readers.test_hf_config import MODELS, config_of

HOSTILE = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 3, 2**31, 2**63, -(2**63), 10**40]),
    st.sampled_from([0.0, 1.5, 4096.0, float("inf"), float("-inf"), float("nan")]),
    st.sampled_from(["", "4096", "auto", "full_attention", "\u0000", "x" * 10_000, "../llama"]),
    st.recursive(
        st.one_of(st.none(), st.integers(-2, 5), st.text(max_size=3)),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
)
SOME = sorted({str(config_of(name)["model_type"]): name for name in MODELS if "model_type" in config_of(name)}.values())


@st.composite
def mutated_configs(draw: st.DrawFn) -> dict[str, object]:
    """A published config with a few of its keys, at any depth, dropped or given hostile values."""
    config = copy.deepcopy(config_of(draw(st.sampled_from(SOME))))
    for _ in range(draw(st.integers(1, 4))):
        table: dict[str, object] = config
        while True:
            key = draw(st.sampled_from(sorted(table)))
            inner = table[key]
            if not (isinstance(inner, dict) and inner and draw(st.booleans())):
                break
            table = inner
        if draw(st.booleans()) and len(table) > 1:
            del table[key]
        else:
            table[key] = draw(HOSTILE)
    return config


@settings(deadline=5000)
@given(mutated_configs())
def test_mutated_config_is_read_or_refused_in_one_sentence(config: dict[str, object]) -> None:
    try:
        architecture = read_config(config, KNOWLEDGE)
    except PlannerError as refusal:
        assert str(refusal).endswith(".")
        assert len(str(refusal)) < 600
        return
    assert isinstance(architecture, Architecture)
    assert 1 <= len(architecture.layers) <= 4096
    assert 0 < parameters(architecture) < 2**80


KEYS = st.sampled_from(
    sorted({key for name in MODELS for key in config_of(name)} | {"nominal_parameters", "warp_factor"})
)


@settings(deadline=5000)
@given(
    st.dictionaries(KEYS, HOSTILE, max_size=12), st.sampled_from(["llama", "gemma3", "falcon", "strange", "_unknown"])
)
def test_any_object_is_read_or_refused(config: dict[str, object], model_type: str) -> None:
    for table in (config, {**config, "model_type": model_type}):
        try:
            assert isinstance(read_config(table, KNOWLEDGE), Architecture)
        except PlannerError as refusal:
            assert str(refusal)


@given(
    st.binary(max_size=200) | st.text(max_size=100) | st.dictionaries(st.text(), HOSTILE, max_size=3).map(json.dumps)
)
def test_any_text_is_an_object_or_refused(data: bytes | str) -> None:
    try:
        assert isinstance(parse_json(data), dict)
    except BadFile as refusal:
        assert str(refusal).startswith("config.json ")


TABLE_KEYS = [
    "source",
    "retrieved",
    "refused",
    "nested",
    "aliases",
    "defaults",
    "structure",
    "instead",
    "conditions",
    "extra",
    "towers",
]


@given(st.dictionaries(st.sampled_from(TABLE_KEYS) | st.text(max_size=5), HOSTILE, max_size=6))
def test_any_table_is_a_family_or_refused_by_path(table: dict[str, object]) -> None:
    try:
        assert isinstance(parse_family("mine", {"source": "s", "retrieved": "2026-01-01", **table}), Family)
    except BadPreset as refusal:
        assert str(refusal).startswith("class_defaults/mine.toml: ")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"structure": {"warp": True}}, "structure.warp is not a known switch."),
        ({"structure": {"windows": "most"}}, "structure.windows must be one of: none, all,"),
        ({"structure": {"qkv_bias": "use_bias"}}, "defaults.use_bias is missing, and structure.qkv_bias asks for it."),
        ({"structure": {"norms_per_layer": True}}, "structure.norms_per_layer must be a whole number."),
        ({"defaults": {}}, "defaults.tie_word_embeddings is missing."),
        ({"extra": [{"name": "a"}]}, "extra[0]: columns is missing."),
        (
            {"towers": [{"kind": "smell", "config": "c"}]},
            "towers[0].kind must be one of: vision, audio, speech, projector.",
        ),
        ({"conditions": [{"structure": {}}]}, "conditions[0]: if is missing."),
    ],
)
def test_wrong_family_is_reported_by_path(table: dict[str, object], sentence: str) -> None:
    full = {"source": "s", "retrieved": "2026-01-01", "defaults": {"tie_word_embeddings": False}, **table}
    with pytest.raises(BadPreset) as refusal:
        parse_family("mine", full)
    assert str(refusal.value).startswith(f"class_defaults/mine.toml: {sentence}")
