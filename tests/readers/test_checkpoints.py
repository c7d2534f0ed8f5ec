"""Published quantised checkpoints: the numbers their files hold, and the bytes they are known to take."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from planner import presets
from planner.architecture import Tensor, distinct_layers
from planner.readers.hf_config import read_config
from planner.units import MIB
from planner.weights import loaded_tensors
from tests.checkpoints import CASES, read, read_case, stored_bytes
from tests.readers.knowledge import KNOWLEDGE


def numbers(tensor: Tensor) -> Iterator[tuple[str, int]]:
    """How many numbers a file holds for *tensor*, by what they are; two 4-bit floats are one number."""
    stored = tensor.stored
    two_a_byte = stored.kind == "checkpoint" and stored.elements == 2
    kind = "correction biases" if tensor.name.endswith("e_score_correction_bias") else "weights"
    yield kind, tensor.elements // (2 if two_a_byte else 1)
    for scale in stored.scales if stored.kind == "checkpoint" else ():
        count = tensor.count * scale.bytes_for(tensor.rows, tensor.columns) // scale.bytes
        if scale.rows or scale.columns:
            yield "scales", count
        elif scale.bytes == 16:
            yield "shapes", 2 * count
        else:
            yield "scalars", count


def count(tensors: Iterable[tuple[Tensor, int]], left_out: Iterable[str]) -> int:
    return sum(number * times for tensor, times in tensors for kind, number in numbers(tensor) if kind not in left_out)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["numbers"] is not None])
def test_numbers_in_the_files_equal_the_published_total(name: str) -> None:
    """Scales of every block and row counted; a publisher's own count may leave out kinds, which the case names."""
    case = CASES[name]
    architecture = read_case(case)
    prediction = [(tensor, 1) for layer in architecture.mtp_layers for tensor in layer.tensors]
    held = [*loaded_tensors(architecture), *([] if "mtp" in case["left_out"] else prediction)]
    assert count(held, case["left_out"]) == case["numbers"]
    assert not architecture.stored_assumed


@pytest.mark.parametrize("name", CASES)
def test_layers_stored_alike_stay_one_object(name: str) -> None:
    plain = presets.load_preset(CASES[name]["model"])
    kinds = len(distinct_layers(read_case(CASES[name]).layers))
    # Llama-3.1-405B keeps its first and last MLP in 16 bit.
    assert kinds == len(distinct_layers(plain.layers)) + ("405B" in name)


def test_deepseek_v4_with_nvfp4_experts_keeps_the_rest_in_fp8() -> None:
    """The published total of nvidia/DeepSeek-V4-Flash-NVFP4: the map names the experts of 43 layers, not the 44th's."""
    hybrids = json.loads((Path(__file__).parents[1] / "data" / "hybrids.json").read_text(encoding="utf-8"))
    quantization = {
        "quant_method": "fp8",
        "quant_algo": "MIXED_PRECISION",
        "weight_block_size": [128, 128],
        "ignore": ["*.attn.*", "*.ffn.shared_experts.*", "head", "mtp.*"],
        "quantized_layers": {f"layers.{i}.ffn.experts": {"quant_algo": "NVFP4", "group_size": 16} for i in range(43)},
    }
    config = hybrids["deepseek-ai/DeepSeek-V4-Flash"]["config"]
    config = {**config, "expert_dtype": "fp4", "quantization_config": quantization}
    architecture = read_config(config, KNOWLEDGE)
    prediction = [(tensor, 1) for layer in architecture.mtp_layers for tensor in layer.tensors]
    assert count([*loaded_tensors(architecture), *prediction], ["scalars"]) == 166_726_476_754


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True, "version": "gemm"}
FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
NF4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router"]}


@pytest.mark.parametrize(
    ("model", "quantization", "published_bytes"),
    [
        ("qwen2.5-7b", AWQ, 5_570_000_000),  # size of Qwen/Qwen2.5-7B-Instruct-AWQ
        ("llama-3.1-8b", AWQ, 5_700_000_000),  # size of the AWQ repositories, recalled to two digits
        ("llama-3.1-8b", NF4, 6_000_000_000),  # load, recalled to two digits
        ("llama-3.1-8b", {**NF4, "bnb_4bit_use_double_quant": True}, 5_700_000_000),  # size, recalled to two digits
        ("gpt-oss-20b", MXFP4, 13_760_000_000),
        ("gpt-oss-120b", MXFP4, 65_200_000_000),
    ],
)
def test_bytes_are_within_0_6_percent_of_published_sizes(
    model: str, quantization: Mapping[str, object], published_bytes: int
) -> None:
    assert stored_bytes(read(model, quantization)) == pytest.approx(published_bytes, rel=0.006)


def test_an_awq_file_of_a_tied_model_has_a_copy_of_the_head_that_is_not_loaded() -> None:
    """Qwen2.5-3B-Instruct-AWQ: 2.684e9 bytes, 2.50 GiB, with 151,936 × 2,048 16-bit numbers twice."""
    assert stored_bytes(read("qwen2.5-3b", AWQ)) + 151_936 * 2_048 * 2 == pytest.approx(2_684_000_000, rel=0.006)


@pytest.mark.parametrize(
    ("model", "quantization", "peak_mib"),
    [
        ("qwen3-8b", AWQ, 6_177),
        ("qwen3-14b", AWQ, 9_962),
        ("qwen3-32b", AWQ, 19_109),
        ("qwen3-8b", FP8, 9_323),
        ("qwen3-32b", FP8, 33_379),
    ],
)
def test_peaks_at_one_input_token_lie_1_to_7_percent_above_the_weights(
    model: str, quantization: Mapping[str, object], peak_mib: int
) -> None:
    """Qwen's documentation prints the peak of a process, 0.3 to 0.7 GB of its runtime included."""
    assert 1.015 < peak_mib * MIB / stored_bytes(read(model, quantization)) < 1.065
