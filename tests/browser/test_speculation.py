"""The Speculation page as a person meets it."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.pages import LOOKS, met_labels, settle

TEXTBOOK = "/speculation?drafter=a+stated+cost&acceptance=30&draft_tokens=8"


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_a_slow_down_is_the_title_and_a_cell(open_page: OpenPage, width: int, theme: str) -> None:
    page = open_page(TEXTBOOK, width=width, theme=theme)
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("Slower: 0.79 times the speed")
    chart = page.get_by_test_id("stVegaLiteChart").first
    expect(chart.get_by_text("0.79", exact=True).first).to_be_visible()
    expect(chart.get_by_text("3.40", exact=True)).to_have_count(1)
    for label in ("10%", "90%"):
        expect(chart.get_by_text(label, exact=True)).to_have_count(1)


def test_another_kind_of_draft_stays_in_the_address(open_page: OpenPage) -> None:
    page = open_page("/speculation")
    page.get_by_text("a smaller model", exact=True).click()
    expect(page.get_by_test_id("stMain")).to_contain_text("Which smaller model")
    expect(page.get_by_test_id("stMain")).to_contain_text("--draft-model llama-3.2-1b")
    page.wait_for_url("**drafter=a+smaller+model**")


def test_a_slider_moves_from_the_keyboard(open_page: OpenPage) -> None:
    page = open_page(TEXTBOOK)
    slider = page.get_by_role("slider", name="Drafted each time, tokens")
    slider.focus()
    slider.press("ArrowLeft")
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("Slower: 0.84 times the speed")


@pytest.mark.parametrize("target", ["/speculation", TEXTBOOK, "/speculation?users=7"])
def test_on_a_phone_nothing_scrolls_sideways_and_no_label_lies_on_another(open_page: OpenPage, target: str) -> None:
    page = open_page(target, width=390)
    settle(page)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
    assert met_labels(page) == []
