"""A model small enough to add up by hand, and a config of each kind of quantisation with the bytes of one layer."""

from collections.abc import Mapping
from typing import Any

from planner.architecture import Architecture
from planner.formats import QuantScheme
from planner.readers.hf_config import read_config
from planner.units import MIB
from planner.weights import bytes_by_role
from tests.readers.knowledge import FORMATS, KNOWLEDGE

CHECKPOINT = QuantScheme(format=None, rest=FORMATS["bf16"])

TINY = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 512,
    "vocab_size": 1024,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
MIXTURE = {**TINY, "model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 512}

# One layer: q and o 256 × 256, k and v 128 × 256, gate and up 512 × 256, down 256 × 512.
LINEARS = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)
MODULES = len(LINEARS)
ATTENTION = 2 * 256 * 256 + 2 * 128 * 256
MLP = 3 * 512 * 256
ELEMENTS = ATTENTION + MLP
ROWS = 256 + 128 + 128 + 256 + 512 + 512 + 256
COLUMNS = 6 * 256 + 512
TILES_128 = 4 + 2 + 2 + 4 + 8 + 8 + 8


def read(quantization: Mapping[str, Any], config: Mapping[str, object] = TINY) -> Architecture:
    return read_config({**config, "quantization_config": dict(quantization)}, KNOWLEDGE)


def sizes(architecture: Architecture) -> dict[str, int]:
    return bytes_by_role(architecture.layers, architecture.tensors, CHECKPOINT)


def layer_bytes(architecture: Architecture, role: str = "linear") -> int:
    """Bytes of one layer's tensors of *role*."""
    return sizes(architecture)[role] // len(architecture.layers)


def group(**weights: object) -> dict[str, object]:
    return {"targets": ["Linear"], "weights": weights}


def compressed(layout: str, inputs: object = None, **weights: object) -> dict[str, object]:
    return {
        "quant_method": "compressed-tensors",
        "format": layout,
        "config_groups": {"group_0": {**group(**weights), "input_activations": inputs}},
        "ignore": ["lm_head"],
    }


