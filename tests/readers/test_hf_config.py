"""Published figures that the reader must reproduce: parameters, and cache bytes at 8,192 tokens in 16 bit."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from planner.architecture import Architecture, Attention, distinct_layers
from planner.errors import UnsupportedModel
from planner.formats import QuantScheme
from planner.kv_cache import bytes_for, bytes_per_token_at, model_specs
from planner.readers.hf_config import read_config
from planner.weights import active_parameters, loaded_tensors, parameters, parameters_by_role, tensors_bytes
from tests.readers.knowledge import FORMATS, KNOWLEDGE

BF16 = FORMATS["bf16"]
MODELS: dict[str, dict[str, object]] = json.loads(
    (Path(__file__).parents[1] / "data" / "models.json").read_text(encoding="utf-8")
)


def read(config: Mapping[str, object]) -> Architecture:
    return read_config(config, KNOWLEDGE)


def config_of(name: str) -> dict[str, object]:
    config = MODELS[name]["config"]
    assert isinstance(config, dict)
    return dict(config)


def cache_bytes(architecture: Architecture, tokens: int) -> int:
    return bytes_for(model_specs(architecture.layers, BF16, BF16), tokens)


@pytest.mark.parametrize("name", MODELS)
def test_parameters_equal_the_published_total(name: str) -> None:
    architecture = read(config_of(name))
    assert parameters(architecture) == MODELS[name]["parameters"]
    assert not architecture.assumed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", 1_073_741_824),
        ("deepseek-ai/DeepSeek-V3", 575_668_224),
        ("google/gemma-3-27b-it", 1_107_296_256),
        ("mistralai/Mixtral-8x7B-v0.1", 1_073_741_824),
        ("openai/gpt-oss-120b", 306_708_480),
        ("meta-llama/Llama-2-13b-hf", 6_710_886_400),
    ],
)
def test_cache_at_8192_tokens(name: str, expected: int) -> None:
    assert cache_bytes(read(config_of(name)), 8192) == expected


def test_qwen25_caches_12288_bytes_a_token() -> None:
    """24 layers × 2 key-value heads × 64 × (key and value) × 2 bytes."""
    specs = model_specs(read(config_of("Qwen/Qwen2.5-0.5B")).layers, BF16, BF16)
    assert bytes_per_token_at(specs, 0) == 24 * 2 * 64 * 2 * 2 == 12_288


def test_gpt_oss_is_stored_with_mxfp4_experts_and_the_rest_in_16_bit() -> None:
    architecture = read(config_of("openai/gpt-oss-120b"))
    checkpoint = QuantScheme(format=None, rest=BF16)
    assert tensors_bytes(loaded_tensors(architecture), checkpoint) == 65_248_815_744
    assert architecture.stored_as == "mxfp4"


def test_mixture_activates_its_chosen_experts_only() -> None:
    """Mixtral's published 12.9 B active: all but 6 of 8 experts in 32 layers."""
    architecture = read(config_of("mistralai/Mixtral-8x7B-v0.1"))
    unused = 32 * 6 * 3 * 4096 * 14336
    assert active_parameters(architecture) == 46_702_792_704 - unused == 12_879_925_248


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("mistralai/Mixtral-8x7B-v0.1", "num_local_experts", 0),
        ("mistralai/Mixtral-8x7B-v0.1", "num_experts_per_tok", 9),
        ("openai/gpt-oss-120b", "num_local_experts", 0),
        ("deepseek-ai/DeepSeek-V3", "n_routed_experts", 0),
        ("deepseek-ai/DeepSeek-V3", "num_experts_per_tok", 257),
    ],
)
def test_a_token_cannot_take_more_experts_than_there_are(name: str, key: str, value: int) -> None:
    with pytest.raises(UnsupportedModel, match="experts is not possible"):
        read(config_of(name) | {key: value})


def test_mtp_layer_is_a_role_of_its_own() -> None:
    """DeepSeek-V3's repository holds 684.5 billion with the prediction layer and its copies of embedding and head."""
    architecture = read(config_of("deepseek-ai/DeepSeek-V3"))
    roles = parameters_by_role(architecture)
    mtp = roles.pop("mtp")
    assert sum(roles.values()) == parameters(architecture) == 671_026_419_200
    expert_layer = sum(tensor.elements for tensor in architecture.layers[-1].tensors)
    assert mtp == expert_layer + 2 * 7168 * 7168 + 3 * 7168 + 2 * 129_280 * 7168


def test_equal_layers_are_one_object() -> None:
    kinds = distinct_layers(read(config_of("google/gemma-3-27b-it")).layers)
    assert [(layer.kind, count) for layer, count in kinds] == [("sliding_attention", 52), ("full_attention", 10)]


def test_window_that_is_switched_off_is_none() -> None:
    architecture = read(config_of("Qwen/Qwen2.5-0.5B"))
    assert {layer.kind for layer in architecture.layers} == {"full_attention"}


def test_class_defaults_of_a_nested_text_model_are_named() -> None:
    config = config_of("google/gemma-3-27b-it")
    text = config["text_config"]
    assert isinstance(text, dict)
    config["text_config"] = {key: value for key, value in text.items() if key != "num_key_value_heads"}
    warnings = read(config).warnings
    assert warnings == (
        "Not in the file and taken from the class's defaults: num_key_value_heads (4), vocab_size (262208).",
    )


