"""presets/formats.toml against published sizes, the gguf package and sums that can be done by hand."""

from fractions import Fraction

import pytest

from planner import format_presets
from planner.formats import NumberFormat

FORMATS = format_presets.formats()
BY_NAME = {number_format.name: number_format for number_format in FORMATS.values()}

GGML = "llama.cpp ggml-common.h"
AUTO = "AutoAWQ and AutoGPTQ packing"
MX = "OCP microscaling formats"
MLX = "ml-explore/mlx"

# Bits of an element as the source prints them; the number of decimals is the source's rounding.
IK = "ik_llama.cpp examples/quantize/quantize.cpp"
STATED_BITS = [
    ("fp32", "32.0", GGML),
    ("fp16", "16.0", GGML),
    ("bf16", "16.0", GGML),
    ("q4_0", "4.5", GGML),
    ("q4_1", "5.0", GGML),
    ("q5_0", "5.5", GGML),
    ("q5_1", "6.0", GGML),
    ("q8_0", "8.5", GGML),
    ("q8_1", "9", GGML),
    ("q2_k", "2.625", GGML),
    ("q3_k", "3.4375", GGML),
    ("q4_k", "4.5", GGML),
    ("q5_k", "5.5", GGML),
    ("q6_k", "6.5625", GGML),
    ("q8_k", "9.125", GGML),
    ("iq1_s", "1.5625", GGML),
    ("iq1_m", "1.75", GGML),
    ("iq2_xxs", "2.0625", GGML),
    ("iq2_xs", "2.3125", GGML),
    ("iq2_s", "2.5625", GGML),
    ("iq3_xxs", "3.0625", GGML),
    ("iq3_s", "3.4375", GGML),
    ("iq4_nl", "4.5", GGML),
    ("iq4_xs", "4.25", GGML),
    ("tq1_0", "1.6875", GGML),
    ("tq2_0", "2.0625", GGML),
    ("q1_0", "1.125", GGML),
    ("q2_0", "2.25", GGML),
    ("mxfp4", "4.25", GGML),
    ("nvfp4-gguf", "4.5", GGML),
    ("q6_0", "6.5", IK),
    ("iq2_k", "2.375", IK),
    ("iq3_k", "3.44", IK),
    ("iq4_k", "4.5", IK),
    ("iq5_k", "5.5", IK),
    ("iq6_k", "6.6", IK),
    ("iq2_ks", "2.1875", IK),
    ("iq3_ks", "3.19", IK),
    ("iq4_ks", "4.25", IK),
    ("iq5_ks", "5.25", IK),
    ("iq4_kss", "4.0", IK),
    ("iq2_kl", "2.69", IK),
    ("iq1_kt", "1.75", IK),
    ("iq2_kt", "2.125", IK),
    ("iq3_kt", "3.125", IK),
    ("iq4_kt", "4.0", IK),
    ("int4-g128-asym", "4.156", AUTO),
    ("int4-g64-asym", "4.3125", AUTO),
    ("int4-g32-asym", "4.625", AUTO),
    ("int8-g128", "8.1875", AUTO),
    ("int4-g128", "4.125", "IST-DASLab/marlin README: 4 + 16/128"),
    ("nf4", "4.5", "bitsandbytes: 4 + 32/64"),
    ("fp4", "4.5", "bitsandbytes: 4 + 32/64"),
    ("nf4-dq", "4.127", "QLoRA, arXiv:2305.14314: 4 + 8/64 + 32/(64 x 256)"),
    ("nf4-s16", "4.25", "4 + 16/64"),
    ("fp8", "8.0", "vLLM FP8 documentation"),
    ("fp8-block", "8.002", "weight_block_size 128 x 128: 8 + 32/16384"),
    ("mxfp8", "8.25", MX),
    ("mxfp4", "4.25", MX),
    ("nvfp4", "4.5", "NVIDIA ModelOpt: 4 + 8/16"),
    ("nvfp4-kv", "4.5", "NVIDIA ModelOpt: 4 + 8/16"),
    ("hqq-4bit-g64", "4.5", "mobiusml/hqq: 4 + 32/64"),
    ("hqq-3bit-g32", "4.2", "mobiusml/hqq: 10 values in an int32, and 32/32"),
    ("hqq-2bit-g16", "4.0", "mobiusml/hqq: 2 + 32/16"),
    ("mlx-4bit-g64", "4.5", MLX),
    ("mlx-4bit-g32", "5.0", MLX),
    ("mlx-8bit-g64", "8.5", MLX),
    ("mlx-6bit-g64", "6.5", MLX),
    ("mlx-3bit-g64", "3.5", MLX),
    ("torchao-int4-g128", "4.25", "pytorch-labs/gpt-fast"),
    ("torchao-int4-g32", "5.0", "pytorch-labs/gpt-fast"),
]

