"""The Plan page as a person meets it: from a link, by typing, by a fix, on a phone."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.pages import THEMES, settle, upload
from tests.ui.test_own_config import LLAMA

TIGHT = "/?model=13b-class-mha&memory=8GiB&weights=int4-g128&context=2048&users=1"


def title(page: Page, words: str) -> None:
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text(words)


def target_of(page: Page) -> str:
    """The page's address without the server's."""
    parts = urlsplit(page.url)
    return f"{parts.path}?{parts.query}"


def sidebar(page: Page, words: str) -> None:
    expect(page.get_by_test_id("stSidebar")).to_contain_text(words)


@pytest.mark.parametrize("theme", THEMES)
def test_tight_is_said_everywhere_alike(open_page: OpenPage, theme: str) -> None:
    page = open_page(TIGHT, theme=theme)
    title(page, "It loads, but only 337 tokens are left")
    expect(page.get_by_test_id("stMetricValue").first).to_have_text("337")
    sidebar(page, "too tight, room for 337 tokens")
    charts = page.get_by_test_id("stVegaLiteChart")
    expect(charts.first).to_contain_text("usable 8.00 GiB · 1.31 GiB too much")
    expect(charts.nth(1)).to_contain_text("1 × 2,048: too much")
    expect(page.get_by_test_id("stCode").last).to_contain_text("--weights int4-g128 --context 2048")


def test_a_link_by_names_becomes_one_by_titles_and_opens_the_same_plan(open_page: OpenPage) -> None:
    page = open_page(TIGHT.replace("/", "/plan"))
    assert "weights=int4-g128" in page.url
    assert target_of(page).startswith("/?")
    title(open_page(target_of(page)), "only 337 tokens are left")


def test_an_example_is_wholly_in_the_address(open_page: OpenPage) -> None:
    page = open_page("/")
    page.get_by_text("7B in 8 bit, 16 GiB card").click()
    title(page, "Yes, it fits, with 3.98 GiB to spare")
    settle(page)
    title(open_page(target_of(page)), "Yes, it fits, with 3.98 GiB to spare")


def test_trying_a_fix_and_going_back(open_page: OpenPage) -> None:
    page = open_page(TIGHT)
    page.get_by_role("button", name="Try it").first.click()
    title(page, "Yes, it fits")
    settle(page)
    page.go_back()
    title(page, "only 337 tokens are left")


def test_a_size_is_kept_by_examples_after_a_named_card(open_page: OpenPage) -> None:
    page = open_page(TIGHT)
    page.get_by_text("8B for 4 users, RTX 4090").click()
    title(page, "Yes, it fits, with 3.18 GiB to spare")
    page.get_by_text("7B in 8 bit, 16 GiB card").click()
    title(page, "Yes, it fits, with 3.98 GiB to spare")
    settle(page)
    assert "memory=16GiB" in page.url


def test_typing_changes_the_answer_and_the_address(open_page: OpenPage) -> None:
    page = open_page("/")
    users = page.get_by_role("spinbutton", name="Users at once")
    users.fill("40")
    users.press("Enter")
    title(page, "No: 32.82 GiB short")
    settle(page)
    assert page.url.endswith("users=40")


def test_the_form_works_from_the_keyboard(open_page: OpenPage) -> None:
    page = open_page("/")
    page.get_by_role("combobox", name="Model").focus()
    page.keyboard.type("Qwen2.5-0.5B")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("stMetricValue").nth(3)).to_have_text("12.3 kB")
    details = page.locator(".kv-items summary").last
    details.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".kv-items details[open]")).to_have_count(1)


def test_bad_values_are_said_once(open_page: OpenPage) -> None:
    page = open_page("/?context=0&users=many")
    notes = page.get_by_test_id("stAlert")
    expect(notes).to_have_count(1)
    expect(notes).to_contain_text("This link asked for context = 0, which is not possible; it is back at 8,192.")
    title(page, "Yes, it fits")


def test_an_own_config_is_planned(open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA))
    page = open_page("/?model=qwen2.5-0.5b&users=2")
    page.get_by_text("More: several cards").click()
    upload(page, page.get_by_test_id("stSidebar"), file)
    sidebar(page, "Your model, your own file, takes its place.")
    expect(page.get_by_test_id("stMetricValue").nth(3)).to_have_text("131 kB")


def test_on_a_phone_the_answer_comes_first_and_change_opens_the_form(open_page: OpenPage) -> None:
    page = open_page(TIGHT, width=390)
    box = page.get_by_test_id("stMain").locator("h1").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 400
    expect(page.get_by_role("combobox", name="Model")).not_to_be_in_viewport()
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_role("combobox", name="Model")).to_be_in_viewport()
    sidebar(page, "too tight, room for 337 tokens")


@pytest.mark.parametrize("target", [TIGHT, "/?engine=vllm&model=gpt-oss-20b&device=rtx-4060", "/tables", "/method"])
def test_no_page_scrolls_sideways_on_a_phone(open_page: OpenPage, target: str) -> None:
    page = open_page(target, width=390)
    for summary in page.locator(".kv-items summary").all():
        summary.click()
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
