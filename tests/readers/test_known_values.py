"""Values of a short list, such as kinds of layers and switches: another is refused, never read as one of them."""

from typing import Any

import pytest

from planner.errors import UnsupportedModel
from planner.readers.conditions import settle
from planner.readers.hf_config import read_config
from planner.readers.layer_words import FULL, LINEAR, layer_words
from planner.readers.values import Values
from tests.readers.knowledge import KNOWLEDGE, NAMES, find_family
from tests.readers.test_class_totals import DATA
from tests.readers.test_hf_config import MODELS, config_of

LISTED = [(name, key) for name in sorted(NAMES) if (family := find_family(name)) for key in family.known]
CONFIGS: list[dict[str, Any]] = [config_of(name) for name in MODELS] + [case["config"] for case in DATA["totals"]]
STRANGE_ENTRIES = {
    "layer_types": "warp",
    "layers_block_type": "warp",
    "mlp_layer_types": "warp",
    "indexer_types": "warp",
    "hybrid_layer_pattern": 2,
    "moe_layer_freq": 2,
}
"""Lists of one word or switch a layer, and an entry that none of them knows."""


@pytest.mark.parametrize(("name", "key"), LISTED)
def test_a_value_that_is_not_listed_is_refused(name: str, key: str) -> None:
    family = find_family(name)
    assert family is not None
    outer, _, inner = key.partition(".")
    table: dict[str, Any] = {outer: {inner: "warp"}} if inner else {outer: "warp"}
    with pytest.raises(UnsupportedModel, match=rf"key 'text_config.{key}' is 'warp'; it must be one of"):
        settle(family, table, name, {}, {}, "text_config")


def _with_strange_entry(table: Any, key: str) -> bool:
    """Whether *table* has a list at *key* at any depth whose last entry could be replaced."""
    if not isinstance(table, dict):
        return False
    if isinstance(table.get(key), list) and table[key]:
        table[key] = [*table[key][:-1], STRANGE_ENTRIES[key]]
        return True
    return any(_with_strange_entry(inner, key) for inner in table.values())


@pytest.mark.parametrize("key", STRANGE_ENTRIES)
def test_a_strange_kind_in_a_layer_pattern_is_refused_or_not_looked_at(key: str) -> None:
    """Some files have lists that their class never reads; where it is read, the entry is refused by the list's name."""
    refused = 0
    for config in CONFIGS:
        changed = _copy(config)
        if not _with_strange_entry(changed, key):
            continue
        try:
            assert read_config(changed, KNOWLEDGE).layers == read_config(config, KNOWLEDGE).layers
        except UnsupportedModel as refusal:
            assert str(STRANGE_ENTRIES[key]) in str(refusal)
            refused += 1
    assert refused


def _copy(value: Any) -> Any:
    return {key: _copy(inner) for key, inner in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(("size", "kept"), [(128, 129), (256, 257)])
def test_a_window_in_tokens_before_the_query_is_one_longer(size: int, kept: int) -> None:
    config = next(
        config for config in CONFIGS if config.get("model_type") == "mimo_v2_flash" and "sliding_window_size" in config
    )
    config = {key: value for key, value in config.items() if key != "sliding_window"} | {"sliding_window_size": size}
    layers = read_config(config, KNOWLEDGE).layers
    windows = {mixer.window_tokens for layer in layers for mixer in layer.mixers if layer.kind == "sliding_attention"}  # type: ignore[union-attr]
    assert windows == {kept}


def test_switches_are_zero_or_one() -> None:
    assert layer_words(Values({"attn_type_list": [0, 1], "num_hidden_layers": 2}, "x"), "switches") == [LINEAR, FULL]
    with pytest.raises(UnsupportedModel, match="key 'attn_type_list' is 2; it must be a list of 0 and 1"):
        layer_words(Values({"attn_type_list": [0, 2], "num_hidden_layers": 2}, "x"), "switches")