def test_32_bit_checkpoint_says_so() -> None:
    config = {**config_of("Qwen/Qwen2.5-0.5B"), "torch_dtype": "float32"}
    assert "32 bit" in read(config).warnings[0]
    assert read(config).cache_format.name == "bf16"


def test_nominal_class_is_a_lump_with_an_attention_shape() -> None:
    architecture = read(
        {
            "nominal_parameters": 7_000_000_000,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "hidden_size": 4096,
        }
    )
    assert architecture.nominal
    assert parameters(architecture) == 7_000_000_000
    assert cache_bytes(architecture, 1) == 131_072


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"hidden_size": None}, "model_type 'llama': key 'hidden_size' is null; add it to the config."),
        (
            {"hidden_size": 4096.0},
            "model_type 'llama': key 'hidden_size' is 4096.0; it must be a whole number from 1 to 1,048,576.",
        ),
        (
            {"vocab_size": "128256"},
            "model_type 'llama': key 'vocab_size' is '128256'; it must be a whole number from 1 to 16,777,216.",
        ),
        (
            {"num_hidden_layers": -1},
            "model_type 'llama': key 'num_hidden_layers' is -1; it must be a whole number from 1 to 4,096.",
        ),
        (
            {"num_hidden_layers": True},
            "model_type 'llama': key 'num_hidden_layers' is True; it must be a whole number from 1 to 4,096.",
        ),
        (
            {"intermediate_size": float("inf")},
            "model_type 'llama': key 'intermediate_size' is inf; it must be a whole number from 1 to 16,777,216.",
        ),
        (
            {"num_key_value_heads": 7},
            "model_type 'llama': num_attention_heads 32 is no multiple of num_key_value_heads 7.",
        ),
        (
            {"layer_types": ["full_attention"]},
            "model_type 'llama': key 'layer_types' has 1 entry for 32 layers.",
        ),
        (
            {"layer_types": ["spiral"] * 32},
            "model_type 'llama': layer_types has 'spiral', a kind of layer that is not understood here.",
        ),
        ({"is_encoder_decoder": True}, "model_type 'llama' is an encoder-decoder; only decoders can be planned."),
        (
            {"model_type": None},
            "The config has no model_type; add the key that says which family it is, such as 'llama'.",
        ),
        (
            {"model_type": "bert"},
            "model_type 'bert' is an encoder-only model, which generates no text; only decoders can be planned.",
        ),
    ],
)
def test_bad_value_is_refused_in_one_sentence(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(UnsupportedModel) as refusal:
        read({**config_of("meta-llama/Meta-Llama-3.1-8B"), **change})
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"peft_type": "LORA", "base_model_name_or_path": "x", "r": 16}, "it is an adapter's"),
        ({"_class_name": "FluxPipeline", "_diffusers_version": "0.30"}, "it is one of a diffusion pipeline"),
        ({"fine_tune_type": "lora", "lora_parameters": {"rank": 8}}, "it is an adapter's"),
        ({"image_processor_type": "SiglipImageProcessor", "size": {}}, "it is an image processor's"),
        ({"feature_extractor_type": "WhisperFeatureExtractor"}, "it is a feature extractor's"),
        ({"tokenizer_class": "Qwen2Tokenizer"}, "it is a tokenizer's"),
        ({"bos_token_id": 1, "do_sample": True}, "it is one of how to generate"),
        ({"dim": 4096, "n_layers": 32, "n_heads": 32, "vocab_size": 32000}, "it is a publisher's own form"),
    ],
)
def test_a_file_that_is_no_models_config_is_named(config: dict[str, object], sentence: str) -> None:
    with pytest.raises(UnsupportedModel, match=f"^The config has no model_type: {sentence}"):
        read(config)


def test_missing_dimension_is_named_and_not_taken_from_the_class() -> None:
    config = config_of("meta-llama/Meta-Llama-3.1-8B")
    del config["hidden_size"]
    with pytest.raises(UnsupportedModel, match="key 'hidden_size' is missing; add it to the config"):
        read(config)


def test_exceptions_by_layer_number_come_before_the_usual_dimensions() -> None:
    """Newer files of Gemma 4 spell full-attention layers so, with leading zeros."""
    config = {
        "model_type": "gemma4_unified_text",
        "num_hidden_layers": 12,
        "hidden_size": 3840,
        "intermediate_size": 15360,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "attention_k_eq_v": True,
        "per_layer_config": {
            "05": {"head_dim": 512, "num_key_value_heads": 1},
            "11": {"head_dim": 512, "num_key_value_heads": 1},
        },
    }
    sizes = [
        (mixer.num_key_value_heads, mixer.head_dim)
        for layer in read(config).layers
        for mixer in layer.mixers
        if isinstance(mixer, Attention)
    ]
    assert sizes == ([(8, 256)] * 5 + [(1, 512)]) * 2


def test_a_projector_without_its_sizes_is_named_and_not_counted() -> None:
    """Aria's queries are the largest number in a map; an empty one leaves no number."""
    vision = {"hidden_size": 32, "image_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "patch_size": 32}
    text = {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "vocab_size": 10,
    }
    text["intermediate_size"] = 64
    config = {"model_type": "aria", "text_config": text, "vision_config": vision, "projector_patch_to_query_dict": {}}
    found = read_config({**config, "torch_dtype": "bfloat16"}, KNOWLEDGE)
    assert found.warnings == ("Weights of the projector part are not counted: they do not follow from this file.",)
