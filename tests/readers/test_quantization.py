"""Each kind of quantisation on a model small enough to add up by hand."""

import pytest

from planner.readers.hf_config import read_config
from tests.readers.knowledge import KNOWLEDGE
from tests.readers.quantized import (
    ATTENTION,
    COLUMNS,
    ELEMENTS,
    KINDS,
    MIXTURE,
    MLP,
    MODULES,
    TINY,
    group,
    layer_bytes,
    modelopt,
    read,
    sizes,
)


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_of_a_layers_projections(kind: str) -> None:
    quantization, expected = KINDS[kind]
    architecture = read(quantization)
    assert layer_bytes(architecture) == expected
    assert (architecture.stored_assumed, architecture.warnings) == (False, ())


@pytest.mark.parametrize("kind", KINDS)
def test_embedding_and_norms_keep_16_bit(kind: str) -> None:
    found = sizes(read(KINDS[kind][0]))
    assert found["embedding"] == 1024 * 256 * 2
    assert found["norm"] == (2 * 2 + 1) * 256 * 2
    if "exl" not in kind:
        assert found["head"] == 1024 * 256 * 2


def test_fractional_bits_average_out() -> None:
    """EXL2 at 4.25 bits: 68 bytes for 128 elements; at 4.3: a byte more for every 128 / 0.8 = 160."""
    assert layer_bytes(read({"quant_method": "exl2", "bits": 4.25})) == ELEMENTS // 128 * 68
    assert layer_bytes(read({"quant_method": "exl2", "bits": 4.3})) == pytest.approx(ELEMENTS * 4.3 / 8, rel=0.006)


def test_exllama_writes_a_head_even_where_it_is_tied() -> None:
    tied = {**TINY, "tie_word_embeddings": True}
    assert sizes(read({"quant_method": "exl2", "bits": 4.0, "head_bits": 6}, tied))["head"] == 1024 * 256 * 6 // 8
    assert "head" not in sizes(read({"quant_method": "awq", "bits": 4, "group_size": 128}, tied))


