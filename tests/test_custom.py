"""A custom config: from fields to a short text and back, read like any other config."""

import json

import pytest

from planner.custom import (
    MAX_CHARACTERS,
    custom_text,
    field_at_fault,
    left_out,
    read_custom,
    split_config,
    to_text,
)
from planner.errors import PlannerError
from planner.format_presets import formats
from planner.kv_cache import bytes_per_token_at, model_specs
from planner.presets import find_model, load_preset, models
from planner.weights import parameters

BF16 = formats()["bf16"]


def test_fields_and_other_keys_make_the_published_config() -> None:
    """split ∘ join is identity for a config of the form's own kind."""
    config = dict(find_model("llama-3.1-8b").config)
    fields, model_type, others = split_config(config)
    assert json.loads(custom_text(fields, model_type, json.dumps(others))) == config
    assert (fields["num_key_value_heads"], fields["sliding_window"], model_type) == (8, None, "llama")


def test_a_custom_model_is_counted_like_its_twin() -> None:
    custom = read_custom(to_text(find_model("llama-3.1-8b").config))
    assert parameters(custom) == parameters(load_preset("llama-3.1-8b")) == 8_030_261_248
    assert (custom.title, custom.name) == ("Your model", "config.json")


def test_fewer_key_value_heads() -> None:
    fields, model_type, others = split_config(find_model("llama-3.1-8b").config)
    custom = read_custom(custom_text({**fields, "num_key_value_heads": 2}, model_type, json.dumps(others)))
    # 32 layers × 2 × 2 heads × 128 × 2 B
    assert bytes_per_token_at(model_specs(custom.layers, BF16, BF16), 0) == 32_768


def test_an_unknown_model_type_is_bounded_from_above() -> None:
    fields, _, _ = split_config(find_model("llama-3.1-8b").config)
    custom = read_custom(custom_text(fields, "dragonfly", ""))
    assert custom.assumed
    assert bytes_per_token_at(model_specs(custom.layers, BF16, BF16), 0) == 131_072
    assert "dragonfly" in custom.warnings[0]


@pytest.mark.parametrize("name", ["gemma-3-27b", "deepseek-v3", "mixtral-8x7b", "qwen3-next-80b-a3b"])
def test_any_family_is_a_start(name: str) -> None:
    preset = find_model(name)
    fields, model_type, others = split_config(preset.published_config)
    custom = read_custom(custom_text(fields, model_type, json.dumps(others)))
    assert [layer.mixers for layer in custom.layers] == [layer.mixers for layer in load_preset(name).layers]


@pytest.mark.parametrize("name", ["gemma-4-e2b", "qwen3.5-4b", "qwen3.5-9b", "llama-4-scout"])
def test_what_a_form_leaves_out(name: str) -> None:
    """Text model and towers are the whole model, its head tied or not as the wrapper says."""
    whole, (fields, model_type, others) = load_preset(name), split_config(find_model(name).published_config)
    custom = read_custom(custom_text(fields, model_type, json.dumps(others)))
    lost = left_out(whole, custom)
    assert sum(lost.values()) == parameters(whole) - parameters(custom)
    assert "vision" in lost
    assert not left_out(custom, custom)


def test_almost_every_preset_fits_into_a_link() -> None:
    lengths = [len(to_text(preset.config)) for preset in models()]
    assert sum(length > MAX_CHARACTERS for length in lengths) < len(lengths) / 10


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ("[]", "Other keys holds a JSON list"),
        ("{", "Other keys is not valid JSON"),
        ('{"hidden_size": 1}', "Other keys name hidden_size, which has a field of its own"),
    ],
)
def test_other_keys_that_are_none(others: str, sentence: str) -> None:
    with pytest.raises(PlannerError) as caught:
        custom_text({"hidden_size": 64}, "llama", others)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(("field", "value"), [("num_hidden_layers", 10**9), ("hidden_size", 0), ("vocab_size", -1)])
def test_a_wrong_field_is_named(field: str, value: int) -> None:
    fields, model_type, others = split_config(find_model("llama-3.1-8b").config)
    with pytest.raises(PlannerError) as caught:
        read_custom(custom_text({**fields, field: value}, model_type, json.dumps(others)))
    assert field_at_fault(str(caught.value), fields) == field


def test_a_missing_field_is_named() -> None:
    fields, model_type, others = split_config(find_model("llama-3.1-8b").config)
    with pytest.raises(PlannerError) as caught:
        read_custom(custom_text({**fields, "intermediate_size": None}, model_type, json.dumps(others)))
    assert field_at_fault(str(caught.value), fields) == "intermediate_size"


def test_a_field_is_named_by_its_whole_word() -> None:
    assert field_at_fault("head_dim_x must be 3; hidden_size is 2.", ["head_dim", "hidden_size"]) == "hidden_size"
    assert field_at_fault("Something else.", ["head_dim"]) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_key_value_heads", 5),  # 32 heads in groups of 5
        ("num_attention_heads", 12),  # in groups of 8
    ],
)
def test_of_two_fields_that_do_not_fit_the_one_changed_last_is_named(field: str, value: int) -> None:
    fields, model_type, others = split_config(find_model("llama-3.1-8b").config)
    with pytest.raises(PlannerError) as caught:
        read_custom(custom_text({**fields, field: value}, model_type, others=json.dumps(others)))
    assert field_at_fault(str(caught.value), fields, field) == field
    assert field_at_fault(str(caught.value), fields, "vocab_size") == "num_attention_heads"


def test_heads_that_do_not_divide_the_width_are_named_too() -> None:
    fields, model_type, others = split_config(find_model("llama-3.1-8b").config)
    with pytest.raises(PlannerError) as caught:
        read_custom(custom_text({**fields, "num_attention_heads": 24}, model_type, json.dumps(others)))
    assert field_at_fault(str(caught.value), fields, "num_attention_heads") == "num_attention_heads"


def test_a_long_config_is_for_a_file() -> None:
    with pytest.raises(PlannerError, match="upload it as a file"):
        read_custom(to_text({"model_type": "llama", "x": "y" * MAX_CHARACTERS}))
