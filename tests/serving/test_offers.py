"""The cheapest cards that do what is asked, from a price table of one's own."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.batching.targets import FIRST_TOKEN, Sustained, Target
from planner.batching.trace import Lengths, synthetic_trace
from planner.cli import main
from planner.errors import BadFile, PlannerError, UnknownName
from planner.inputs.choices import Choices
from planner.serving.offers import cheapest_of_each, find_offers
from planner.serving.price_files import parse_prices, prices_toml
from planner.serving.question import ServingQuestion
from planner.serving.rate_offers import find_rate_offers
from planner.serving.shape import ShapeWish
from planner.serving.ways import serving_options
from planner.text.prices import rate_offers_text

PRICES = {"rtx-4090": 0.4, "rtx-3090": 0.2, "h100-sxm": 2.5}
CHOICES = Choices(model="llama-3.1-8b", context=2_048, users=64)
LENGTHS = Lengths(median_tokens=400, sigma=0.7, max_tokens=2_000), Lengths(median_tokens=60, sigma=0.7, max_tokens=400)
QUESTION = ServingQuestion(
    trace=synthetic_trace(80, *LENGTHS, 1.0),
    target=Target(first_token_s=1.0, token_s=0.03),
    replica=ShapeWish(slots=16),
)
ARRIVALS = ["cost", "--model", "llama-3.1-8b", "--prompt", "500", "--output", "100"]
WORDS = [*ARRIVALS, "--users", "16"]


@settings(max_examples=6)
@given(st.integers(1, 200), st.floats(0, 100), st.floats(0.01, 5))
def test_a_harder_wish_is_never_cheaper(users: int, pace: float, first_s: float) -> None:
    def cheapest(min_tokens_per_s: float, max_first_token_s: float | None) -> float:
        found = find_offers(
            Choices(model="llama-3.1-8b", context=2_048, users=users),
            {"rtx-4090": 0.4},
            speed_engine="vllm",
            prompt_tokens=1_000,
            output_tokens=200,
            min_tokens_per_s=min_tokens_per_s,
            max_first_token_s=max_first_token_s,
        )
        return found[0].price_per_hour if found else float("inf")

    assert cheapest(0, None) <= cheapest(pace, None) <= cheapest(pace, first_s)


def test_every_offer_does_what_was_asked_and_the_cheapest_comes_first() -> None:
    found = find_offers(
        CHOICES, PRICES, speed_engine="vllm", prompt_tokens=1_000, output_tokens=200, min_tokens_per_s=40
    )
    assert [offer.price_per_hour for offer in found] == sorted(offer.price_per_hour for offer in found)
    for offer in found:
        assert offer.tokens_per_s_user >= 40
        assert offer.max_users is None or offer.max_users >= 64
        assert offer.device_count == offer.tensor_parallel * offer.replicas
        assert offer.price_per_hour == pytest.approx(offer.device_count * PRICES[offer.device])


def test_a_rate_takes_as_many_replicas_as_it_needs() -> None:
    """What one replica takes is what the search for a capacity finds; one more may be lost."""
    (found,) = find_rate_offers(CHOICES, {"h100-sxm": 2.5}, QUESTION, 50.0, "vllm", spare_replicas=1)
    one = next(
        option
        for option in serving_options(Choices(model="llama-3.1-8b", device="h100-sxm"), QUESTION, "vllm")
        if option.tensor_parallel == 1
    )
    assert found.tensor_parallel == 1
    assert found.rate_per_s == pytest.approx(found.replicas * one.rate_per_s)
    assert (found.replicas - 2) * one.rate_per_s < 50 <= (found.replicas - 1) * one.rate_per_s
    assert found.price_per_hour == pytest.approx(2.5 * found.device_count)
    assert (found.first_token_s, found.token_s) == (one.first_token_s, one.token_s)
    mean_output = sum(QUESTION.trace.output_tokens) / 80
    assert found.output_per_million == pytest.approx(1e6 * found.price_per_hour / (3_600 * 50 * mean_output))


@pytest.mark.parametrize("rate", [1.0, 20.0])
def test_of_all_splits_the_cheapest_is_kept(rate: float) -> None:
    """As if each split were simulated to its end: those that are left out early are never cheaper."""
    (found,) = find_rate_offers(CHOICES, {"rtx-3090": 0.2}, QUESTION, rate, "vllm")
    options = serving_options(
        Choices(model="llama-3.1-8b", device="rtx-3090"), replace(QUESTION, device_count=8), "vllm"
    )
    cards = [(option.replicas_for(rate), option.tensor_parallel) for option in options]
    assert found.device_count == min(count * size for count, size in cards if count and size in (1, 2, 4, 8))


@settings(max_examples=5)
@given(st.floats(0.1, 100), st.floats(1, 3), st.integers(0, 3))
def test_a_higher_rate_is_never_cheaper(rate: float, factor: float, spare: int) -> None:
    prices = {"h100-sxm": 2.5}
    less, more = (
        find_rate_offers(CHOICES, prices, QUESTION, asked, "vllm", spare)[0] for asked in (rate, factor * rate)
    )
    assert less.price_per_hour <= more.price_per_hour


def test_cards_that_miss_the_target_alone_are_left_out() -> None:
    slow = ServingQuestion(trace=QUESTION.trace, target=Target(token_s=0.01), replica=ShapeWish(slots=16))
    found = find_rate_offers(CHOICES, PRICES, slow, 1.0, "vllm")
    assert all(offer.token_s <= 0.01 for offer in found)
    assert (
        find_rate_offers(
            CHOICES, PRICES, ServingQuestion(trace=QUESTION.trace, target=Target(token_s=1e-6)), 1.0, "vllm"
        )
        == []
    )


def test_a_rate_at_which_requests_hardly_meet_is_told() -> None:
    chance = Sustained(rate_per_s=0.01, saturated_per_s=1.0, limit=FIRST_TOKEN, outcome=None)
    assert chance.is_hardly_any
    assert not replace(chance, rate_per_s=0.02).is_hardly_any
    text = rate_offers_text([], 1.0, "EUR", "Drawn: 80 requests.")
    assert text.startswith("No number of any card of the table does this")
    assert text.endswith("Note: Drawn: 80 requests.")


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_rate_is_refused(rate: float) -> None:
    with pytest.raises(PlannerError, match="is not possible"):
        find_rate_offers(CHOICES, PRICES, QUESTION, rate, "vllm")


@given(st.dictionaries(st.sampled_from(sorted(PRICES)), st.floats(0, 1e6), min_size=1))
def test_a_table_of_prices_is_read_back_as_it_was_written(prices: dict[str, float]) -> None:
    assert parse_prices(prices_toml(prices).encode(), "prices.toml", is_csv=False) == prices


def test_a_spreadsheet_is_a_table_of_prices() -> None:
    text = "\ufeffregion,device,price_per_hour\neu,4090,0.40\neu, h100-sxm ,2.5\n"
    assert parse_prices(text.encode(), "prices.csv", is_csv=True) == {"rtx-4090": 0.4, "h100-sxm": 2.5}


@pytest.mark.parametrize("header", ["device{0}price_per_hour", "DEVICE{0}Price per hour", "price_per_hour{0} Device"])
@pytest.mark.parametrize("price", ["0.40", "0,40"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_spreadsheets_own_way_of_writing_prices_is_read(separator: str, price: str, header: str) -> None:
    cells = ["rtx-4090", f'"{price}"'] if header.lower().startswith("device") else [f'"{price}"', "rtx-4090"]
    text = f"{header.format(separator)}\n{separator.join(cells)}\n"
    assert parse_prices(text.encode(), "prices.csv", is_csv=True) == {"rtx-4090": 0.4}


@pytest.mark.parametrize(
    ("content", "is_csv", "places"),
    [
        (b"device,price_per_hour\n4090,1\nl4,2\nrtx-4090,3\n", True, r"1 \(row 2\) and 3 \(row 4\)"),
        (b"device;price_per_hour\nrtx-4090;1\nrtx-4090;1\n", True, r"1 \(row 2\) and 1 \(row 3\)"),
        (b"rtx-4090 = 1\n4090 = 2\n", False, r"1 \(as rtx-4090\) and 2 \(as 4090\)"),
    ],
)
def test_a_card_with_two_prices_is_refused_with_both_places(content: bytes, is_csv: bool, places: str) -> None:
    with pytest.raises(BadFile, match=f"two prices of rtx-4090: {places}; keep one of them"):
        parse_prices(content, "prices", is_csv=is_csv)


@pytest.mark.parametrize(
    ("content", "is_csv", "sentence"),
    [
        (b"", True, "needs the columns device and price_per_hour"),
        (b"", False, "has no prices"),
        (b"device,price_per_hour\n", True, "has no prices"),
        (b"card,euros\n4090,1\n", True, "needs the columns device and price_per_hour"),
        (b"device,price_per_hour\n4090\n", True, "4090 = '' is not a price"),
        (b"device,price_per_hour\n4090,cheap\n", True, "4090 = 'cheap' is not a price"),
        (b"device;price_per_hour\n4090;1,234\n", True, "4090 = '1,234' is not a price"),
        (b"device,price_per_hour\n4090,1e308\n", True, "4090 = 1e.308 is not a price"),
        (b"device,device,price_per_hour\n4090,l4,1\n", True, "once each, between commas, semicolons or tabs"),
        (b"device,price_per_hour\n4090,nan\n", True, "4090 = nan is not a price"),
        (b"device,price_per_hour\n4090,-1\n", True, "4090 = -1.0 is not a price"),
        (b"\xff\xfe\x00\x01\x80", True, "is not text"),
        (b"\xff\xfe\x00\x01\x80", False, "is not text"),
        (b"\x00\x00", True, "needs the columns"),
        (b"rtx-4090 0.4", False, "cannot be read: .*; write a line a device, each once, such as rtx-4090 = 0.40"),
        (b"l4 = 0,44", False, "cannot be read: .*; write a line a device"),
        (b"l4 = 1\nl4 = 2", False, "cannot be read: .*; write a line a device, each once"),
        (
            b"l4 = " + 400 * b"9",
            False,
            "l4 = 9{59}… is not a price: write a number an hour, such as 2.5, from 0 to 1,0",
        ),
        (b"device,price_per_hour\nl4,$0.44\n", True, r"l4 = '\$0.44' is not a price"),
        (b"[rtx-4090]\nprice = 1", False, "is not a price"),
        (b"x" * (2**20 + 1), True, "larger than 1 MiB"),
    ],
)
def test_what_is_no_table_of_prices_is_refused(content: bytes, is_csv: bool, sentence: str) -> None:
    with pytest.raises(PlannerError, match=sentence):
        parse_prices(content, "prices", is_csv=is_csv)


def test_a_device_of_unknown_speed_is_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "prices.toml"
    table.write_text("cpu-64gb = 0.1\nrtx-4090 = 0.4\n")
    assert main(["cost", "--model", "llama-3.1-8b", "--prices", str(table)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("The cheapest that does it: GeForce RTX 4090, 0.40 an hour.")
    assert said.endswith("The bandwidth of cpu-64gb is not known, and so not what a token costs there: left out.\n")
    table.write_text("cpu-64gb = 0.1\n")
    assert main(["cost", "--model", "llama-3.1-8b", "--prices", str(table)]) == 2
    assert "name a device from 'kvbudget devices' that has one." in capsys.readouterr().err


def test_a_device_that_is_not_known_is_named() -> None:
    with pytest.raises(UnknownName, match=r"prices.toml, as rtx-9999: device 'rtx-9999' is not known; nearest"):
        parse_prices(b"rtx-9999 = 1", "prices.toml", is_csv=False)
    with pytest.raises(UnknownName, match=r"t.csv, row 3: device 'l4,rtx-3090' is not known; nearest: rtx-3090"):
        parse_prices(b'device,price_per_hour\nl4,1\n"l4,rtx-3090",1\n', "t.csv", is_csv=True)


def test_the_command_finds_and_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, table = tmp_path / "prices.csv", tmp_path / "offers.csv"
    file.write_text("device,price_per_hour\nrtx-4090,0.4\nh100-sxm,2.5\n", encoding="utf-8")
    assert main([*WORDS, "--prices", str(file), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert main([*WORDS, "--prices", str(file), "--format", "csv", "--save", str(table)]) == 0
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["device"] for row in rows] == [row["device"] for row in printed]
    assert float(rows[0]["price_per_hour"]) == printed[0]["price_per_hour"] == 0.4
    one = tmp_path / "one.toml"
    one.write_text("h100-sxm = 2.5\n", encoding="utf-8")
    words = [*ARRIVALS, "--prices", str(one), "--rate", "3", "--max-ttft", "2", "--slots", "16", "--sigma", "0.3"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["rate_per_s"] >= 3
    assert main([*WORDS, "--prices", str(file), "--format", "xlsx"]) == 2
    assert "add --save table.xlsx" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rate", "3"], "--rate needs a target"),
        (["--rate", "3", "--max-ttft", "1", "--min-tokens-per-s", "5"], "no effect with --rate, where --max-time"),
        (["--rate", "0", "--max-ttft", "1"], "A rate of 0 requests per second is not possible"),
        (["--rate", "-3", "--max-ttft", "1"], "A rate of -3 requests per second is not possible"),
        (["--rate", "nan", "--max-ttft", "1"], "is not a number"),
        (["--rate", "3", "--max-ttft", "1", "--spare", "-1"], "spare_replicas = -1 is not possible"),
        (["--rate", "3", "--max-ttft", "1", "--slots", "0"], "1 to 65,536 slots"),
        (["--rate", "3", "--max-ttft", "1", "--sigma", "-1"], "sigma between 0 and 5"),
        (["--max-time-per-token", "1"], "has no effect without --rate"),
        (["--min-tokens-per-s", "-1"], "-1 tokens per second are no wish"),
        (["--max-ttft", "-1"], "-1 seconds to the first token are no wish"),
        (["--users", "0"], "users = 0 is not possible"),
        (["--users", "1000000000000"], "users = 1,000,000,000,000 is not possible"),
        (["--prompt", "0"], "at least one prompt token"),
        (["--prompt", "1000000000000"], "context = 1,000,000,000,100 is not possible"),
        (["--output", "-5"], "one token of an answer"),
    ],
)
def test_bad_questions_get_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prices.toml"
    file.write_text("rtx-4090 = 0.4\n", encoding="utf-8")
    first = ARRIVALS if "--rate" in words else WORDS
    assert main([*first, "--prices", str(file), *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_files_that_cannot_be_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        assert main([*WORDS, "--prices", str(path)]) == 2
        assert "cannot be read" in capsys.readouterr().err
    assert issubclass(BadFile, PlannerError)


@pytest.mark.parametrize(
    ("engine", "splits"),
    [
        ("minimum", [1, 2, 5]),
        ("vllm", [1, 2]),
        ("sglang", [1, 2]),
        ("tensorrt_llm", [1, 2, 5]),
        ("llama_cpp", [1]),
    ],
)
def test_a_split_that_an_engine_cannot_make_is_left_out_of_a_search(engine: str, splits: list[int]) -> None:
    """Phi-4 has ten key-value heads, which four cards cannot divide, and 100,352 tokens, which five cannot: vLLM and
    SGLang refuse that. llama.cpp divides no layer."""
    choices = Choices(model="phi-4", device="h100-sxm", engine=engine, context=2_048)
    options = serving_options(choices, replace(QUESTION, device_count=8), "vllm")
    assert sorted({option.tensor_parallel for option in options}) == splits
    asked = {"speed_engine": "vllm", "prompt_tokens": 500, "output_tokens": 100}
    offers = find_offers(choices, {"h100-sxm": 2.5}, **asked)
    assert {offer.device_count for offer in offers} == set(range(1, 9))
    assert max(offer.tensor_parallel for offer in offers) == max(splits)


def test_three_cards_are_offered_where_two_are_too_slow() -> None:
    prices, asked = {"rtx-4090": 1.0, "h100-sxm": 2.5}, replace(CHOICES, users=96)
    lengths = {"speed_engine": "vllm", "prompt_tokens": 1_000, "output_tokens": 200}
    two = next(offer for offer in find_offers(asked, {"rtx-4090": 1.0}, **lengths) if offer.device_count == 2)
    found = find_offers(asked, prices, min_tokens_per_s=1.01 * two.tokens_per_s_user, **lengths)
    cheapest = [(offer.device, offer.device_count) for offer in cheapest_of_each(found)]
    assert cheapest == [("h100-sxm", 1), ("rtx-4090", 3)]
    assert {offer.device_count for offer in found if offer.device == "rtx-4090"} == set(range(3, 9))


def test_of_cards_that_cost_the_same_the_fewest_come_first() -> None:
    found = find_offers(CHOICES, {"h100-sxm": 0.0}, speed_engine="vllm", prompt_tokens=500, output_tokens=100)
    free = [offer.device_count for offer in found]
    assert len(free) > 1
    assert free == sorted(free)
    (rated,) = find_rate_offers(CHOICES, {"h100-sxm": 0.0}, QUESTION, 1.0, "vllm")
    assert rated.device_count == 1
