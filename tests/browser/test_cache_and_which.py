"""The pages Cache, Model and Which as a person meets them."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.pages import LOOKS

EVERY_MODEL_MS = 30_000
"""The first question about all models reads all of them."""


def title(page: Page, words: str, timeout_ms: float = 5_000) -> None:
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text(words, timeout=timeout_ms)


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_bars_have_names_and_sizes_whole(open_page: OpenPage, width: int, theme: str) -> None:
    page = open_page("/cache", width=width, theme=theme)
    chart = page.get_by_test_id("stVegaLiteChart").first
    for label in (
        "Llama-2-13B: every head keeps its own (MHA)",
        "6.25 GiB",
        "Llama-3.1-8B: four heads share (GQA) ◂ yours",
    ):
        text = chart.get_by_text(label, exact=True)
        expect(text).to_have_count(1)
        box, outer = text.bounding_box(), chart.bounding_box()
        assert box is not None
        assert outer is not None
        assert outer["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= outer["x"] + outer["width"] + 1


def test_the_crossing_is_drawn(open_page: OpenPage) -> None:
    page = open_page("/cache?model=7b-class&weights=fp16")
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts.get_by_text("from 106,812 tokens the cache is bigger")).to_have_count(1)
    expect(page.get_by_test_id("stMain")).to_contain_text("106,812 tokens")


def test_other_models_are_compared_by_typing_and_stay_in_the_address(open_page: OpenPage) -> None:
    page = open_page("/cache")
    page.get_by_text("Compare with other models").click()
    box = page.get_by_role("combobox", name="Models")
    box.click(trial=True)  # until the expander is still
    box.press_sequentially("Qwen2.5-0.5B", delay=30)
    page.get_by_role("option", name="Qwen2.5-0.5B", exact=True).click()
    expect(page.get_by_test_id("stVegaLiteChart").first).to_contain_text("Qwen2.5-0.5B: seven heads share (GQA)")
    page.wait_for_url("**compared=**")


def test_the_models_page_opens_from_cache(open_page: OpenPage) -> None:
    page = open_page("/cache?model=gemma-3-27b")
    page.get_by_role("link", name="All about Gemma-3-27B").click()
    title(page, "Gemma-3-27B: 27.4 billion parameters, made for 131,072 tokens")
    assert "model=Gemma-3-27B" in page.url


def test_which_asks_three_ways(open_page: OpenPage) -> None:
    page = open_page("/which?model=llama-3.1-8b&memory=8GiB&context=2048")
    title(page, "Take Llama-3.1-8B in q5_k_m")
    main = page.get_by_test_id("stMain")
    main.get_by_text("Which card?").click()
    title(page, "The smallest that does it")
    main.get_by_text("Which model?").click()
    title(page, "Take ", EVERY_MODEL_MS)
    main.get_by_text("List them all").click()
    title(page, "models fit 8 GiB card", EVERY_MODEL_MS)


def test_an_answer_is_taken_into_the_set_up(open_page: OpenPage) -> None:
    page = open_page("/which?model=llama-3.1-8b&memory=8GiB&context=2048")
    page.get_by_role("button", name="Use it").click()
    expect(page.get_by_test_id("stSidebar")).to_contain_text("fits, room for")


@pytest.mark.parametrize(
    "target", ["/cache?model=gemma-3-27b", "/model?model=deepseek-v3", "/which", "/which?ask=Which+card%3F", "/own"]
)
def test_no_page_scrolls_sideways_on_a_phone(open_page: OpenPage, target: str) -> None:
    page = open_page(target, width=390)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
    assert page.locator(".kv-plain").evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth + 1)")