# Formats with a scale a row or a tensor: bits of an element of a 4096 x 4096 matrix.
STATED_BITS_4096 = [
    ("llm-int8", "8.008", "bitsandbytes: 8 + 32/4096"),
    ("fp8-row", "8.008", "8 + 32/4096"),
    ("int8-row", "8.004", "8 + 16/4096"),
    ("int4-row", "4.004", "4 + 16/4096"),
    ("aqlm-1x16-g8", "2.504", "Vahe1994/AQLM: 2 + 16/4096 and a codebook of 1 MiB"),
    ("aqlm-2x8-g8", "2.008", "Vahe1994/AQLM: 2 + 16/4096 and a codebook of 8 KiB"),
]


def assert_bits(exact: Fraction, stated: str) -> None:
    decimals = len(stated.partition(".")[2])
    assert abs(exact - Fraction(stated)) <= Fraction(1, 2 * 10**decimals)


def bits_of_a_large_row(number_format: NumberFormat) -> Fraction:
    bits = Fraction(8 * number_format.bytes, number_format.elements)
    return bits + sum(Fraction(8 * s.bytes, s.rows * s.columns) for s in number_format.scales if s.rows and s.columns)


@pytest.mark.parametrize(("name", "stated", "source"), STATED_BITS)
def test_bits_an_element_are_the_published_ones(name: str, stated: str, source: str) -> None:
    assert_bits(bits_of_a_large_row(BY_NAME[name]), stated)


@pytest.mark.parametrize(("name", "stated", "source"), STATED_BITS_4096)
def test_bits_an_element_of_a_square_matrix(name: str, stated: str, source: str) -> None:
    assert_bits(Fraction(8 * BY_NAME[name].bytes_for(4096, 4096), 4096 * 4096), stated)


def test_every_format_for_weights_is_checked_against_a_published_figure() -> None:
    """A new format comes with the figure it was checked against; only the plain ones need none."""
    checked = {name for name, _, _ in STATED_BITS + STATED_BITS_4096}
    assert {f.name for f in BY_NAME.values() if f.weights} - checked == {"int8", "int4", "int4-g64", "int4-g32"}


# llama.cpp's own copy was corrected to 36 bytes (two halves and 32 bytes); the package still has two floats.
OUTDATED_IN_GGUF = {"Q8_1"}
OTHER_NAME = {"NVFP4": "nvfp4-gguf"}


def test_every_gguf_type_has_the_size_that_the_gguf_package_states() -> None:
    gguf = pytest.importorskip("gguf")
    for tensor_type, size in gguf.constants.GGML_QUANT_SIZES.items():
        if tensor_type.name in OUTDATED_IN_GGUF:
            continue
        found = FORMATS[OTHER_NAME.get(tensor_type.name, tensor_type.name.lower())]
        assert (found.elements, found.bytes, found.scales) == (*size, ()), tensor_type.name


