"""Traces: the public column layouts, what is refused, and draws that repeat themselves."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.batching.server import Schedule, Server
from planner.batching.trace import Lengths, Trace, repeated, synthetic_trace
from planner.batching.trace_file import read_trace
from planner.cli import main
from planner.errors import BadFile, PlannerError

AZURE = [
    "TIMESTAMP,ContextTokens,GeneratedTokens",
    "2023-11-16 18:17:03.9799600,4808,10",
    "2023-11-16 18:17:04.2299600,110,27",
]
BURSTGPT = [
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type",
    "5,ChatGPT,472,18,490,Conversation log",
    "118,GPT-4,417,0,417,API log",
    "45,ChatGPT,1087,230,1317,Conversation log",
]


def test_azures_columns_and_dates() -> None:
    trace = read_trace(AZURE, "trace.csv")
    assert trace.arrivals_s == pytest.approx((0, 0.25))
    assert (trace.prompt_tokens, trace.output_tokens) == ((4808, 110), (10, 27))


def test_burstgpts_columns_without_failed_requests() -> None:
    trace = read_trace(BURSTGPT, "trace.csv")
    assert (trace.arrivals_s, trace.prompt_tokens, trace.output_tokens) == ((0, 40), (472, 1087), (18, 230))
    assert trace.skipped == 1


def test_own_columns_in_any_order_and_only_so_many_rows() -> None:
    lines = ["output_tokens,arrival_s,prompt_tokens", "3,0.5,7", "", "4,1.5,8", "5,2.5,9"]
    trace = read_trace(lines, "trace.csv", limit=2)
    assert (trace.arrivals_s, trace.prompt_tokens, trace.output_tokens) == ((0, 1), (7, 8), (3, 4))


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title, lambda text: text.replace(" ", "_")])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("lines", [AZURE, BURSTGPT])
def test_a_spreadsheets_own_way_of_writing_a_trace_is_the_same_trace(
    lines: list[str], separator: str, change: Callable[[str], str]
) -> None:
    header, *rows = lines
    written = [change(header).replace(",", separator), *(row.replace(",", separator) for row in rows)]
    assert read_trace(written, "trace.csv") == read_trace(lines, "trace.csv")


def test_arrivals_with_a_decimal_comma_are_read_and_thousands_are_not_guessed() -> None:
    header = "arrival_s;prompt_tokens;output_tokens"
    assert read_trace([header, "0,5;7;3", "1,25;8;4"], "trace.csv").arrivals_s == (0, 0.75)
    with pytest.raises(BadFile, match="row 2: '1,250,8,4' is not a request"):
        read_trace([header, "1,250;8;4"], "trace.csv")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "trace.csv is empty: a trace begins with the names of its columns"),
        (["a,b,c", "1,2,3"], "trace.csv has none of the column sets"),
        (["arrival,Arrival,prompt,output", "1,2,3,4"], "once each, between commas, semicolons or tabs"),
        (["arrival_s,prompt_tokens,output_tokens"], "trace.csv has no request"),
        (["arrival_s,prompt_tokens,output_tokens", "0,1"], "row 2: '0,1' is not a request: it ends before column 3"),
        (
            ["arrival_s,prompt_tokens,output_tokens", "soon,1,1"],
            "row 2: 'soon,1,1' is not a request: its arrival 'soon' is neither seconds nor a date and time",
        ),
        (["arrival_s,prompt_tokens,output_tokens", "nan,1,1"], "its arrival 'nan' is neither seconds nor a date"),
        (["arrival_s,prompt_tokens,output_tokens", "0,1.5,1"], "its prompt '1.5' is no whole number of tokens"),
        (["arrival_s,prompt_tokens,output_tokens", "0,1,-3"], "its answer has -3 tokens, and 0 to 134,217,728 are"),
        (
            ["arrival_s,prompt_tokens,output_tokens", "0,1,1", "0,1,999999999"],
            "row 3: '0,1,999999999' is not a request",
        ),
        (
            ["arrival_s,prompt_tokens,output_tokens", "1e300,1,1"],
            "its arrival '1e300' is more than 1,000,000,000,000 s",
        ),
    ],
)
def test_what_is_no_trace_is_refused(lines: list[str], sentence: str) -> None:
    with pytest.raises(BadFile) as caught:
        read_trace(lines, "trace.csv")
    assert sentence in str(caught.value)


def test_a_seed_gives_the_same_requests_again() -> None:
    draw = lambda seed: synthetic_trace(50, Lengths(median_tokens=100, sigma=1), Lengths(median_tokens=20), 2.0, seed)  # noqa: E731
    assert draw(1) == draw(1)
    assert draw(1).arrivals_s != draw(2).arrivals_s
    assert set(draw(1).output_tokens) == {20}


def test_no_request_is_longer_than_the_longest() -> None:
    lengths = Lengths(median_tokens=100, sigma=2), Lengths(median_tokens=20, sigma=2)
    free, cut = synthetic_trace(200, *lengths), synthetic_trace(200, *lengths, longest_request=150)
    for before, prompt, answer in zip(free.prompt_tokens, cut.prompt_tokens, cut.output_tokens, strict=True):
        assert prompt == min(before, 150 - 20)
        assert 1 <= answer <= 150 - prompt
    with pytest.raises(PlannerError, match="an answer of 20 leaves no room for a prompt of 100"):
        synthetic_trace(200, *lengths, longest_request=119)


def test_a_short_trace_is_repeated_in_its_rhythm() -> None:
    trace = Trace(arrivals_s=(0.0, 1.0, 4.0), prompt_tokens=(1, 2, 3), output_tokens=(4, 5, 6))
    again = repeated(trace, 4)
    assert again.arrivals_s == (0.0, 1.0, 4.0, 6.0, 7.0, 10.0)  # the mean gap of 2 s between the rounds
    assert (again.prompt_tokens, again.output_tokens) == ((1, 2, 3, 1, 2, 3), (4, 5, 6, 4, 5, 6))
    assert repeated(trace, 3) is trace
    alone = Trace(arrivals_s=(5.0,), prompt_tokens=(1,), output_tokens=(1,))
    assert repeated(alone, 2).arrivals_s == (5.0, 6.0)


@pytest.mark.parametrize(
    ("server", "sentence"),
    [
        ({"schedule": Schedule.CHUNKED}, "'chunked' needs it"),
        ({"schedule": Schedule.CHUNKED, "max_num_batched_tokens": 3}, "less than the 4 slots"),
        ({"schedule": Schedule.CONTINUOUS, "max_num_batched_tokens": 64}, "goes with the schedule 'chunked'"),
        ({"schedule": Schedule.CONTINUOUS, "wait_to_fill": True}, "Only a static batch"),
    ],
)
def test_servers_that_make_no_sense_are_refused(server: dict[str, object], sentence: str) -> None:
    with pytest.raises(PlannerError) as caught:
        Server(slots=4, **server)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_a_request_larger_than_the_pool_is_refused() -> None:
    trace = Trace(arrivals_s=(0.0,), prompt_tokens=(100,), output_tokens=(29,))
    with pytest.raises(PlannerError, match="129 tokens needs 9 blocks; the pool has 8"):
        Server(schedule=Schedule.CONTINUOUS, slots=1, pool_blocks=8).check(trace)


def test_the_command_reads_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "azure.csv"
    file.write_text("\n".join(AZURE), encoding="utf-8")
    assert main(["simulate", "--trace", str(file), "--step-ms", "10", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    # 10 steps of 10 ms; then 0.25 s after the first, 27 steps
    assert (printed["requests"], printed["output_tokens"]) == (2, 37)
    assert printed["makespan_s"] == pytest.approx(0.25 + 0.27)
    assert printed["latency"]["max_s"] == pytest.approx(0.27)
    assert main(["simulate", "--trace", str(file)]) == 2
    assert capsys.readouterr().err.startswith("Give the time of a step as --step-ms, or --model and --device")
    assert main(["simulate", "--step-ms", "10"]) == 2
    assert capsys.readouterr().err.startswith("Give the requests as --trace FILE")


def test_the_command_takes_step_times_and_blocks_from_a_model_on_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "--requests", "50", "--sigma", "0", "--model", "llama-3.1-8b", "--device", "rtx-4090"]
    assert main([*words, "--slots", "16", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert main(["plan", "--model", "llama-3.1-8b", "--device", "rtx-4090", "--context", "576", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert printed["pool"]["pool_blocks"] == plan["pool_tokens"] // 16
    # no step is faster than reading the weights: 15 GB at 1,008 GB/s
    assert printed["time_per_output_token"]["p50_s"] > 0.0149
    assert main([*words[:-1], "rtx-4060"]) == 2
    assert "leaves no room for caches" in capsys.readouterr().err
