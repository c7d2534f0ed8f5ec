"""The app starts and its first page is whole, at both widths and in both themes."""

import pytest
from playwright.sync_api import expect

from tests.browser.pages import THEMES, WIDTHS, OpenPage
from tests.browser.server import AppServer

GROUNDS = {"light": "rgb(255, 255, 255)", "dark": "rgb(16, 22, 29)"}


def test_the_server_answers(app_server: AppServer) -> None:
    assert app_server.is_healthy()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_first_page_has_one_title_and_no_error(open_page: OpenPage, width: int, theme: str) -> None:
    page = open_page("/", width=width, theme=theme)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stMain").locator("h1")).to_have_count(1)
    expect(page.get_by_test_id("stApp")).to_have_css("background-color", GROUNDS[theme])


@pytest.mark.parametrize("width", WIDTHS)
def test_first_page_does_not_scroll_sideways(open_page: OpenPage, width: int) -> None:
    page = open_page("/", width=width)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
