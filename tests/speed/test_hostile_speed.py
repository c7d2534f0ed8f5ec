"""Whatever is typed after an option about speed, requests or money: an answer, or one sentence and exit code 2."""

import re
from pathlib import Path

import pytest

from planner.cli import main

DEVICE = ["--model", "llama-3.1-8b", "--device", "rtx-4090"]
STEPS = ["simulate", "--requests", "20", "--step-ms", "20"]
COMMANDS: dict[str, tuple[list[str], str]] = {
    "speed": (
        ["speed", *DEVICE],
        "users prompt context tensor-parallel pipeline-parallel max-num-batched-tokens measured",
    ),
    "simulate": (
        STEPS,
        "requests prompt output sigma longest rate closed-loop slots block-tokens pool-blocks max-num-batched-tokens "
        "shared-prefix host-us host-blocks disk-us reserved-tokens step-ms sequence-ms context-token-us "
        "prompt-token-us bars",
    ),
    "simulate a model": (
        ["simulate", "--requests", "20", *DEVICE],
        "slots block-tokens tensor-parallel longest prompt",
    ),
    "simulate in chunks": ([*STEPS, "--schedule", "chunked"], "max-num-batched-tokens"),
    "speculate": (
        ["speculate", "--acceptance=0.7", "--draft-tokens=4", "--draft-cost=0.1"],
        "acceptance tokens-per-pass draft-tokens draft-cost",
    ),
    "speculate together": (
        ["speculate", "--acceptance=0.7", "--draft-tokens=4", "--draft-cost=0.1", "--batch=4", *DEVICE],
        "acceptance draft-tokens draft-cost batch context tensor-parallel",
    ),
    "speculate over drafts": (
        ["speculate", "--batch=4", *DEVICE, "--draft", "eagle=0.7"],
        "draft-tokens batch context tensor-parallel draft",
    ),
    "cost": (["cost", *DEVICE, "--price=1"], "price users prompt output watts tensor-parallel context"),
    "capacity": (
        ["capacity", *DEVICE, "--max-ttft=1", "--requests=60", "--slots=8"],
        "max-ttft max-time-per-token rate think device-count node-devices slots block-tokens max-num-batched-tokens "
        "link requests prompt output sigma longest",
    ),
    "plan with a draft": (["plan", *DEVICE, "--draft-model", "eagle", "--draft-tokens=4"], "draft-tokens draft-model"),
    "arithmetic": (["arithmetic"], "tokens head-dim"),
}
UNREADABLE = re.compile(r"\binf\b|\d{25,}|(,\d{3}){9,}|e\+\d{3}")
"""What no figure in an answer looks like."""
OPTIONS = [(words, f"--{name}") for words, names in COMMANDS.values() for name in names.split()]


def outcome(capsys: pytest.CaptureFixture[str], words: list[str]) -> tuple[int, str]:
    code = main(words)
    printed = capsys.readouterr()
    assert "nan" not in printed.out
    if code == 2:
        assert printed.err.count("\n") == 1
    return code, printed.err


def replaced(words: list[str], option: str, value: str) -> list[str]:
    kept = [word for word in words if not word.startswith(f"{option}=")]
    if option in kept:
        place = kept.index(option)
        kept[place : place + 2] = []
    return [*kept, f"{option}={value}"]


@pytest.mark.parametrize(("words", "option"), OPTIONS)
def test_what_is_no_number_is_refused(words: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value in ("nan", "-inf", "1e999", "", "many", "9" * 400):
        code, _ = outcome(capsys, replaced(words, option, value))
        assert code == 2, value


@pytest.mark.parametrize(("words", "option"), OPTIONS)
def test_a_negative_number_is_refused(words: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(capsys, replaced(words, option, "-1"))[0] == 2


@pytest.mark.parametrize(("words", "option"), OPTIONS)
def test_the_largest_number_leaves_no_figure_that_cannot_be_read(
    words: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in ("1e308", "1e30"):
        assert main(replaced(words, option, value)) in (0, 1, 2)
        assert UNREADABLE.search(capsys.readouterr().out) is None


@pytest.mark.parametrize(("words", "option"), OPTIONS)
def test_a_trillion_is_answered_or_refused(words: list[str], option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value in ("0", "1000000000000"):
        assert outcome(capsys, replaced(words, option, value))[0] in (0, 1, 2)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"a,b,c\n1,2,3\n", "has none of the column sets"),
        (b"arrival_s,prompt_tokens,output_tokens\n", "has no request"),
        (b"arrival_s,prompt_tokens,output_tokens\nnan,5,5\n", "row 2"),
        (b"arrival_s,prompt_tokens,output_tokens\n0,1000000000000,5\n", "row 2"),
        (b"arrival_s,prompt_tokens,output_tokens\n0,5\n", "row 2"),
        (b"arrival_s,prompt_tokens,output_tokens\n0,5,5\n1e300,5,5\n", "row 3"),
        (b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "cannot be read"),
        (b"\x00" * 100, "has none of the column sets"),
    ],
)
@pytest.mark.parametrize("words", [["simulate", "--step-ms", "20"], ["capacity", *DEVICE, "--max-ttft", "1"]])
def test_a_file_that_is_no_trace_is_refused(
    words: list[str], content: bytes, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.csv"
    file.write_bytes(content)
    code, error = outcome(capsys, [*words, "--trace", str(file)])
    assert code == 2
    assert sentence in error


@pytest.mark.parametrize("words", [["simulate", "--step-ms", "20"], ["capacity", *DEVICE, "--max-ttft", "1"]])
def test_a_folder_is_no_trace(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, error = outcome(capsys, [*words, "--trace", str(tmp_path)])
    assert code == 2
    assert "cannot be read" in error
