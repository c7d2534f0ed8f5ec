"""Families whose code lies beside their weights and that wrap a known text model: each is its parts, and no more."""

from collections.abc import Mapping

import pytest

from planner.errors import UnsupportedModel
from planner.kv_cache import bytes_for, model_specs
from planner.readers.hf_config import read_config
from planner.weights import parameters, parameters_by_role
from tests.readers.knowledge import FORMATS, KNOWLEDGE

QWEN3_8B = {
    "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 40960, "tie_word_embeddings": False,
}  # fmt: skip
SIGLIP = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
SIGLIP_LAYERS = 27 * (4 * (1152 * 1152 + 1152) + 2 * 1152 * 4304 + 4304 + 1152 + 4 * 1152)
INTERN_S1_MINI = {
    "model_type": "interns1", "architectures": ["InternS1ForConditionalGeneration"],
    "text_config": QWEN3_8B | {"model_type": "qwen3", "vocab_size": 153216},
    "vision_config": {
        "model_type": "interns1_vision", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
        "num_attention_heads": 16, "image_size": [448, 448], "patch_size": [14, 14], "num_channels": 3,
        "attention_bias": True, "use_qk_norm": False,
    },
}  # fmt: skip
MINICPM_O = QWEN3_8B | {
    "model_type": "minicpmo", "architectures": ["MiniCPMO"], "version": "4.5", "query_num": 64, "vocab_size": 151748,
    "vision_config": SIGLIP | {"image_size": 980, "patch_size": 14},
    "audio_config": {"d_model": 1024, "encoder_layers": 24, "encoder_ffn_dim": 4096, "num_mel_bins": 80,
                     "max_source_positions": 1500},
    "tts_config": {"model_type": "minicpmtts", "hidden_size": 768},
}  # fmt: skip
PHI_4_VISION = {
    "model_type": "phi4-siglip", "hidden_size": 5120, "intermediate_size": 17920, "num_hidden_layers": 40,
    "num_attention_heads": 40, "num_key_value_heads": 10, "vocab_size": 100352, "max_position_embeddings": 32768,
    "mm_hidden_size": 1152, "mm_projector_type": "mlp2x_gelu", "mm_vision_tower": "siglip2-naflex",
    "vision_config": SIGLIP | {"num_patches": 256, "patch_size": 16},
}  # fmt: skip
YOUTU_VL = {
    "model_type": "youtu_vl", "hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 40,
    "num_attention_heads": 32, "vocab_size": 283386, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128, "qk_head_dim": 192, "v_head_dim": 128, "tie_word_embeddings": True,
    "vision_config": SIGLIP | {"num_patches": 4096, "out_hidden_size": 2560, "patch_size": 16},
}  # fmt: skip
NANO_VL = {
    "model_type": "NemotronH_Nano_VL_V2", "architectures": ["NemotronH_Nano_VL_V2"], "projector_hidden_size": 20480,
    "vit_hidden_size": 1280, "vision_config": {"args": {"model": "vit_huge_patch16_224"}, "version": "radio_v2.5-h"},
    "llm_config": {
        "model_type": "nemotron_h", "hidden_size": 4480, "num_hidden_layers": 2, "hybrid_override_pattern": "M*",
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "mamba_num_heads": 128,
        "mamba_head_dim": 80, "n_groups": 8, "ssm_state_size": 128, "vocab_size": 1000, "intermediate_size": 8,
    },
}  # fmt: skip


def roles(config: Mapping[str, object]) -> dict[str, int]:
    return parameters_by_role(read_config(config, KNOWLEDGE))


def text_parameters(config: Mapping[str, object]) -> int:
    return sum(count for role, count in roles(config).items() if role not in ("vision", "audio", "projector"))


def test_intern_s1_is_an_internvl() -> None:
    """The 8.54 billion that are published of Intern-S1-mini."""
    found = read_config(INTERN_S1_MINI, KNOWLEDGE)
    assert parameters(found) == parameters(read_config({**INTERN_S1_MINI, "model_type": "internvl"}, KNOWLEDGE))
    assert parameters(found) == 8_538_804_224
    assert not found.assumed


def test_pangu_embedded_is_a_llama_with_biases_of_attention() -> None:
    """openPangu-Embedded-7B: 34 layers with biases of 4,096 for queries and outputs, of 1,024 for keys and values."""
    config = QWEN3_8B | {"model_type": "PanguEmbedded", "num_hidden_layers": 34, "vocab_size": 153376, "bias": True}
    plain = parameters(read_config({**config, "model_type": "llama", "bias": False}, KNOWLEDGE))
    assert parameters(read_config(config, KNOWLEDGE)) == plain + 34 * (2 * 4096 + 2 * 1024)


def test_phi_4_reasoning_vision() -> None:
    found = roles(PHI_4_VISION)
    plain = {key: value for key, value in PHI_4_VISION.items() if not key.startswith(("mm_", "vision"))}
    assert text_parameters(PHI_4_VISION) == text_parameters({**plain, "model_type": "phi3"})
    assert found["vision"] == SIGLIP_LAYERS + 3 * 16 * 16 * 1152 + 1152 + 256 * 1152 + 2 * 1152
    assert found["projector"] == 1152 * 5120 + 5120 * 5120 + 2 * 5120
    with pytest.raises(UnsupportedModel, match="mm_projector_type"):
        read_config({**PHI_4_VISION, "mm_projector_type": "resampler"}, KNOWLEDGE)


