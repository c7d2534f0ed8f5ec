"""A custom config: from fields to a short text and back, read like any other config."""

import json

import pytest

from planner.errors import PlannerError
from planner.format_presets import formats
from planner.inputs.custom import (
    MAX_CHARACTERS,
    custom_text,
    field_at_fault,
    left_out,
    read_custom,
    split_config,
    to_text,
)
from planner.kv_cache import bytes_per_token_at, model_specs
from planner.presets import find_model, load_preset, models
from planner.weights import parameters

BF16 = formats()["bf16"]
TOO_LONG = ("glm-5.3-flash", "nemotron-super-49b")
"""Their files say something of each layer by itself."""


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


def test_every_kind_of_config_is_a_start() -> None:
    """Text model and towers are the whole model, its head tied or not and its missing sizes as the wrapper says.

    Of each model_type the shortest config, whose class has to add most.
    """
    by_length = sorted(models(), key=lambda preset: -len(str(preset.config)))
    kinds = {preset.config.get("model_type"): preset for preset in by_length}
    for preset in kinds.values():
        if preset.name in TOO_LONG or "nominal_parameters" in preset.config:
            continue
        whole, (fields, model_type, others) = load_preset(preset.name), split_config(preset.published_config)
        custom = read_custom(custom_text(fields, model_type, to_text(others)))
        assert fields["hidden_size"] == whole.hidden_size, preset.name
        assert custom.layers == whole.layers, preset.name
        assert parameters(custom) + sum(left_out(whole, custom).values()) == parameters(whole), preset.name
        assert not left_out(custom, custom)


def test_a_form_leaves_towers_out() -> None:
    whole, (fields, model_type, others) = load_preset("gemma-3-4b"), split_config(find_model("gemma-3-4b").config)
    assert model_type == "gemma3_text"
    assert fields["num_attention_heads"] == 8  # the wrapper's class says so, the file does not
    assert set(left_out(whole, read_custom(custom_text(fields, model_type, to_text(others))))) == {
        "vision",
        "projector",
    }


def test_what_a_family_spells_otherwise_has_its_usual_name() -> None:
    """GPT-2 writes n_embd, n_layer and n_head."""
    fields, _, others = split_config(find_model("gpt2").config)
    assert (fields["hidden_size"], fields["num_hidden_layers"], fields["num_attention_heads"]) == (768, 12, 12)
    assert not {"n_embd", "n_layer", "n_head"} & set(others)


def test_every_other_preset_fits_into_a_link() -> None:
    lengths = {preset.name: len(to_text(split_config(preset.published_config)[2])) for preset in models()}
    assert [name for name, length in lengths.items() if length > MAX_CHARACTERS] == list(TOO_LONG)


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