def test_mlx_quantises_embedding_and_head_too() -> None:
    """Its config has no quant_method; per group of 64: 32 bytes, and 16-bit scale and bias."""
    found = sizes(read({"group_size": 64, "bits": 4, "mode": "affine"}))
    assert found["linear"] == 2 * ELEMENTS // 64 * 36
    assert found["embedding"] == found["head"] == 1024 * 256 // 64 * 36
    found = sizes(read({"group_size": 64, "bits": 4, "lm_head": False, "model.embed_tokens": {"bits": 8}}))
    assert (found["head"], found["embedding"]) == (1024 * 256 * 2, 1024 * 256 // 64 * 68)


def test_mlx_config_without_the_usual_key() -> None:
    architecture = read_config({**TINY, "quantization": {"group_size": 64, "bits": 4}}, KNOWLEDGE)
    assert layer_bytes(architecture) == ELEMENTS // 64 * 36


def test_mxfp4_is_for_experts_only() -> None:
    """4 experts of 3 × 512 × 256; attention and router stay as they are."""
    found = sizes(read({"quant_method": "mxfp4"}, MIXTURE))
    assert found["expert"] == 2 * 4 * MLP // 32 * 17
    assert found["linear"] == 2 * ATTENTION * 2
    assert found["router"] == 2 * 4 * 256 * 2


@pytest.mark.parametrize("kind", KINDS)
def test_routers_are_never_quantised_unless_named(kind: str) -> None:
    assert sizes(read(KINDS[kind][0], MIXTURE))["router"] == 2 * 4 * 256 * 2


def test_scalars_are_one_an_expert() -> None:
    assert layer_bytes(read(modelopt("NVFP4"), MIXTURE), "expert") == 4 * (MLP // 2 + MLP // 16 + 3 * 8)


def test_fp4_experts_beside_fp8() -> None:
    """DeepSeek-V4: expert_dtype stands beside the quantization_config, not in it; scales are E8M0, a byte each."""
    config = {**MIXTURE, "expert_dtype": "fp4"}
    found = sizes(read({"quant_method": "fp8", "weight_block_size": [128, 128]}, config))
    assert found["expert"] == 2 * 4 * (MLP // 2 + MLP // 32)
    assert found["linear"] == 2 * (ATTENTION + 12)


def test_a_map_over_fp8_leaves_the_rest_in_fp8() -> None:
    """Its ignore list says what the map does not cover, not what is in 16 bit."""
    quantization = {
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "quant_algo": "MIXED_PRECISION",
        "ignore": ["*.attn.*", "head"],
        "quantized_layers": {f"layers.{i}.ffn.experts": {"quant_algo": "NVFP4", "group_size": 16} for i in range(2)},
    }
    found = sizes(read(quantization, MIXTURE))
    assert found["expert"] == 2 * 4 * (MLP // 2 + MLP // 16 + 3 * 8)
    assert found["linear"] == 2 * (ATTENTION + 4 * 12)


def test_gptqmodel_rules_by_module() -> None:
    """Layer 0's MLP is left alone and layer 1's o_proj has 8 bits; the first rule that matches counts."""
    base = {"quant_method": "gptq", "bits": 4, "group_size": 128, "lm_head": True}
    rules = {r"-:.*\.0\.mlp\..*": {}, r"+:.*\.1\..*o_proj.*": {"bits": 8}, r".*o_proj.*": {"bits": 4}}
    found = sizes(read({**base, "dynamic": rules}))
    one = {"bits": 4, "elements": ELEMENTS - 256 * 256 - MLP, "columns": COLUMNS - 256 - 1024}

    def packed(elements: int, columns: int, bits: int) -> int:
        return elements * bits // 8 + elements // 128 * 2 + elements // 128 * bits // 8 + 4 * columns

    first = packed(one["elements"] + 256 * 256, one["columns"] + 256, 4) + 2 * MLP
    second = packed(ELEMENTS - 256 * 256, COLUMNS - 256, 4) + packed(256 * 256, 256, 8)
    assert found["linear"] == first + second
    assert found["head"] == packed(1024 * 256, 256, 4)


def test_mixed_groups_by_target() -> None:
    """Names and patterns come before the class Linear."""
    quantization = {
        "quant_method": "compressed-tensors",
        "format": "mixed-precision",
        "config_groups": {
            "group_0": {**group(num_bits=8, type="float", strategy="channel"), "format": "float-quantized"},
            "group_1": {
                "targets": ["re:.*down_proj"],
                "format": "nvfp4-pack-quantized",
                "weights": {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
            },
        },
        "ignore": ["lm_head", "re:.*self_attn.*"],
    }
    down = 256 * 512
    assert layer_bytes(read(quantization)) == (
        2 * ATTENTION + (MLP - down + 2 * (512 + 512)) + (down // 2 + down // 16 + 4)
    )


def test_mixed_precision_by_map_quantises_only_what_it_names() -> None:
    layers = {
        f"model.layers.{i}.mlp.{name}": {"quant_algo": "FP8"} for i in range(2) for name in ("up_proj", "down_proj")
    }
    found = sizes(
        read(modelopt("MIXED_PRECISION", quantized_layers={**layers, "lm_head": {"quant_algo": "FP8"}}, ignore=[]))
    )
    assert found["linear"] == 2 * (2 * (ATTENTION + MLP // 3) + 2 * (MLP // 3 + 8))
    assert found["head"] == 1024 * 256 + 8


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ({"kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4-kv"),
        ({"kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}}, "fp8"),
        ({"kv_cache_scheme": "FP8"}, "fp8"),
        ({"kv_cache_quant_algo": None}, "bf16"),
        ({}, "bf16"),
    ],
)
def test_the_cache_is_kept_as_the_checkpoint_asks(wanted: dict[str, object], name: str) -> None:
    assert read(modelopt("FP8", **wanted)).cache_format.name == name


def test_a_cache_that_is_not_known_is_counted_in_16_bit_with_a_warning() -> None:
    architecture = read(modelopt("FP8", kv_cache_quant_algo="FP5"))
    assert architecture.cache_format.name == "bf16"
    assert architecture.warnings == (
        "The checkpoint asks for a cache in 'FP5', which is not known: it is counted in 16 bit.",
    )


def test_quark_says_by_a_key_projection_how_the_cache_is_kept() -> None:
    quantization, _ = KINDS["quark fp8"]
    weight = {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}
    layer = {"*k_proj": {"weight": weight, "output_tensors": {"dtype": "fp8_e4m3"}}}
    assert read({**quantization, "layer_quant_config": layer}).cache_format.name == "fp8"


def test_a_sibling_file_counts_where_the_config_is_silent() -> None:
    sibling = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    alone = read_config(TINY, KNOWLEDGE, quantization=sibling)
    assert layer_bytes(alone) == ELEMENTS + 8 * MODULES
    assert alone.cache_format.name == "fp8"
    awq, expected = KINDS["awq"]
    both = read_config({**TINY, "quantization_config": awq}, KNOWLEDGE, quantization=sibling)
    assert layer_bytes(both) == expected


def test_mixed_precision_groups_need_no_format_of_their_own() -> None:
    """MLP: 4 bits, a 16-bit scale every 128 and each shape; attention: 8 bits and a scale a row."""
    groups = {
        "group_0": {
            "targets": ["re:.*mlp.*"],
            "weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128},
        },
        "group_1": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "int", "strategy": "channel"}},
    }
    found = read({"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": groups})
    assert layer_bytes(found) == MLP // 2 + MLP // 128 * 2 + 3 * 16 + ATTENTION + 2 * (256 + 128 + 128 + 256)


def test_modelopts_settings_may_lie_one_level_down() -> None:
    flat = read({"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["lm_head"]})
    nested = {"quant_method": "modelopt", "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    assert read(nested) == flat


def test_experts_beside_the_dense_part_are_not_skipped_with_it() -> None:
    """Gemma 4's files have ``layers.0.experts`` beside ``layers.0.mlp``: 4 experts of 3 × 64 × 256 in NVFP4."""
    gemma = {
        **TINY, "model_type": "gemma4_text", "head_dim": 64, "global_head_dim": 64, "num_experts": 4,
        "top_k_experts": 2, "moe_intermediate_size": 64, "enable_moe_block": True, "hidden_size_per_layer_input": 0,
        "layer_types": ["full_attention"] * 2,
    }  # fmt: skip
    skipped = [f"model.language_model.layers.{index}.{part}*" for index in (0, 1) for part in ("mlp", "self_attn")]
    found = read({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": [*skipped, "lm_head"]}, gemma)
    scales = 4 * 3 * (64 * 256 // 16 + 2 * 4)
    assert not any("quanti" in warning for warning in found.warnings)
    assert layer_bytes(found, "expert") == 4 * 3 * 64 * 256 // 2 + scales
    assert layer_bytes(found) == (MLP + ATTENTION) * 2
