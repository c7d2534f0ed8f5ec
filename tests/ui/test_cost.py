"""The Cost page: prices from the reader alone, the cheapest cards, energy; and its taste on the page Speed."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from planner.cli import main
from planner.text.cost import asked_price, money
from planner.units import format_figure
from tests.ui.conftest import OpenApp, words
from tests.ui.test_cache import alt_texts
from tests.ui.test_charts import values
from ui.charts.cost import TokenPrice, users_price_chart

PAGE = "ui/pages/cost.py"
PRICES = "rtx-4090 = 0.4\nh100-sxm = 2.5\n"


def command(app: AppTest, option: str = "--price") -> list[str]:
    """The command that has *option*: for one card, or for the table."""
    return next(str(code.value) for code in app.code if f" {option} " in str(code.value)).split()


@pytest.mark.parametrize("users", ["1", "4"])
def test_the_page_says_what_the_command_line_says(
    open_app: OpenApp, capsys: pytest.CaptureFixture[str], users: str
) -> None:
    app = open_app(PAGE, price="0.4", currency="EUR", users=users)
    main([*command(app)[1:], "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["users"] == int(users)
    assert app.title[0].value == f"A million tokens of answers cost {money(printed['output_per_million'], 'EUR')}"
    assert printed["currency"] == "EUR"
    assert app.metric[1].value == money(printed["prompt_per_million"])
    assert app.metric[3].value == format_figure(printed["energy"]["joules_per_output_token"])


@pytest.mark.parametrize("users", ["1", "4"])
def test_the_cheapest_cards_are_those_of_the_command_with_the_table(
    open_app: OpenApp, capsys: pytest.CaptureFixture[str], users: str, tmp_path: Path
) -> None:
    table = "rtx-4090 = 0.4\nrtx-3090 = 0.2\n"
    app = open_app(PAGE, price="0.4", currency="EUR", users=users, prices=table, target="15", first="3")
    asked = command(app, "--prices")
    file = tmp_path / "prices.toml"
    file.write_text(table)
    asked[asked.index("prices.toml")] = str(file)
    assert main([*asked[1:], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    first = printed[0]
    title = next(str(header.value) for header in app.header if "The cheapest that does it" in str(header.value))
    assert title.endswith(f"{asked_price(first['price_per_hour'], 'EUR')} an hour")
    pace = f"({format_figure(first['tokens_per_s_user_low'])} – {format_figure(first['tokens_per_s_user_high'])})"
    assert pace in words(app)


def test_it_opens_on_an_answer_that_says_what_is_assumed(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    assert app.title[0].value.startswith("A million tokens of answers cost ")
    assert app.title[0].value.endswith(" USD")
    assert "Assumed: 0.34 USD an hour for one card" in words(app)
    assert "Price of a million answer tokens, USD, over users" in alt_texts(app)
    assert any("The cheapest that does it" in str(header.value) for header in app.header)
    assert "Assumed prices: " in words(app)
    own = words(open_app(PAGE, price="0.5"))
    assert "Assumed: " not in own
    assert "of your currency" in own


def test_without_an_example_it_opens_on_energy(open_app: OpenApp) -> None:
    app = open_app(PAGE, device="rtx-4080", weights="int8")
    assert app.title[0].value.startswith("A million tokens of answers take ")
    assert app.title[0].value.endswith(" kWh")
    assert [metric.value for metric in app.metric[:2]] == ["–", "–"]
    assert "Energy, joules per answer token, over users" in alt_texts(app)


def test_a_card_of_which_nothing_is_known_asks(open_app: OpenApp) -> None:
    assert open_app(PAGE, device="tpu-v5e").title[0].value == "What does an hour of one card cost you?"


def test_the_cheapest_cards_of_a_table_in_the_link(open_app: OpenApp, tmp_path, capsys) -> None:
    app = open_app(PAGE, prices=PRICES, users="8", context="4096", price="0.4", currency="EUR")
    table = tmp_path / "prices.toml"
    table.write_text(PRICES)
    asked = ["--users", "8", "--context", "4096", "--prompt", "3584", "--output", "512", "--overhead", "1.5GiB"]
    main(["cost", "--model", "llama-3.1-8b", "--prices", str(table), *asked, "--min-tokens-per-s", "20", "--json"])
    first = json.loads(capsys.readouterr().out)[0]
    title = next(str(header.value) for header in app.header if "cheapest" in str(header.value))
    assert title.endswith(f"{asked_price(first['price_per_hour'], 'EUR')} an hour")
    assert f"**{money(first['output_per_million'], 'EUR')}**" in words(app)


def test_an_offer_goes_into_the_set_up(open_app: OpenApp) -> None:
    app = open_app(PAGE, prices="h100-sxm = 2.5")
    app.button(key="use").click().run()
    assert app.selectbox(key="device").value == "NVIDIA H100 SXM"


def test_a_card_is_added_to_the_table(open_app: OpenApp) -> None:
    app = open_app(PAGE, prices="h100-sxm = 2.5")
    app.number_input(key="add_price").set_value(0.4)
    app.button(key="add").click().run()
    assert app.text_area(key="prices").value == "h100-sxm = 2.5\nrtx-4090 = 0.4\n"


def test_a_file_takes_the_place_of_the_table(open_app: OpenApp) -> None:
    app = open_app(PAGE)
    rows = b"device,price_per_hour\nrtx-4090,0.4\n"
    app.file_uploader(key="price_file").upload("prices.csv", rows, "text/csv").run()
    assert app.text_area(key="prices").value == "rtx-4090 = 0.4\n"
    app.file_uploader(key="price_file").upload("odd.csv", b"a,b\n", "text/csv").run()
    assert "odd.csv needs the columns device and price_per_hour, once each" in words(app)
    assert app.text_area(key="prices").value == "rtx-4090 = 0.4\n"


@pytest.mark.parametrize(
    ("prices", "sentence"),
    [
        ("foo = 1", "device 'foo' is not known"),
        ("rtx-4090 = cheap", "The price table cannot be read"),
        ("rtx-4090 = -1", "is not a price"),
        ("rtx-3060-12gb = 0.1", "Ask for less context"),
    ],
)
def test_an_odd_table_is_one_sentence(open_app: OpenApp, prices: str, sentence: str) -> None:
    app = open_app(PAGE, prices=prices, model="llama-3.3-70b" if "3060" in prices else "llama-3.1-8b")
    assert not app.exception
    assert sentence in words(app)
    assert app.text_area(key="prices").value == prices


def test_stated_watts_are_no_range_of_power(open_app: OpenApp) -> None:
    assert "at 300 W for all cards" in words(open_app(PAGE, watts="300"))
    assert "(90 – 450)" in words(open_app(PAGE))


def test_a_card_of_unknown_speed_is_one_sentence(open_app: OpenApp) -> None:
    assert "choose a card by its name" in words(open_app(PAGE, memory="8GiB"))


def test_a_taste_of_it_on_the_page_speed(open_app: OpenApp) -> None:
    speed = open_app("ui/pages/speed.py", price="0.4")
    cost = open_app(PAGE, price="0.4")
    assert str(cost.title[0].value) in [str(header.value) for header in speed.header]


def test_the_curve_ends_where_memory_does() -> None:
    points = [TokenPrice(users=users, value=8 / users, low=7 / users, high=9 / users) for users in (1, 2, 4, 8)]
    chart = users_price_chart(points, 2, 4, "price", "EUR")
    assert "memory full: 4" in str(chart.to_dict())
    assert "you, 2 users: 4.00 EUR" in str(chart.to_dict())
    assert [row["users"] for row in values(chart)[:4]] == [1, 2, 4, 8]


@pytest.mark.parametrize("page", [PAGE, "ui/pages/speculation.py"])
def test_what_does_not_fit_is_said_first(open_app: OpenApp, page: str) -> None:
    big = open_app(page, model="llama-3.3-70b", device="rtx-4090").title[0].value
    assert "It does not fit. If it did: " in big
    assert "It does not fit" not in open_app(page, model="llama-3.1-8b", device="h100-sxm").title[0].value


def test_a_busy_server_that_does_not_fit_is_one_only_if_it_did(open_app: OpenApp) -> None:
    big = open_app("ui/pages/speed.py", model="llama-3.3-70b", device="rtx-4090")
    assert any(header.value.startswith("It does not fit. If it did: ") for header in big.header)


def test_an_impossible_word_goes_back_to_one_that_can_be_read(open_app: OpenApp) -> None:
    assert "it is back at empty." in words(open_app(PAGE, currency="more than eight letters"))
    assert "it is back at *at random*." in words(open_app("ui/pages/batching.py", arrival="never", count="20"))
