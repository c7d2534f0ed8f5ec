"""Rounding to few levels by hand, its packing beside the planner's formats, and its laws."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.quantizers import SCHEMES, normal_levels, quantize, relative_error
from planner.format_presets import formats


def test_int4_per_row_by_hand() -> None:
    """Scales 7/7 and 0.5/7, the second in 16 bits: 0.07141; codes −7 … 7."""
    weight = torch.tensor([[7.0, 3.4, -2.6, 0.0], [0.5, 0.0, 0.25, -0.5]])
    quantized = quantize(weight, SCHEMES["int4-row"])
    assert quantized.codes.tolist() == [[7, 3, -3, 0], [7, 0, 4, -7]]
    assert quantized.scales.flatten().tolist() == [1.0, pytest.approx(0.5 / 7, rel=1e-3)]


def test_one_outlier_sets_the_scale_of_a_tensor_and_not_of_other_rows() -> None:
    weight = torch.tensor([[100.0, 0.0], [1.0, -1.0]])
    assert quantize(weight, SCHEMES["int4-tensor"]).dequantized().tolist() == [[100.0, 0.0], [0.0, 0.0]]
    by_row = quantize(weight, SCHEMES["int4-row"]).dequantized()
    assert torch.allclose(by_row, weight, rtol=1e-3)


def test_nf4s_levels_are_the_published_ones() -> None:
    """QLoRA, appendix E: 16 levels, to 4 digits."""
    published = (
        -1.0, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
        0.0796, 0.1609, 0.2461, 0.3379, 0.4407, 0.5626, 0.7230, 1.0,
    )  # fmt: skip
    assert normal_levels() == pytest.approx(published, abs=1e-4)


@pytest.mark.parametrize("name", [name for name, scheme in SCHEMES.items() if scheme.format])
@pytest.mark.parametrize(("rows", "columns"), [(896, 4_864), (3, 576), (5, 128)])
def test_packed_bytes_are_the_planners_format(name: str, rows: int, columns: int) -> None:
    scheme = SCHEMES[name]
    packed = quantize(torch.randn(rows, columns), scheme).packed_bytes()
    assert packed == formats()[scheme.format].bytes_for(columns, rows)


def test_the_order_on_normal_weights_with_outliers() -> None:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(256, 1_024, generator=generator)
    weight[3, 5] = 24.0
    error = {name: relative_error(weight, quantize(weight, scheme).dequantized()) for name, scheme in SCHEMES.items()}
    assert error["int4-tensor"] > error["int4-row"] > error["int4-g128"] > error["nf4"] > error["int8-row"]
    assert error["int4-tensor"] > 0.8
    assert error["int8-row"] < 0.01


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=40), st.sampled_from(sorted(SCHEMES)))
@settings(max_examples=60)
def test_what_comes_back_is_within_half_a_step(values: list[float], name: str) -> None:
    """No weight moves by more than half the widest gap between levels, and a little for the scale's own rounding."""
    weight, scheme = torch.tensor([values]), SCHEMES[name]
    back = quantize(weight, scheme).dequantized()
    gap = 0.31 if scheme.normal else 1 / (2 ** (scheme.bits - 1) - 1)
    largest = float(weight.abs().max())
    assert float((weight - back).abs().max()) <= largest * (gap / 2 + 2e-3) + 1e-4
