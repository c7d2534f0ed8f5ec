"""A small copy keeps what one layer caches for one token, and says what it changed."""

import pytest

from measure.experiments.cache_size import attention_kinds
from measure.models import find_source
from measure.prediction import predict
from measure.scaled import LAYERS, scale_down
from measure.setup import Setup
from planner import presets
from planner.readers.hf_config import read_config


@pytest.mark.parametrize("name", ["qwen2.5-0.5b", "deepseek-v2-lite", "gemma-3-270m", "olmoe-1b-7b"])
def test_a_layer_caches_as_much_as_published(name: str) -> None:
    config = presets.find_model(name).published_config
    small = scale_down(config)
    whole, copy = (predict(read_config(each, presets.knowledge()), "bf16") for each in (config, small.config))
    # Up to the small copy's window of 64 all of its layers grow by what the same layers of the published model do.
    per_layer = whole.rank.request_bytes(33) - whole.rank.request_bytes(32)
    assert (copy.rank.request_bytes(33) - copy.rank.request_bytes(32)) * config[
        "num_hidden_layers"
    ] == per_layer * LAYERS


def test_the_changes_are_stated() -> None:
    small = scale_down(presets.find_model("qwen2.5-0.5b").published_config)
    assert small.changes["num_hidden_layers"] == (24, LAYERS)
    assert f"num_hidden_layers 24 → {LAYERS}" in small.said()
    assert "num_key_value_heads" not in small.changes


def test_a_states_width_is_kept() -> None:
    config = presets.find_model("mamba-130m").published_config
    assert scale_down(config).config["intermediate_size"] == config["intermediate_size"]


ODD = ("gemma-3n-e2b", "gemma-4-e4b", "mimo-v2-flash", "minimax-m3", "nemotron-h-8b", "nemotron-super-49b",
       "nemotron-3-ultra-550b-a55b", "laguna-xs.2", "kimi-linear-48b-a3b", "bamba-9b", "jamba2-3b")  # fmt: skip
"""Their layers are told by lists of any name, a pattern, numbers or an offset, or share a cache."""
BY_TYPE = {preset.config["model_type"]: preset.name for preset in presets.models() if "model_type" in preset.config}


@pytest.mark.parametrize(
    "name", [*ODD, *(pytest.param(name, marks=pytest.mark.slow) for name in BY_TYPE.values() if name not in ODD)]
)
def test_a_small_copy_has_each_kind_of_layer(name: str) -> None:
    small = find_source(Setup(model=name, scale="small")).architecture
    assert set(attention_kinds(small).split(" + ")) == set(attention_kinds(presets.load_preset(name)).split(" + "))
    assert len(small.layers) <= 2 * LAYERS  # a mixer and a feed-forward part may count as two
