import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.units import GIB, format_bytes, format_rate, parse_bytes, words_for_tokens


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GiB", 8 * 2**30),
        ("1.5GiB", 1_610_612_736),
        ("24GB", 24_000_000_000),
        ("24 gb", 24_000_000_000),
        ("512MiB", 536_870_912),
        ("0.1GiB", 107_374_182),  # 107,374,182.4 rounded down
        ("65536", 65536),
        ("0", 0),
    ],
)
def test_sizes_with_binary_and_decimal_units(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1GiB", "8 apples", "8G", "1e9", "nan", "inf", "0x10", "8GiB8", "٣GiB", "9" * 50]
)
def test_what_is_no_size_is_refused_with_what_was_written(text: str) -> None:
    with pytest.raises(PlannerError, match="is not a size: write a number and a unit"):
        parse_bytes(text)


def test_absurd_sizes_are_refused() -> None:
    with pytest.raises(PlannerError, match="more than any machine has"):
        parse_bytes("9999999TiB")


@given(st.integers(0, 2**20))
def test_whole_gib_survive_writing_and_reading(count: int) -> None:
    """parse ∘ write is identity."""
    assert parse_bytes(f"{count}GiB") == count * GIB


@given(st.text(max_size=30))
def test_any_text_is_a_size_or_a_sentence(text: str) -> None:
    """No text raises anything but PlannerError."""
    try:
        assert parse_bytes(text) >= 0
    except PlannerError as error:
        assert str(error).endswith(".")


def test_sizes_on_screen() -> None:
    assert format_bytes(6_703_125_000) == "6.24 GiB"
    assert format_bytes(-2_695_091_978) == "−2.51 GiB"
    assert format_bytes(20 * 2**20) == "20.00 MiB"
    assert format_rate(12_288) == "12.3 kB"
    assert format_rate(81_920.5) == "81.9 kB"
    assert words_for_tokens(0) == 0
    assert words_for_tokens(8_192) == 6_100