@pytest.mark.parametrize(
    ("name", "columns", "rows", "expected_bytes"),
    [
        # Llama-3.1-8B's gate projection, 14336 x 4096: 58,720,256 elements.
        ("bf16", 4096, 14336, 117_440_512),
        ("fp8", 4096, 14336, 58_720_256),
        ("fp8-row", 4096, 14336, 58_720_256 + 14336 * 4),
        ("fp8-block", 4096, 14336, 58_720_256 + 112 * 32 * 4),
        ("int8", 4096, 14336, 58_720_256),
        ("int8-row", 4096, 14336, 58_720_256 + 14336 * 2),
        ("int4", 4096, 14336, 29_360_128),
        ("int4-row", 4096, 14336, 29_360_128 + 14336 * 2),
        ("int4-g128", 4096, 14336, 29_360_128 + 458_752 * 2),
        ("int4-g128-asym", 4096, 14336, 29_360_128 + 458_752 * 2 + 458_752 // 2),
        ("nf4", 4096, 14336, 29_360_128 + 917_504 * 4),
        ("nvfp4", 4096, 14336, 29_360_128 + 3_670_016 + 4),
        # One expert matrix of gpt-oss-20b, 5760 x 2880: 90 blocks of 17 bytes a row.
        ("mxfp4", 2880, 5760, 5760 * 90 * 17),
        # A row that does not end on a block keeps a whole one: 2881 elements take 91 blocks.
        ("mxfp4", 2881, 1, 91 * 17),
        # 13 billion parameters at 4.125 and at 4.127 bits.
        ("int4-g128", 13_000_000_000, 1, 6_703_125_000),
        ("nf4-dq", 13_000_000_000, 1, 13_000_000_000 // 64 * 33 + 793_458 * 4),
    ],
)
def test_bytes_of_a_tensor(name: str, columns: int, rows: int, expected_bytes: int) -> None:
    assert BY_NAME[name].bytes_for(columns, rows) == expected_bytes


def test_double_quantised_nf4_is_never_under_estimated_and_by_at_most_a_sixth_of_a_percent() -> None:
    """bitsandbytes' outer scales run over the flattened tensor, ours over a row."""
    rows, columns = 14336, 4096
    stored = rows * columns // 64 * 33 + rows * columns // 16384 * 4
    assert stored <= BY_NAME["nf4-dq"].bytes_for(columns, rows) <= stored * (1 + 1 / 600)


def test_formats_that_may_hold_a_cache() -> None:
    """vLLM: 16 bit, fp8, nvfp4; TensorRT-LLM: int8; llama.cpp: --cache-type-k."""
    assert {f.name for f in BY_NAME.values() if f.cache} == {
        *("fp32", "bf16", "fp16", "fp8", "int8", "nvfp4-kv"),
        *("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"),
    }


def test_a_cache_format_costs_the_same_whatever_the_rows_are() -> None:
    """A cache grows token by token: no scale outside the blocks can be charged to one token."""
    assert [f.name for f in BY_NAME.values() if f.cache and f.scales] == []


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("f16", "fp16"),
        ("float32", "fp32"),
        ("bfloat16", "bf16"),
        ("fp8_e4m3", "fp8"),
        ("f8_e5m2", "fp8"),
        ("awq", "int4-g128-asym"),
        ("gptq-8bit", "int8-g128"),
        ("bnb-4bit", "nf4"),
        ("hqq", "hqq-4bit-g64"),
        ("u8", "i8"),
        ("double", "f64"),
    ],
)
def test_other_spellings(spelling: str, name: str) -> None:
    assert FORMATS[spelling].name == name


def test_names_are_what_people_type() -> None:
    assert [name for name in FORMATS if name != name.strip().lower() or " " in name] == []


def test_provenance_survives_loading() -> None:
    assert [f.name for f in BY_NAME.values() if len(f.source) < 10 or not f.title] == []
    assert {f.kind for f in BY_NAME.values()} == {"float", "integer", "block", "checkpoint", "gguf"}


def test_what_only_files_hold_is_offered_for_nothing() -> None:
    unused = {f.name for f in BY_NAME.values() if not f.weights and not f.cache}
    assert unused == {"i8", "i16", "i32", "i64", "f64", "q8_1", "q8_k"}
