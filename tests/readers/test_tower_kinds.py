"""A tower or projector of another kind than the one that is counted: named as missing, never counted as if."""

from typing import Any

import pytest

from planner.readers.hf_config import read_config
from planner.weights import parameters_by_role
from tests.readers.knowledge import KNOWLEDGE
from tests.readers.test_hf_config import config_of

DEEPSEEK_VL2 = {
    "model_type": "deepseek_vl_v2",
    "language_config": {
        "model_type": "deepseek_v2", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "moe_intermediate_size": 32, "n_routed_experts": 4,
        "n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "use_mla": False,
        "kv_lora_rank": None, "q_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0, "v_head_dim": 0,
        "vocab_size": 100, "torch_dtype": "bfloat16",
    },
    "vision_config": {"layers": 27, "model_name": "siglip_so400m_patch14_384", "patch_size": 14, "width": 1152},
    "projector_config": {"n_embed": 64, "projector_type": "downsample_mlp_gelu"},
}  # fmt: skip
JANUS = {
    "model_type": "multi_modality",
    "torch_dtype": "bfloat16",
    "language_config": {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 100,
    },
    "vision_config": {"params": {"image_size": 384, "model_name": "siglip_large_patch16_384"}},
    "aligner_config": {"params": {"depth": 2, "input_dim": 1024, "n_embed": 64, "projector_type": "mlp_gelu"}},
}  # fmt: skip
KIMI = config_of("moonshotai/Kimi-K2.5")
KINDS: tuple[tuple[dict[str, Any], str, tuple[str, ...]], ...] = (
    (KIMI, "projector", ("vision_config", "mm_projector_type")),
    (DEEPSEEK_VL2, "vision", ("vision_config", "model_name")),
    (DEEPSEEK_VL2, "projector", ("projector_config", "projector_type")),
    (JANUS, "projector", ("aligner_config", "params", "projector_type")),
    (JANUS, "vision", ("vision_config", "params", "model_name")),
)


def changed(config: dict[str, Any], place: tuple[str, ...], value: str) -> dict[str, Any]:
    key, *rest = place
    return {**config, key: changed(config.get(key, {}), tuple(rest), value) if rest else value}


@pytest.mark.parametrize(("config", "role", "place"), KINDS)
def test_another_kind_is_said_to_be_missing(config: dict[str, Any], role: str, place: tuple[str, ...]) -> None:
    usual, other = (read_config(found, KNOWLEDGE) for found in (config, changed(config, place, "new")))
    assert parameters_by_role(usual)[role] > 0
    assert role not in parameters_by_role(other)
    said = [text for text in other.warnings if "part are not counted" in text]
    assert len(said) == 1
    assert role in said[0]


@pytest.mark.parametrize(("model_type", "text"), [("llava_qwen", "qwen2"), ("llava_mistral", "mistral")])
def test_a_file_that_only_names_its_tower_says_that_it_is_missing(model_type: str, text: str) -> None:
    config = {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 100, "torch_dtype": "bfloat16", "max_position_embeddings": 128,
    }  # fmt: skip
    named = {"mm_vision_tower": "google/siglip-so400m-patch14-384", "mm_projector_type": "mlp2x_gelu"}
    found = read_config({**config, **named, "model_type": model_type}, KNOWLEDGE)
    assert found.layers == read_config({**config, "model_type": text}, KNOWLEDGE).layers
    assert any(said.startswith("Weights of the vision and projector part are not counted") for said in found.warnings)


@pytest.mark.parametrize("model_type", ["llama", "mistral", "qwen2"])
def test_a_tower_that_is_only_named_under_a_class_without_one_is_said(model_type: str) -> None:
    config = {
        "model_type": model_type, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "torch_dtype": "bfloat16",
    }  # fmt: skip
    usual, found = (read_config(config | more, KNOWLEDGE) for more in ({}, {"mm_vision_tower": "openai/clip"}))
    assert set(found.warnings) - set(usual.warnings) == {
        "The config names a tower in mm_vision_tower, which its model_type is not known to have: its weights are not "
        "counted."
    }
