"""The Batching page as a person meets it."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.pages import LOOKS, met_labels, settle, upload
from tests.ui.test_batching import AZURE


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_two_timelines_on_one_scale(open_page: OpenPage, width: int, theme: str) -> None:
    page = open_page("/batching?requests=textbook", width=width, theme=theme)
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("times the work")
    charts = page.get_by_test_id("stVegaLiteChart")
    for chart in (charts.nth(0), charts.nth(1)):
        expect(chart.get_by_text("steps: one makes a token")).to_have_count(1)
        done = chart.get_by_text("done at")
        expect(done).to_have_count(1)
        box, outer = done.bounding_box(), chart.bounding_box()
        assert box is not None
        assert outer is not None
        assert outer["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= outer["x"] + outer["width"] + 1


def test_a_trace_is_uploaded_and_run(open_page: OpenPage) -> None:
    page = open_page("/batching?requests=your+CSV")
    upload(page, page.get_by_test_id("stMain"), {"name": "azure.csv", "mimeType": "text/csv", "buffer": AZURE})
    expect(page.get_by_test_id("stMain")).to_contain_text("3 requests, 208 tokens of answers")


def test_a_long_run_shows_how_far_it_is(open_page: OpenPage) -> None:
    page = open_page("/batching")
    field = page.get_by_role("spinbutton", name="How many")
    field.fill("40000")
    field.press("Enter")
    expect(page.get_by_test_id("stProgress").first).to_contain_text("of 40,000 requests")
    expect(page.get_by_test_id("stMain")).to_contain_text("40,000 requests,")
    page.wait_for_url("**count=40000**")


@pytest.mark.parametrize("target", ["/batching", "/batching?requests=your+CSV", "/batching?model=llama-3.1-70b"])
def test_on_a_phone_nothing_scrolls_sideways_and_no_label_lies_on_another(open_page: OpenPage, target: str) -> None:
    page = open_page(target, width=390)
    settle(page)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
    assert met_labels(page) == []
