"""The Speed page as a person meets it."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from planner.inputs.choices import Choices, choose
from planner.paced import paced
from planner.speed.answer import knee_users
from tests.browser.conftest import OpenPage
from tests.browser.pages import LOOKS, met_labels, settle


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_the_curve_says_you_knee_and_memory(open_page: OpenPage, width: int, theme: str) -> None:
    page = open_page("/speed?device=h100-sxm&context=2048&users=16", width=width, theme=theme)
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("Fast enough for up to 250 users")
    found = paced(choose(Choices(model="llama-3.1-8b", device="h100-sxm", context=2_048)), "vllm")
    knee = knee_users(found.model, found.constants, 2_048)
    chart = page.get_by_test_id("stVegaLiteChart").first
    outer = chart.bounding_box()
    assert outer is not None
    for label in ("you: 16 users", f"knee: {knee} users", "memory full: 250 users"):
        text = chart.get_by_text(label, exact=True)
        expect(text).to_have_count(1)
        box = text.bounding_box()
        assert box is not None
        assert outer["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= outer["x"] + outer["width"] + 1


def test_a_target_is_typed_and_stays_in_the_address(open_page: OpenPage) -> None:
    page = open_page("/speed?device=h100-sxm&context=2048&users=64")
    field = page.get_by_role("spinbutton", name="Fast enough: tokens/s for each user")
    field.fill("100")
    field.press("Enter")
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("Too slow for 64 users at once")
    page.wait_for_url("**target=100**")


def test_a_measured_point_narrows_the_range_from_a_link(open_page: OpenPage) -> None:
    page = open_page("/speed?measured=48")
    expect(page.get_by_test_id("stMain")).to_contain_text("once one point of their machine was known")
    assert "measured=48" in page.url


def test_the_figures_are_a_table_and_files(open_page: OpenPage) -> None:
    page = open_page("/speed")
    page.get_by_text("The same as a table, and as files").first.click()
    expect(page.locator(".kv-plain").first).to_contain_text("Between tokens")
    with page.expect_download() as download:
        page.locator(".st-key-knee_json button").click()
    rows = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert [row["users"] for row in rows][:3] == [1, 2, 3]


@pytest.mark.parametrize(
    "target",
    ["/speed?device=h100-sxm&context=2048&users=16", "/speed?model=llama-3.1-70b", "/speed?users=1&context=512"],
)
def test_on_a_phone_nothing_scrolls_sideways_and_no_label_lies_on_another(open_page: OpenPage, target: str) -> None:
    page = open_page(target, width=390)
    settle(page)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
    assert met_labels(page) == []
