"""What a file leaves to its class is said wherever it decides much of the weights or of the cache."""

import re
from typing import Any

import pytest

from planner import presets
from planner.errors import PlannerError
from planner.readers.hf_config import read_config
from planner.readers.left_out import SIZES
from planner.weights import parameters
from tests.oracle import our_reading
from tests.readers.knowledge import KNOWLEDGE, NAMES, find_family
from tests.readers.test_missing_keys import BY_FAMILY, SAID, TOKENS, replaced
from tests.readers.test_remote_wrappers import MINICPM_O, YOUTU_VL

LARGE = 1.15
BY_LAYER = ("compress_rate_csa", "compress_rate_hca")
"""What ``compress_ratios`` says for each layer."""
FLAT = {name: config for name, config in BY_FAMILY.items() if not find_family(name).nested}  # type: ignore[union-attr]


def sizes(config: dict[str, Any]) -> tuple[int, int]:
    architecture = read_config(config, KNOWLEDGE)
    return parameters(architecture), our_reading(architecture, (TOKENS,)).cache_bytes[TOKENS]


def without(config: dict[str, Any], key: str, *value: int) -> dict[str, Any]:
    """*config* with no spelling of *key*, or with one *value* of it."""
    rules = find_family(config["model_type"])
    assert rules is not None
    spellings = {spelling.partition(".")[0] for spelling in (key, *rules.aliases.get(key, ()))}
    left = {name: entry for name, entry in config.items() if name not in spellings}
    return left | dict(zip([key], value, strict=False))


def defaults(name: str) -> dict[str, int]:
    """The family's whole numbers of some size; a number of one is how its class is without such a part."""
    family = find_family(name)
    assert family is not None
    least = {"num_key_value_heads": 1}
    return {key: value for key, value in family.defaults.items() if type(value) is int and value >= least.get(key, 2)}


@pytest.mark.parametrize("name", FLAT)
def test_a_size_from_the_class_is_said(name: str) -> None:
    for key in defaults(name).keys() & SIZES:
        try:
            found = read_config(without(FLAT[name], key), KNOWLEDGE)
        except PlannerError:
            continue
        said = [warning.removeprefix(SAID) for warning in found.warnings if warning.startswith(SAID)]
        if key not in re.findall(r"\w+", ", ".join(said)):  # so nothing looked at it
            more = read_config(without(FLAT[name], key, 2 * defaults(name)[key]), KNOWLEDGE)
            assert (found.layers, found.tensors) == (more.layers, more.tensors), key


@pytest.mark.slow
@pytest.mark.parametrize("name", FLAT)
def test_no_other_default_decides_much(name: str) -> None:
    """Twice a default makes neither weights nor cache over a seventh larger or smaller."""
    for key, value in defaults(name).items():
        if key in SIZES or key in BY_LAYER:
            continue
        try:
            usual, twice = (sizes(without(FLAT[name], key, number)) for number in (value, 2 * value))
        except PlannerError:
            continue
        for ours, theirs in zip(usual, twice, strict=True):
            assert max(ours, theirs) < LARGE * max(min(ours, theirs), 1), key


@pytest.mark.parametrize(
    ("name", "inside", "key", "filled"),
    [
        ("dbrx", "", "attn_config", "num_key_value_heads (1)"),
        ("nemotron-h-56b", "", "mamba_num_heads", "mamba_num_heads (128)"),
        ("kimi-k3", "text_config", "linear_attn_config", "linear_head_dim, linear_num_heads"),
        ("qwen3.5-35b-a3b", "text_config", "num_experts", "num_experts (256)"),
        ("qwen2.5-vl-7b", "", "num_key_value_heads", "num_key_value_heads"),
    ],
)
def test_a_published_file_without_a_key_says_what_fills_it(name: str, inside: str, key: str, filled: str) -> None:
    config = dict(presets.find_model(name).published_config)
    table = dict(config[inside]) if inside else config
    del table[key]
    try:
        found = read_config(config | {inside: table} if inside else table, KNOWLEDGE)
    except PlannerError as refusal:
        assert key in str(refusal)
    else:
        assert f"{SAID}{filled}." in found.warnings


