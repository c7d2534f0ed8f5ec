"""Keys that a class does not read, or reads otherwise than they say: they never make a model smaller in silence."""

from typing import Any

import pytest

from planner import presets
from planner.architecture import Architecture, Attention, CrossAttention
from planner.errors import UnsupportedModel
from planner.readers.hf_config import read_config
from tests.oracle import our_reading
from tests.readers.knowledge import KNOWLEDGE

TOKENS = 131_072


def changed(name: str, **changes: object) -> dict[str, Any]:
    return {**presets.find_model(name).config, **changes}


def read(config: dict[str, Any]) -> Architecture:
    return read_config(config, KNOWLEDGE)


def cache_bytes(config: dict[str, Any]) -> int:
    return our_reading(read(config), (TOKENS,)).cache_bytes[TOKENS]


@pytest.mark.parametrize("model_type", ["muse_spark_text", "muse_glimmer_text"])
@pytest.mark.parametrize(
    ("layers", "full"),
    [(62, range(1, 62, 4)), (61, range(0, 61, 4)), (60, range(3, 60, 4)), (8, (3, 7))],
)
def test_the_last_layer_is_full_and_every_fourth_before_it(model_type: str, layers: int, full: tuple[int, ...]) -> None:
    config = {
        "model_type": model_type,
        "hidden_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 16,
        "vocab_size": 100,
        "intermediate_size": 64,
    }
    found = [
        index
        for index, layer in enumerate(read(config).layers)
        if any(isinstance(mixer, Attention) and mixer.window_tokens is None for mixer in layer.mixers)
    ]
    assert found == list(full)


@pytest.mark.parametrize(("crossed", "number"), [(None, 8), ([], 0), ([3, 8], 2)])
def test_an_image_is_counted_where_layers_attend_to_it_and_then_only(crossed: list[int] | None, number: int) -> None:
    config = changed("llama-3.2-11b-vision")
    found = read({**config, "text_config": {**config["text_config"], "cross_attention_layers": crossed}})
    assert sum(isinstance(mixer, CrossAttention) for layer in found.layers for mixer in layer.mixers) == number
    assert any("counted with one image" in warning for warning in found.warnings) == bool(number)


@pytest.mark.parametrize(
    "changes",
    [{"num_kv_shared_layers": 16}, {"use_cla": True, "cla_share_factor": 2}, {"v_head_dim": 64}],
)
@pytest.mark.parametrize("name", ["llama-3.1-8b", "qwen3-8b", "gemma-3-1b"])
def test_a_smaller_cache_by_a_key_of_another_family_is_refused(name: str, changes: dict[str, object]) -> None:
    with pytest.raises(UnsupportedModel, match=f"not known to read '{next(iter(changes))}'"):
        read(changed(name, **changes))


@pytest.mark.parametrize(
    "changes", [{"num_kv_shared_layers": 0}, {"use_cla": False, "cla_share_factor": 2}, {"v_head_dim": 128}]
)
def test_a_key_of_another_family_that_says_the_usual_is_harmless(changes: dict[str, object]) -> None:
    assert read(changed("llama-3.1-8b", **changes)) == read(changed("llama-3.1-8b"))


@pytest.mark.parametrize("changes", [{"num_attention_heads": [64] * 31 + [32]}, {"v_head_dim": 64}])
def test_the_bound_has_the_widest_head(changes: dict[str, object]) -> None:
    """Of 64 and 32 heads in a hidden size of 4,096, those of 128; values as wide as keys."""
    config = changed("llama-3.1-8b")
    config.pop("head_dim", None)
    assert cache_bytes({**config, **changes, "model_type": "zorb"}) >= cache_bytes(config)


def test_a_known_class_shares_its_hidden_size_among_one_number_of_heads() -> None:
    config = changed("llama-3.1-8b", num_attention_heads=[64] * 31 + [32])
    config.pop("head_dim", None)
    with pytest.raises(UnsupportedModel, match="'head_dim' is missing and num_attention_heads differs"):
        read(config)


def test_a_window_that_only_some_engines_keep_is_not_counted_and_said() -> None:
    config = changed("mistral-7b-v0.1", sliding_window=4096)
    without = read({**config, "use_sliding_window": False})
    assert cache_bytes({**config, "use_sliding_window": False}) == cache_bytes({**config, "sliding_window": None})
    assert any("'use_sliding_window'" in warning for warning in without.warnings)
    assert read({**config, "use_sliding_window": True}) == read(config)


@pytest.mark.parametrize("name", ["gemma-3-27b", "qwen2.5-vl-7b", "llama-3.2-11b-vision"])
def test_a_tower_of_null_is_said_to_be_missing(name: str) -> None:
    found = read(changed(name, vision_config=None))
    assert any("not counted" in warning for warning in found.warnings)


def test_a_class_that_may_have_no_tower_has_none_of_null() -> None:
    found = read(changed("gemma-4-e2b", audio_config=None))
    assert not any("audio" in warning for warning in found.warnings)


@pytest.mark.parametrize("key", ["num_key_value_heads", "num_attention_heads", "head_dim", "intermediate_size"])
@pytest.mark.parametrize("name", ["llama-3.1-8b", "qwen3-8b", "mistral-7b-v0.3", "gemma-2-9b"])
def test_a_list_where_a_class_takes_one_number_is_read_layer_by_layer_and_said(name: str, key: str) -> None:
    config = changed(name, head_dim=128, sliding_window=4096)
    layers, number = config["num_hidden_layers"], config[key]
    whole, listed = read(config), read({**config, key: [number] * layers})
    assert listed.layers == whole.layers
    assert [key in said for said in listed.warnings if "for each layer" in said] == [True]
    assert not any("for each layer" in said for said in whole.warnings)
    with pytest.raises(UnsupportedModel, match=f"{key}' has 3 entries for {layers} layers"):
        read({**config, key: [number] * 3})


def test_a_list_of_a_class_that_has_one_is_not_said() -> None:
    assert not any("for each layer" in said for said in read(changed("openelm-1.1b")).warnings)
