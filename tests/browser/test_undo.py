"""Back undoes the last change of the set-up, and a number may be written as 1e3."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import OpenPage, settle


def tokens(page: Page) -> Locator:
    return page.get_by_role("spinbutton", name="Tokens per user")


def enter(page: Page, words: str) -> None:
    tokens(page).click()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    settle(page)


def test_back_undoes_one_change_after_the_other(open_page: OpenPage) -> None:
    page = open_page("/?users=2")
    enter(page, "4096")
    page.wait_for_url("**context=4096**")
    page.get_by_test_id("stSidebar").get_by_text("int8", exact=True).click()
    settle(page)
    page.wait_for_url("**weights=int8**")
    page.go_back()
    expect(page.get_by_role("radio", name="int8")).not_to_be_checked()
    expect(tokens(page)).to_have_value("4096")
    assert "weights" not in page.url
    page.go_back()
    expect(tokens(page)).to_have_value("8192")
    page.go_forward()
    expect(tokens(page)).to_have_value("4096")


def test_a_page_is_one_step_back(open_page: OpenPage) -> None:
    page = open_page("/?context=4096")
    page.get_by_role("link", name="Tables").first.click()
    settle(page)
    page.go_back()
    settle(page)
    expect(tokens(page)).to_have_value("4096")
    assert "/tables" not in page.url


def test_a_thousand_may_be_written_as_1e3(open_page: OpenPage) -> None:
    page = open_page("/")
    enter(page, "1e3")
    expect(tokens(page)).to_have_value("1000")
    page.wait_for_url("**context=1000**")
