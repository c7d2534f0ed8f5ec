"""What a checkpoint is said to be stored as: its main format, by a name that --weights takes."""

import re

import pytest

from planner.errors import UnknownName
from planner.formats import Role
from planner.inputs.format_choices import choose_weights
from planner.readers.quantization import layouts
from planner.readers.quantization.named import named_format
from tests.readers.quantized import ELEMENTS, KINDS, MIXTURE, TINY, layer_bytes, modelopt, read

WARNED = "none that it names is in this model's layers"


@pytest.mark.parametrize("kind", KINDS)
def test_every_name_that_is_printed_can_be_asked_for(kind: str) -> None:
    quantization, stored_bytes = KINDS[kind]
    model = read(quantization)
    found = choose_weights(model.stored_as, None, model).format
    assert found is not None
    assert model.stored_as in (found.name, "gptq-8bit")  # of whole rows; the presets' format of that name has groups
    linear = next(tensor for tensor in model.layers[0].tensors if tensor.role is Role.LINEAR)
    assert linear.stored.name == model.stored_as
    # Beside what the name says may lie a zero point a group, an index a column, the scale of an activation.
    assert found.bytes_for(4096, 4096) == pytest.approx(linear.stored.bytes_for(4096, 4096), rel=0.03)
    assert layer_bytes(model) == stored_bytes


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("gptq-4bit-g128", 4.1640625),
        ("awq-4bit-g128", 4.15625),
        ("mlx-5bit-g64", 5.5),
        ("fp4-g8", 5.0),
        ("exl2-4.25bit", 4.25),
        ("fp8-block-64x64", 8 + 32 / 64**2),
        ("int4-g16", 5 + 16 * 8 / 4096**2),
    ],
)
def test_bits_of_a_name_that_only_checkpoints_have(name: str, bits: float) -> None:
    found = named_format(name)
    assert found is not None
    assert 8 * found.bytes_for(4096, 4096) / 4096**2 == pytest.approx(bits, rel=1e-3)


@pytest.mark.parametrize("name", ["awq-5bit-g128", "gptq-9bit", "exl2-0.5bit", "fp8-block-0x0", "int4-g0", "x-4bit"])
def test_a_name_that_no_quantiser_has_is_refused(name: str) -> None:
    assert named_format(name) is None
    with pytest.raises(UnknownName, match=f"Format {re.escape(repr(name))} is not known"):
        choose_weights(name, None, read(KINDS["awq"][0]))


def test_the_name_is_that_of_most_weights() -> None:
    """Experts in NVFP4 beside attention in FP8, whichever the file names first."""
    quantization = {
        "quant_method": "fp8",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": {f"model.layers.{i}.mlp.experts": {"quant_algo": "NVFP4"} for i in range(2)},
    }
    assert read(quantization, MIXTURE).stored_as == "nvfp4"
    assert read({"quant_method": "fp8", "expert_dtype": "fp4"}, MIXTURE).stored_as == "mxfp4"
    attention_alone = {"quant_method": "fp8", "modules_to_not_convert": ["mlp"]}
    assert read(attention_alone, MIXTURE).stored_as == "bf16"


@pytest.mark.parametrize("settings", [{"bits": 5, "group_size": 128}, {"bits": 4, "group_size": 0}])
def test_gptq_that_no_library_reads_is_counted_unquantised(settings: dict[str, object]) -> None:
    """transformers takes 2, 3, 4 and 8 bits, and groups of one and more or −1."""
    found = read({"quant_method": "gptq", **settings})
    assert found.stored_assumed
    assert layer_bytes(found) == 2 * ELEMENTS


@pytest.mark.parametrize(
    ("skipped", "is_warned"),
    [
        (["model.layers.7.self_attn.q_proj"], True),
        (["h.0.warp_drive"], True),
        (["re:.*warp_drive"], True),
        (["model.layers.0.self_attn.q_proj", "warp_drive"], False),
        (["lm_head"], False),
        (["visual", "lm_head"], False),
        (["re:.*vision_tower.*", "re:mtp.*"], False),
        (["model.layers.0.input_layernorm"], False),
        ([], False),
    ],
)
def test_a_list_of_exceptions_that_names_nothing_here_is_said(skipped: list[str], is_warned: bool) -> None:
    for quantization in (
        {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": skipped},
        {**modelopt("FP8"), "ignore": skipped},
    ):
        for config in (TINY, MIXTURE):
            warnings = read(quantization, config).warnings
            assert any(WARNED in warning for warning in warnings) == is_warned, (config["model_type"], warnings)


def test_awq_packs_what_the_name_says() -> None:
    assert named_format("awq-4bit-g128") == layouts.awq(4, 128)