def modelopt(algorithm: str, **settings: object) -> dict[str, object]:
    return {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head"], **settings}


HALF, QUARTER_3 = ELEMENTS // 2, ELEMENTS * 3 // 8
STATIC = {"dynamic": False, "num_bits": 8, "type": "float"}
HQQ = {"weight_quant_params": {"nbits": 4, "group_size": 64}}
INT4WO = {"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 128}}}

KINDS: dict[str, tuple[dict[str, object], int]] = {
    # Groups of 128: ELEMENTS / 128 of them, each with 2 bytes of scale and so many bits of zero point; g_idx by column.
    "gptq 4-bit": (
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True, "sym": True},
        HALF + ELEMENTS // 128 * 2 + ELEMENTS // 128 // 2 + 4 * COLUMNS,
    ),
    "gptq 3-bit": (
        {"quant_method": "gptq", "bits": 3, "group_size": 128},
        QUARTER_3 + ELEMENTS // 128 * 2 + ELEMENTS // 128 * 3 // 8 + 4 * COLUMNS,
    ),
    "gptq 8-bit, whole rows": (
        {"quant_method": "gptq", "bits": 8, "group_size": -1},
        ELEMENTS + 2 * ROWS + ROWS + 4 * COLUMNS,
    ),
    "gptq in Marlin's layout": (
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "checkpoint_format": "marlin"},
        HALF + ELEMENTS // 128 * 2,
    ),
    "awq": (
        {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True},
        HALF + ELEMENTS // 128 * 2 + ELEMENTS // 128 // 2,
    ),
    "awq, first files": (
        {"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "zero_point": True},
        HALF + ELEMENTS // 64 * 2 + ELEMENTS // 64 // 2,
    ),
    "bitnet": ({"quant_method": "bitnet", "quantization_mode": "offline"}, ELEMENTS // 4 + 2 * MODULES),
    "bitnet online": ({"quant_method": "bitnet", "quantization_mode": "online"}, 2 * ELEMENTS),
    "eetq": ({"quant_method": "eetq", "weights": "int8"}, ELEMENTS + 2 * ROWS),
    "auto-round": (
        {"quant_method": "auto-round", "bits": 4, "group_size": 128, "packing_format": "auto_round:auto_awq"},
        HALF + ELEMENTS // 128 * 2 + ELEMENTS // 128 // 2,
    ),
    "bitsandbytes 8-bit": ({"load_in_8bit": True}, ELEMENTS + 4 * ROWS),
    "bitsandbytes nf4": ({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, HALF + ELEMENTS // 64 * 4),
    # An 8-bit absmax a block; a float32 one for 256 blocks, counted by row.
    "bitsandbytes nf4, double": (
        {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True},
        HALF + ELEMENTS // 64 + 4 * ROWS,
    ),
    "fp8 by block": (
        {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"},
        ELEMENTS + 4 * TILES_128,
    ),
    "fp8 by tensor": ({"quant_method": "fp8", "activation_scheme": "dynamic"}, ELEMENTS + 4 * MODULES),
    "fp8 static": (
        {"quant_method": "fp8", "activation_scheme": "static", "weight_block_size": None},
        ELEMENTS + (4 + 4) * MODULES,
    ),
    "fbgemm": ({"quant_method": "fbgemm_fp8"}, ELEMENTS + 4 * ROWS),
    "compressed fp8 by channel": (
        compressed("float-quantized", num_bits=8, type="float", strategy="channel"),
        ELEMENTS + 2 * ROWS,
    ),
    "compressed fp8 by tensor, static": (
        compressed("naive-quantized", STATIC, num_bits=8, type="float", strategy="tensor"),
        ELEMENTS + (2 + 2) * MODULES,
    ),
    "compressed fp8 by block": (
        compressed("float-quantized", num_bits=8, type="float", strategy="block", block_structure=[128, 128]),
        ELEMENTS + 2 * TILES_128,
    ),
    "compressed int8 by channel": (
        compressed("int-quantized", num_bits=8, type="int", strategy="channel", symmetric=False),
        ELEMENTS + (2 + 1) * ROWS,
    ),
    # Every packed weight carries its shape, two int64.
    "compressed int4": (
        compressed("pack-quantized", num_bits=4, type="int", strategy="group", group_size=32, symmetric=True),
        HALF + ELEMENTS // 32 * 2 + 16 * MODULES,
    ),
    "compressed int4 with zero points and order": (
        compressed(
            "pack-quantized",
            num_bits=4,
            type="int",
            strategy="group",
            group_size=128,
            symmetric=False,
            actorder="group",
        ),
        HALF + ELEMENTS // 128 * 2 + ELEMENTS // 128 // 2 + 16 * MODULES + 4 * COLUMNS,
    ),
    "compressed nvfp4": (
        compressed("nvfp4-pack-quantized", STATIC, num_bits=4, type="float", strategy="tensor_group", group_size=16),
        HALF + ELEMENTS // 16 + (4 + 4) * MODULES,
    ),
    "compressed mxfp4": (
        compressed("mxfp4-pack-quantized", num_bits=4, type="float", strategy="group", group_size=32),
        HALF + ELEMENTS // 32,
    ),
    "modelopt fp8": (modelopt("FP8"), ELEMENTS + (4 + 4) * MODULES),
    "modelopt nvfp4": (modelopt("NVFP4", group_size=16), HALF + ELEMENTS // 16 + (4 + 4) * MODULES),
    "modelopt nvfp4, weights only": (modelopt("W4A16_NVFP4", group_size=16), HALF + ELEMENTS // 16 + 4 * MODULES),
    "modelopt int4 awq": (
        modelopt("W4A16_AWQ", group_size=128),
        HALF + ELEMENTS // 128 * 4 + 2 * (256 + 512),
    ),
    "modelopt int4 awq, fp8 activations": (
        modelopt("W4A8_AWQ", group_size=128),
        HALF + ELEMENTS // 128 * 4 + (4 + 4) * MODULES + 2 * (256 + 512),
    ),
    "modelopt int4 awq, by module": (
        {
            "quant_method": "modelopt",
            "quant_algo": "MIXED_PRECISION",
            "quantized_layers": {
                f"model.layers.{layer}.{module}": {"quant_algo": "W4A16_AWQ", "group_size": 128}
                for layer in range(2)
                for module in LINEARS
            },
        },
        HALF + ELEMENTS // 128 * 4 + 2 * (256 + 512),
    ),
    "modelopt int8": (modelopt("W8A16"), ELEMENTS + 4 * ROWS),
    "modelopt smoothed int8": (modelopt("W8A8_SQ_PER_CHANNEL"), ELEMENTS + 4 * ROWS + 4 * MODULES + 2 * COLUMNS),
    "modelopt, no algorithm": ({"quant_algo": None, "kv_cache_quant_algo": "FP8"}, 2 * ELEMENTS),
    "quark fp8": (
        {
            "quant_method": "quark",
            "global_quant_config": {
                "weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"},
                "input_tensors": {"dtype": "fp8_e4m3", "is_dynamic": False},
            },
            "exclude": ["lm_head"],
        },
        ELEMENTS + (4 + 4) * MODULES,
    ),
    "quark mxfp4": (
        {
            "quant_method": "quark",
            "global_quant_config": {"weight": {"dtype": "fp4", "qscheme": "per_group", "group_size": 32}},
        },
        HALF + ELEMENTS // 32,
    ),
    "hqq": ({"quant_method": "hqq", "quant_config": HQQ, "skip_modules": ["lm_head"]}, HALF + ELEMENTS // 64 * 4),
    "torchao": ({"quant_method": "torchao", "quant_type": INT4WO}, HALF + ELEMENTS // 128 * 4),
    "torchao, by string": (
        {"quant_method": "torchao", "quant_type": "int8_weight_only", "quant_type_kwargs": {}},
        ELEMENTS + 4 * ROWS,
    ),
    "aqlm": (
        {
            "quant_method": "aqlm",
            "in_group_size": 8,
            "out_group_size": 1,
            "num_codebooks": 1,
            "nbits_per_codebook": 16,
        },
        ELEMENTS // 8 * 2 + 2 * ROWS + MIB * MODULES,
    ),
    "exl2": ({"quant_method": "exl2", "bits": 4.0, "head_bits": 6}, HALF),
    "exl3": ({"quant_method": "exl3", "bits": 3.0, "head_bits": 6}, QUARTER_3 + 2 * ROWS + 2 * COLUMNS),
}
