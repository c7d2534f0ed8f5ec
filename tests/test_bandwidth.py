"""A stated bandwidth: as people write it, and the speed of a device of which nothing else is known."""

import json

import pytest

from planner.bandwidth import parse_bandwidth
from planner.cli import main
from planner.errors import PlannerError
from planner.inputs.choices import Choices, choose
from planner.presets import find_device


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("80GB/s", 80_000_000_000),
        (" 1.8 TB/s ", 1_800_000_000_000),
        ("1GiB/s", 1_073_741_824),
        ("2xDDR5-5600", 89_600_000_000),  # 2 channels of 8 bytes, 5,600 million times a second
        ("12 × DDR5-4800", 460_800_000_000),
        ("1xddr3-1600", 12_800_000_000),
    ],
)
def test_a_rate_is_read_as_people_write_it(text: str, bytes_per_s: int) -> None:
    assert parse_bandwidth(text) == bytes_per_s


@pytest.mark.parametrize(
    "text", ["80", "80GB", "fast", "0GB/s", "0xDDR5-5600", "DDR5-5600", "2xLPDDR5X-8533", "-1GB/s", "/s"]
)
def test_what_is_no_rate_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(PlannerError, match="such as"):
        parse_bandwidth(text)


def said(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main([*f"speed --model llama-3.1-8b --weights q4_k_m --context 1024 --json {words}".split()]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("device", ["--device cpu-16gb", "--memory 16GiB", "--device cpu --host-memory 16GiB"])
def test_any_device_has_a_speed_once_its_bandwidth_is_stated(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The ceiling is what was stated over the bytes that a step reads."""
    found = said(f"{device} --bandwidth 80GB/s", capsys)
    read = int(str(found["weights_read_bytes"])) + int(str(found["kv_read_bytes"]))
    rate = found["tokens_per_s_user"]
    assert isinstance(rate, dict)
    assert rate["ceiling"] == pytest.approx(80e9 / read)
    assert rate["low"] < rate["value"] < rate["high"] <= rate["ceiling"]
    assert any("80 GB/s, as you stated" in str(words) for words in found["warnings"])  # type: ignore[attr-defined]


def test_without_one_the_error_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "--model", "llama-3.1-8b", "--device", "cpu-16gb"]) == 2
    assert "give --bandwidth, such as 80GB/s" in capsys.readouterr().err


def test_a_data_sheets_rate_stated_again_changes_nothing_but_the_note(capsys: pytest.CaptureFixture[str]) -> None:
    own = find_device("rtx-4090").bandwidth_bytes_per_s
    plain, stated = (said(f"--device rtx-4090 {words}", capsys) for words in ("", f"--bandwidth {own}B/s"))
    assert {key for key in plain if plain[key] != stated[key]} == {"warnings"}


def test_memory_does_not_depend_on_it() -> None:
    choices = Choices(model="llama-3.1-8b", device="cpu-16gb", bandwidth="80GB/s")
    assert "bandwidth" not in choices.command()
    assert choose(choices).deployment.device == find_device("cpu-16gb")


def test_a_machine_without_a_card_is_as_fast_as_llama_cpp_unless_an_engine_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert said("--device cpu-16gb --bandwidth 80GB/s", capsys)["engine"] == "llama_cpp"
    assert said("--memory 16GiB --bandwidth 80GB/s", capsys)["engine"] == "vllm"
