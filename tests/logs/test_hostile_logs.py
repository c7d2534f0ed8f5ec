"""Any text is read, to the end or to the bound, without harm."""

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.logs import lines
from planner.logs.collector import MAX_READINGS, MAX_STARTS
from planner.logs.patterns import parse_number
from planner.logs.read import FORMATS, read_log

WORDS = sorted({found.word for each in FORMATS for found in each.patterns})
PIECES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(["GiB", "MiB", "tokens", "size =", "(", ")", "=", ",", ".", "\x1b[", "\r", "\n", " ", "'"]),
    st.text(max_size=8),
    st.integers(min_value=-(10**20), max_value=10**20).map(str),
)
LINES = (
    "(Worker_TP0 pid=1) INFO Model loading took 15.27 GiB and 3 seconds",
    "Available KV cache memory: 4.99 GiB",
    "GPU KV cache size: 32,768 tokens, Maximum concurrency for 4,096 tokens per request: 8.00x",
    "llama_kv_cache:      CUDA0 KV buffer size =  2176.00 MiB",
)


@given(st.lists(PIECES, max_size=60).map(" ".join))
def test_any_text_is_read(text: str) -> None:
    """Every reading is of a line that is there."""
    found = read_log(text)
    for start in found.starts:
        assert start.readings or start.failure
        assert all(1 <= reading.line <= found.lines for reading in start.readings)


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=4), st.data())
def test_a_line_that_is_broken_anywhere_gives_the_same_figures(chosen: list[str], data: st.DataObject) -> None:
    """A terminal breaks the last line once; nothing is lost or counted twice."""
    *before, last = chosen
    cut = data.draw(st.integers(min_value=1, max_value=len(last) - 1))
    if last[cut - 1].isdigit() and last[cut].isdigit():
        return  # half a number is a number too
    whole, broken = read_log("\n".join(chosen)), read_log("\n".join([*before, last[:cut], last[cut:]]))
    assert figures(broken) == figures(whole)


def figures(found: object) -> list[tuple[str, object]]:
    return sorted((r.name, r.value) for start in found.starts for r in start.readings)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "line",
    [
        "1" * 10**5,
        "a" * 10**5,
        "non-default args: " + "'a" * 10**5,
        "non-default args: " + "a" * 10**5,
        "KV Cache is allocated. #tokens: 5," + " " * 10**5,
        "compute KV RS output buffer size " + "x" * 10**5,
        "Load weight end." * 10**4,
        "msg=offload layers.offload=1 " * 10**4,
        "\x1b[" * 10**5,
        "Available KV cache memory: " + "9" * 10**5 + " GiB",
    ],
)
def test_long_lines_of_one_kind_are_read_in_pieces(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one expression sees never exceeds the bound."""
    seen: list[int] = []
    original = lines.numbered_lines

    def counted(stream: io.StringIO) -> Iterator[tuple[int, str]]:
        for number, text in original(stream):
            seen.append(len(text))
            yield number, text

    monkeypatch.setattr("planner.logs.collector.numbered_lines", counted)
    read_log(line)
    assert max(seen) <= lines.MAX_LINE_CHARACTERS


def test_readings_and_starts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    (start,) = read_log("Available KV cache memory: 4.99 GiB\n" * (MAX_READINGS + 5)).starts
    assert len(start.readings) == MAX_READINGS
    restarts = "vLLM API server version 0.11.0\nAvailable KV cache memory: 4.99 GiB\n" * (MAX_STARTS + 5)
    assert len(read_log(restarts).starts) == MAX_STARTS


def test_a_log_that_is_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_CHARACTERS", 100)
    found = read_log("Available KV cache memory: 4.99 GiB\n" * 100)
    assert found.cut
    assert found.lines < 100


def test_only_so_many_lines_are_taken_for_the_rest_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a terminal broke was pasted, and is short; a server's log of months is not put together."""
    broken = "Available KV cache mem\nory: 4.99 GiB"
    assert read_log(f"{broken}\n").starts
    monkeypatch.setattr("planner.logs.collector._MAX_BROKEN", 10)
    assert read_log("a line\n" * 9 + broken).starts
    assert not read_log("a line\n" * 20 + broken).starts


@given(st.text(max_size=30), st.booleans())
def test_numbers_are_numbers_or_nothing(text: str, whole: bool) -> None:
    assert parse_number(text, whole) is None or isinstance(parse_number(text, whole), int if whole else float)
