"""The Batching page: schedules side by side, traces of all kinds, the textbook's requests, deterministic by seed."""

import json
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from planner.batching.gains import ASSUMPTIONS, gain
from planner.batching.outcome import Bar, Queue
from planner.batching.targets import Target
from planner.batching.trace import Lengths, synthetic_trace
from planner.catalogue.performance_presets import find_request_set
from planner.cli import main
from planner.inputs.choices import Choices
from planner.serving.question import ServingQuestion
from planner.serving.shape import ShapeWish
from planner.serving.ways import serving_options
from planner.text.batching import cluster_sentence, cluster_title, option_name, requests_words
from planner.units import format_seconds
from tests.ui.conftest import OpenApp, words
from tests.ui.test_cache import alt_texts
from tests.ui.test_charts import values
from ui.charts.serving import serving_bars
from ui.charts.slots import QUEUE_BANDS, QUEUE_GAP, gains_chart, slots_chart

PAGE = "ui/pages/batching.py"
AZURE = (
    b"TIMESTAMP,ContextTokens,GeneratedTokens\n"
    b"2023-11-16 18:15:46.6805900,374,44\n"
    b"2023-11-16 18:15:50.9951690,396,109\n"
    b"2023-11-16 18:15:51.2225670,879,55\n"
    b"2023-11-16 18:15:53.4000000,91,0\n"
)


def command(app: AppTest) -> list[str]:
    return next(str(code.value) for code in app.code if "kvbudget simulate" in str(code.value)).split()