@pytest.mark.parametrize(
    ("model_type", "number"),
    [
        *(("cwm", 8), ("iquestcoder", 8), ("ministral", 8), ("phi4_multimodal", 8), ("qwen2_vl_text", 8)),
        *(("qwen2_5_vl_text", 8), ("qwen2_5_omni_text", 4), ("qwen2", 32), ("qwen3", 32), ("exaone4", 32)),
        *(("gemma", 16), ("qwen3_vl_text", 32), ("stablelm", 32)),
    ],
)
def test_key_value_heads_left_out_are_the_classs_own_and_said(model_type: str, number: int) -> None:
    """From the configuration classes of transformers 5.24; null is as many as there are heads."""
    config = {
        "model_type": model_type, "hidden_size": 6144, "num_hidden_layers": 1, "num_attention_heads": 96,
        "intermediate_size": 64, "vocab_size": 10, "head_dim": 64,
    }  # fmt: skip
    found = read_config(config, KNOWLEDGE)
    assert found.layers == read_config(config | {"num_key_value_heads": number}, KNOWLEDGE).layers
    assert any(said.startswith(SAID) and "num_key_value_heads" in said for said in found.warnings)


STATED = [(name, key) for name in sorted(NAMES) for key in getattr(find_family(name), "stated", ())]


def a_config_of(name: str) -> dict[str, Any]:
    """A text model of the family: its class's, one in a wrapper, or a published one."""
    inside = ({**config["text_config"], "model_type": name} for config in BY_FAMILY.values() if wraps(config, name))
    published = [*(preset.config for preset in presets.models()), MINICPM_O, YOUTU_VL]
    named = (config for config in published if config.get("model_type") == name)
    return BY_FAMILY.get(name) or next(inside, None) or dict(next(named))


def wraps(config: dict[str, Any], name: str) -> bool:
    return getattr(find_family(config["model_type"]), "nested_model_type", "") == name


@pytest.mark.parametrize(("name", "key"), STATED)
def test_a_key_that_a_familys_files_always_have_is_said_where_it_is_missing_or_null(name: str, key: str) -> None:
    config = a_config_of(name)
    gone = replaced(config, key) if "." in key else without(config, key)
    for left in (gone, replaced(gone, key, None)):
        assert any(said.startswith(SAID) and key in said for said in read_config(left, KNOWLEDGE).warnings)


@pytest.mark.parametrize(
    ("name", "inside", "key"),
    [
        ("qwen3-8b", "", "head_dim"),
        ("gpt-oss-20b", "", "head_dim"),
        ("gemma-4-e2b", "text_config", "hidden_size_per_layer_input"),
        ("qwen1.5-moe-a2.7b", "", "shared_expert_intermediate_size"),
        ("lfm2-350m", "", "block_ffn_dim_multiplier"),
    ],
)
def test_a_null_that_undoes_a_size_of_the_class_is_said(name: str, inside: str, key: str) -> None:
    config = dict(presets.find_model(name).published_config)
    table = {**config[inside], key: None} if inside else {**config, key: None}
    found = read_config({**config, inside: table} if inside else table, KNOWLEDGE)
    assert any(f"{key} (else " in said for said in found.warnings)


@pytest.mark.parametrize("name", ["granite-4.0-h-tiny", "gemma-4-26b-a4b"])
def test_experts_of_an_unknown_number_are_refused(name: str) -> None:
    config = dict(presets.find_model(name).published_config)
    table = config.get("text_config", config)
    unknown = {key: None if key in ("num_experts", "num_local_experts") else value for key, value in table.items()}
    with pytest.raises(PlannerError, match=r"key '.*experts' is null; add it to the config"):
        read_config({**config, "text_config": unknown} if "text_config" in config else unknown, KNOWLEDGE)
