"""Keys by which one family's files differ, each beside what its class then builds."""

from copy import deepcopy
from typing import Any

import pytest

from planner import presets
from planner.errors import UnsupportedModel
from planner.readers.hf_config import read_config
from planner.weights import parameters
from tests.readers.knowledge import KNOWLEDGE
from tests.readers.test_missing_keys import replaced


def config_of(name: str) -> dict[str, Any]:
    return deepcopy(dict(presets.find_model(name).published_config))


@pytest.mark.parametrize(("gating", "width"), [(True, 1), ("per-head", 1), (False, 128), ("per-channel", 128)])
def test_lagunas_gates_are_one_a_head_or_one_a_channel(gating: object, width: int) -> None:
    """transformers 5.24, modeling_laguna.py: nothing switches them off."""
    config = config_of("laguna-xs.2")
    heads = sum(config["num_attention_heads_per_layer"])
    without = parameters(read_config(config, KNOWLEDGE)) - heads * 2048
    assert parameters(read_config({**config, "gating": gating}, KNOWLEDGE)) == without + heads * width * 2048


def test_gemma_4_with_experts_says_that_it_builds_them() -> None:
    config = config_of("gemma-4-26b-a4b")
    with pytest.raises(UnsupportedModel, match="'enable_moe_block' does not say that its class builds them"):
        read_config(replaced(config, "text_config.enable_moe_block"), KNOWLEDGE)
    assert parameters(read_config(config_of("gemma-4-31b"), KNOWLEDGE)) == 31_273_086_512


def test_what_compresses_an_images_tokens_has_no_weights() -> None:
    config = config_of("minimax-m3")
    more = {"img_token_compression_config": {"spatial_merge_size": 2, "temporal_patch_size": 2}}
    assert parameters(read_config(config | more, KNOWLEDGE)) == parameters(read_config(config, KNOWLEDGE))


@pytest.mark.parametrize(
    ("name", "place", "misspelt"),
    [
        ("dbrx", "attn_config.kv_n_heads", "attn_config.kv_heads"),
        ("kimi-linear-48b-a3b", "linear_attn_config.num_heads", "linear_attn_config.n_heads"),
    ],
)
def test_a_misspelt_key_in_an_object_of_the_family_is_named(name: str, place: str, misspelt: str) -> None:
    config = config_of(name)
    assert not any("not known to read" in said for said in read_config(config, KNOWLEDGE).warnings)
    table, key = config[place.partition(".")[0]], place.rpartition(".")[2]
    table[misspelt.rpartition(".")[2]] = table.pop(key)
    assert any(f"{misspelt!r}, which" in said for said in read_config(config, KNOWLEDGE).warnings)


@pytest.mark.parametrize(
    ("name", "key", "added"),
    [
        ("falcon-h1-7b", "projectors_bias", 44 * 3072),
        ("nemotron-nano-9b-v2", "use_bias", 27 * (2 * 10_240 + 2 * 8 * 128 + 128 + 4480)),
        ("nemotron-nano-9b-v2", "mamba_proj_bias", 0),
    ],
)
def test_biases_of_a_state_space_mixer(name: str, key: str, added: int) -> None:
    """Falcon-H1's is that of what leads out; Nemotron-H's class reads ``use_bias`` alone."""
    config = config_of(name)
    usual, biased = (parameters(read_config({**config, key: value}, KNOWLEDGE)) for value in (False, True))
    assert biased - usual == added


@pytest.mark.parametrize("left_out", [(), (None,)])
def test_mimos_windowed_layers_have_twice_the_key_value_heads_unless_the_file_says(left_out: tuple[None, ...]) -> None:
    """transformers 5.24, modeling_mimo_v2_flash.py; the published file says 8 beside 4."""
    config = config_of("mimo-v2-flash") | {"num_key_value_heads": 8}
    found = read_config(replaced(config, "swa_num_key_value_heads", *left_out), KNOWLEDGE)
    assert found.layers == read_config(config | {"swa_num_key_value_heads": 16}, KNOWLEDGE).layers
    assert any("swa_num_key_value_heads (16)" in said for said in found.warnings)