def test_youtu_vl() -> None:
    """Rotary positions, so that the tower has none of its own; a merger of two by two patches behind an RMSNorm."""
    found = roles(YOUTU_VL)
    plain = {key: value for key, value in YOUTU_VL.items() if key != "vision_config"}
    assert text_parameters(YOUTU_VL) == text_parameters({**plain, "model_type": "youtu"})
    assert found["vision"] == SIGLIP_LAYERS + 3 * 16 * 16 * 1152 + 1152 + 2 * 1152
    assert found["projector"] == 1152 + (4608 + 1) * 4608 + (4608 + 1) * 2560


def test_minicpm_o_is_a_minicpm_v_that_hears() -> None:
    """Beside MiniCPM-V's parts Whisper's encoder, and two layers from a quarter of its feed-forward width."""
    found = read_config(MINICPM_O, KNOWLEDGE)
    rest = {key: value for key, value in MINICPM_O.items() if key not in ("audio_config", "tts_config")}
    sees = roles({**rest, "model_type": "minicpmv", "version": 4.5, "architectures": ["MiniCPMV"]})
    hears = parameters_by_role(found)
    layers = 24 * (4 * 1024 * 1024 + 3 * 1024 + 2 * 1024 * 4096 + 4096 + 1024 + 4 * 1024)
    assert hears["audio"] == layers + 3 * 80 * 1024 + 3 * 1024 * 1024 + 2 * 1024 + 1500 * 1024 + 2 * 1024
    assert hears["projector"] == sees["projector"] + (1024 + 1) * 4096 + (4096 + 1) * 4096
    assert text_parameters(MINICPM_O) == sum(sees.values()) - sees["vision"] - sees["projector"]
    assert hears["vision"] == sees["vision"]
    assert "Weights of the speech part are not counted: they do not follow from this file." in found.warnings


def test_nemotron_nano_vl() -> None:
    """C-RADIO of 32 layers of 1,280, four patches side by side, and two layers without biases."""
    found = roles(NANO_VL)
    assert found["projector"] == 5120 + 5120 * 20480 + 20480 * 4480
    layer = 4 * (1280 * 1280 + 1280) + 2 * 1280 * 5120 + 5120 + 1280 + 4 * 1280 + 2 * 1280
    assert found["vision"] == 32 * layer + 128 * 128 * 1280 + 10 * 1280 + 3 * 16 * 16 * 1280


def test_minicpm_sala() -> None:
    """Its published 18,076.4 MiB in 16 bit; 8 layers keep every token, 24 a state of 32 heads × 128 × 128 in 32 bit."""
    sparse = (0, 9, 16, 17, 22, 29, 30, 31)
    config = {
        "model_type": "minicpm_sala", "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 73448,
        "mixer_types": ["minicpm4" if index in sparse else "lightning-attn" for index in range(32)],
        "lightning_nh": 32, "lightning_nkv": 32, "lightning_head_dim": 128, "attn_use_output_gate": True,
        "use_output_gate": True, "qk_norm": True, "sparse_config": {"kernel_size": 32, "kernel_stride": 16},
    }  # fmt: skip
    found = read_config(config, KNOWLEDGE)
    assert 2 * parameters(found) / 2**20 == pytest.approx(18_076.38, rel=1e-5)
    specs = model_specs(found.layers, FORMATS["bf16"], FORMATS["bf16"])
    assert bytes_for(specs, 8192) == 8 * 2 * 2 * 128 * 2 * 8192 + 24 * 32 * 128 * 128 * 4


def test_mimo_v2_is_a_mimo_v2_flash_that_may_see_and_hear() -> None:
    """MiMo-V2.5-Pro's 1.02 trillion are these layers, 60 windowed and 10 full."""
    text = {
        "model_type": "mimo_v2", "vocab_size": 152576, "hidden_size": 6144, "num_hidden_layers": 70,
        "num_attention_heads": 128, "num_key_value_heads": 8, "head_dim": 192, "v_head_dim": 128,
        "swa_num_attention_heads": 128, "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128,
        "sliding_window_size": 128, "hybrid_layer_pattern": [int(index % 7 > 0) for index in range(70)],
        "moe_layer_freq": [int(index > 0) for index in range(70)], "intermediate_size": 16384,
        "n_routed_experts": 384, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
    }  # fmt: skip
    found = read_config(text, KNOWLEDGE)
    assert parameters(found) == parameters(read_config({**text, "model_type": "mimo_v2_flash"}, KNOWLEDGE))
    assert parameters(found) == pytest.approx(1.02e12, rel=2e-3)
    assert not any("vision" in said for said in found.warnings)
    seeing = read_config({**text, "vision_config": {"model_type": "mimo_v2_vision"}}, KNOWLEDGE)
    assert any("Weights of the vision part are not counted" in said for said in seeing.warnings)


def test_locateanything() -> None:
    """Qwen2.5-3B behind MoonViT: a norm over four patches and two layers, or weights that are not known."""
    text = {
        "model_type": "qwen2", "hidden_size": 2048, "intermediate_size": 11008, "num_attention_heads": 16,
        "num_key_value_heads": 2, "num_hidden_layers": 36, "vocab_size": 152681, "tie_word_embeddings": True,
    }  # fmt: skip
    tower = SIGLIP | {"model_type": "moonvit", "patch_size": 14, "init_pos_emb_height": 64, "init_pos_emb_width": 64}
    config = {"model_type": "locateanything", "text_config": text, "vision_config": tower, "mlp_connector_layers": 2}
    found = roles(config)
    assert found["vision"] == SIGLIP_LAYERS + 3 * 14 * 14 * 1152 + 1152 + 64 * 64 * 1152 + 2 * 1152
    assert found["projector"] == 2 * 4608 + (4608 + 1) * 2048 + (2048 + 1) * 2048
    more = read_config({**config, "mlp_connector_layers": 3}, KNOWLEDGE)
    assert any("Weights of the projector part are not counted" in said for said in more.warnings)