def test_the_page_says_what_the_command_line_says(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app(PAGE, users="8")
    main([*command(app)[1:], "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["requests"] == 400
    assert app.metric[2].value == format_seconds(printed["latency"]["p95_s"])
    assert app.metric[2].delta == " – ".join(
        format_seconds(printed[end]["latency"]["p95_s"]) for end in ("fast", "slow")
    )
    assert "times sooner" in app.title[0].value
    said = words(app)
    assert "Requests inside, mean" in said
    assert "The usual formula for queues (M/G/c) does not hold here: so few of these requests have to wait" in said


def test_the_textbooks_requests(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app(PAGE, requests="textbook", seed="3")
    assert "64 requests, 1,874 tokens of answers, 8 at a time, each in a slot." in words(app)
    main([*command(app)[1:], "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert f"{printed['latency']['mean_s']:,.0f} steps** when a free slot is refilled" in words(app)


def test_the_same_seed_draws_the_same(open_app: OpenApp) -> None:
    first, again, other = (open_app(PAGE, seed=seed) for seed in ("1", "1", "2"))
    assert [m.value for m in first.metric] == [m.value for m in again.metric]
    assert [m.value for m in first.metric] != [m.value for m in other.metric]


def test_ranges_over_300_orders_are_there(open_app: OpenApp) -> None:
    said = alt_texts(open_app(PAGE))
    assert "all present at the start: 2.3 (1.6 – 3.1) times the throughput, latency 3.6 (2.6 – 4.5)" in said
    assert "waits until it is full: 1.6 (1.1 – 2.4) times the throughput, latency 8.4 (4.3 – 12.5)" in said


def test_the_page_opens_on_the_requests_of_speed(open_app: OpenApp) -> None:
    """Prompt and answer as Speed and Cost take them from the set-up, an answer that was asked there among them."""
    for query, lengths in (
        ({}, "--prompt 7680 --output 512"),
        ({"context": "2048", "answer": "1000"}, "--prompt 1048 --output 1000"),
        ({"context": "256"}, "--prompt 128 --output 128"),
    ):
        asked = " ".join(command(open_app(PAGE, **query)))
        assert lengths in asked
        assert f"--longest {query.get('context', '8192')}" in asked


def test_a_trace_of_ones_own(open_app: OpenApp) -> None:
    app = open_app(PAGE, requests="your CSV")
    assert app.title[0].value == "Which requests came, and when?"
    app.file_uploader(key="trace").upload("trace.csv", AZURE, "text/csv").run()
    said = words(app)
    assert "3 requests, 208 tokens of answers, 4 at a time, each in a slot." in said
    assert "1 row of the trace has no prompt or no answer" in said
    assert "--trace trace.csv" in said


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1,2\n", "has none of the column sets that a trace may have"),
        (b"arrival_s,prompt_tokens,output_tokens\n1,x,3\n", "row 2"),
        (b"\xff\xfe\x00", "is no CSV in UTF-8"),
        (b"", "is empty"),
    ],
)
def test_an_odd_file_is_one_sentence(open_app: OpenApp, content: bytes, sentence: str) -> None:
    app = open_app(PAGE, requests="your CSV")
    app.file_uploader(key="trace").upload("odd.csv", content, "text/csv").run()
    assert not app.exception
    assert sentence in words(app)


def test_a_request_that_never_fits_is_named(open_app: OpenApp) -> None:
    app = open_app(PAGE, requests="your CSV")
    rows = b"arrival_s,prompt_tokens,output_tokens\n0,900000,10\n"
    app.file_uploader(key="trace").upload("long.csv", rows, "text/csv").run()
    assert "The longest request of 900,010 tokens needs" in words(app)


def test_evictions_where_the_pool_is_short(open_app: OpenApp) -> None:
    app = open_app(PAGE, slots="40", sigma="0.3", arrival="all at once", prompt="2048", answer="2048")
    assert "100% of the" in words(app)
    assert "had to give way, to be computed again." in words(app)
    crowd = {"slots": "40", "sigma": "0.3", "arrival": "all at once", "prompt": "2048", "answer": "2048"}
    copied = open_app(PAGE, **crowd, host_speed="25", host_size="4")
    assert "to host memory, the others computed again." in words(copied)
    # 131,072 B a token over 25 GB/s; 4 GiB hold 2,048 blocks of 16 tokens
    assert "--host-us 5.24288 --host-blocks 2048" in " ".join(command(copied))


def test_a_closed_loop_and_a_common_beginning(open_app: OpenApp) -> None:
    app = open_app(PAGE, arrival="each asks again", prefix="300")
    assert "The shared beginning saved" in words(app)
    assert "--closed-loop 4" in " ".join(command(app))
    assert "have no rate" in words(app)


def test_a_target_ends_the_rate(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    title = next(header.value for header in app.header if "patience" in str(header.value))
    strict = open_app(PAGE, ttft="0.001")
    assert title.startswith("Up to ")
    assert any("Too slow for this patience" in str(header.value) for header in strict.header)


def test_several_cards_as_replicas(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    app = open_app(PAGE, cards="4", node="2")
    title = next(str(header.value) for header in app.header if "4 cards: up to" in str(header.value))
    assert title.endswith("as 4 replicas of 1 card")
    assert "With one node lost **" in words(app)
    searched = next(str(code.value) for code in app.code if "kvbudget capacity" in str(code.value)).split()
    assert main([*searched[1:], "--json"]) == 0
    best, *_ = json.loads(capsys.readouterr().out)
    assert f"up to {requests_words(best['rate_per_s'])}," in title
    assert "Say how many there are" in words(open_app(PAGE))
    assert "of 2 cards in all so many cannot fail together" in words(open_app(PAGE, cards="2", node="3"))
    assert " for answers, of 1 card" in words(open_app(PAGE, cards="4", apart="50"))


def test_ways_to_use_cards_are_drawn_with_what_is_left() -> None:
    lengths = Lengths(median_tokens=100, sigma=0.5, max_tokens=400)
    question = ServingQuestion(
        trace=synthetic_trace(200, lengths, lengths, 1.0),
        target=Target(first_token_s=1.0),
        device_count=2,
        replica=ShapeWish(slots=8),
    )
    options = serving_options(Choices(model="llama-3.1-8b", device="h100-sxm"), question, "vllm")
    rows = [row for row in values(serving_bars(options)) if "left" in row]
    assert [row["name"] for row in rows] == [option_name(option) for option in options]
    assert all(row["left"] <= row["to"] <= row["high"] for row in rows)
    gone = [replace(option, fits=False, rate_per_s=0.0) for option in options]
    assert cluster_title(gone, 2) == "No split of 2 cards holds the model and the longest request"
    alone = [replace(options[0], rate_lost_per_s=0.0)]
    assert "With one node lost nothing is left." in cluster_sentence(alone)
    slow = [replace(option, rate_per_s=0.0) for option in options]
    assert "too slow for this patience" in cluster_title(slow, 2)
    assert cluster_sentence(slow).startswith("More cards of the kind do not help")


def test_a_card_without_room_or_speed_is_one_sentence(open_app: OpenApp) -> None:
    assert "leaves no room for caches" in words(open_app(PAGE, model="llama-3.1-70b"))
    assert "choose a card by its name" in words(open_app(PAGE, memory="24GiB"))
    assert "64 requests" in words(open_app(PAGE, memory="24GiB", requests="textbook"))


def test_bars_lie_in_their_slots() -> None:
    bars = (
        Bar(request=0, slot=0, phase="prefill", start_s=0, end_s=1),
        Bar(request=0, slot=0, phase="decode", start_s=1, end_s=4),
        Bar(request=1, slot=1, phase="waiting", start_s=1, end_s=4),
    )
    queue = (Queue(from_s=1, waiting=2), Queue(from_s=2, waiting=1), Queue(from_s=3, waiting=0))
    chart = slots_chart(bars, queue, 2, 4, 4, 5, "steps")
    rows = [row for row in values(chart) if "fill" in row]
    assert [(row["from"], row["to"], int(row["top"])) for row in rows] == [(0, 1, 0), (1, 4, 0)]
    waiting = [row for row in values(chart) if "count" in row]
    floor = 2 + QUEUE_GAP + QUEUE_BANDS
    heights = [(row["from"], row["to"], (floor - row["top"]) / QUEUE_BANDS) for row in waiting]
    assert heights == [(1, 2, 0.5), (2, 3, 0.25)]
    drawn = str(chart.to_dict())
    assert "done at 4" in drawn
    assert "waiting for a slot: 2 at most" in drawn
    assert "nobody waits" in str(slots_chart(bars, (), 2, 4, 4, 5, "steps").to_dict())


def test_gains_are_drawn_from_least_to_most() -> None:
    found = [gain(find_request_set("skewed-64"), each, 10) for each in ASSUMPTIONS]
    rows = [row for row in values(gains_chart(found)) if "what" in row]
    assert [row["what"] for row in rows] == ["throughput", "latency"] * 3
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)


def test_the_engines_own_settings_shape_the_pages_server(open_app: OpenApp, capsys: pytest.CaptureFixture[str]) -> None:
    """Slots, blocks and steps as they are set; another number in a field is one sentence; the command agrees."""
    app = open_app(PAGE, engine="vllm", set="max_num_seqs=16\nblock_size=32\nmax_num_batched_tokens=512")
    said = " ".join(command(app))
    assert "--slots 16 --block-tokens 32" in said
    assert "--schedule" not in said  # the command follows the engine as the page does
    assert "refilled at once, prompts in chunks." in words(app)
    assert main([*command(app)[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 400
    other = open_app(PAGE, engine="vllm", set="max_num_seqs=16", slots="8")
    assert "slots = 8 and max_num_seqs = 16 say two things of one server" in words(other)
    few = open_app(PAGE, engine="llama_cpp", users="8")
    assert "llama.cpp runs 4 at once unless told: “Every setting, name=value a line” n_parallel=8" in words(few)


def test_few_requests_are_said_to_be_few(open_app: OpenApp) -> None:
    assert "the 95th percentile rests on" not in words(open_app(PAGE))
    assert "Of 60 requests the 95th percentile rests on the 4 slowest alone" in words(open_app(PAGE, count="60"))


def test_the_papers_shares_stand_beside_the_pages_own(open_app: OpenApp) -> None:
    said = words(open_app(PAGE))
    assert "servers that reserve used 20.4% – 38.2% of their places, one that pages 96.3% (Kwon et al." in said


def test_steps_too_short_for_the_slots_are_said_to_be(open_app: OpenApp) -> None:
    short = "A step of 3 tokens has no room for one of each of the 4 slots"
    assert short in words(open_app(PAGE, chunk="3", count="20"))
    assert short not in words(open_app(PAGE, chunk="4", count="20"))


def test_too_many_requests_are_the_headline(open_app: OpenApp) -> None:
    app = open_app(PAGE, per_minute="600", count="40")
    assert app.title[0].value.startswith("Too many requests: 600 come a minute, and these slots take ")
    assert "They come at 600 requests a minute. " in words(app)
    assert "**Neither keeps up**" in words(app)
    assert "Too many" not in open_app(PAGE, per_minute="600", count="4").title[0].value
