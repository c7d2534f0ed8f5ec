"""The app starts and its first page is whole, at both widths and in both themes."""

import pytest
from playwright.sync_api import expect

from tests.browser.pages import THEMES, WIDTHS, OpenPage

GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 22, 29)"}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_first_page_is_whole(open_page: OpenPage, width: int, theme: str) -> None:
    page = open_page("/", width=width, theme=theme)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stMain").locator("h1")).to_have_count(1)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS[theme])
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
