"""The Cost page as a person meets it."""

import pytest
from playwright.sync_api import expect

from planner.cost import cost
from planner.inputs.choices import Choices, choose
from planner.paced import paced
from planner.text.cost import money
from tests.browser.conftest import OpenPage
from tests.browser.pages import LOOKS, met_labels, settle


def million(price: float) -> str:
    """What a million answer tokens of the first set-up cost: 4 users, 7,680 + 512 tokens on an RTX 4090."""
    found = paced(choose(Choices(model="llama-3.1-8b", device="rtx-4090", overhead="1.5GiB", users=4)), "vllm")
    hour = {"price_per_hour": price, "users": 4, "prompt_tokens": 7_680, "output_tokens": 512}
    return money(cost(found.model, found.constants, **hour).output_per_million)


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_a_price_is_typed_and_every_token_has_one(open_page: OpenPage, width: int, theme: str) -> None:
    page = open_page("/cost", width=width, theme=theme)
    heading = page.get_by_test_id("stMain").locator("h1")
    expect(heading).to_contain_text(f"A million tokens of answers cost {million(0.34)} USD")
    field = page.get_by_role("spinbutton", name="One card, price an hour")
    field.fill("0.4")
    field.press("Enter")
    expect(heading).to_contain_text(f"A million tokens of answers cost {million(0.4)}")
    expect(page.get_by_test_id("stVegaLiteChart").first.get_by_text(f"you, 4 users: {million(0.4)}")).to_have_count(1)


def test_a_card_is_added_and_stays_in_the_address(open_page: OpenPage) -> None:
    page = open_page("/cost")
    field = page.get_by_role("spinbutton", name="at, an hour")
    field.fill("0.4")
    field.press("Enter")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_test_id("stMain")).to_contain_text(
        "The cheapest that does it: GeForce RTX 4090, 0.40 of your currency an hour"
    )
    page.wait_for_url("**prices=rtx-4090**")


def test_it_is_reached_from_speed_with_the_same_price(open_page: OpenPage) -> None:
    page = open_page("/speed?price=0.4")
    page.get_by_role("link", name="The cheapest card, and the energy of a token").click()
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text(
        f"A million tokens of answers cost {million(0.4)}"
    )


@pytest.mark.parametrize("target", ["/cost?price=0.4", "/cost?prices=h100-sxm+%3D+2.5", "/cost?users=7"])
def test_on_a_phone_nothing_scrolls_sideways_and_no_label_lies_on_another(open_page: OpenPage, target: str) -> None:
    page = open_page(target, width=390)
    settle(page)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
    assert met_labels(page) == []
