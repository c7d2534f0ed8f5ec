"""My log as a person uses it: paste, copy the flag, correct, save, plan."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.pages import WIDTHS, settle, upload
from tests.browser.test_plan import sidebar, title
from tests.startups.test_report import FAILED

PRINTED = "\x1b[32m" + FAILED.replace("\n", "\x1b[0m\r\n\x1b[32m")


def paste(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="What your server printed").fill(text)
    page.get_by_role("button", name="Read it").click()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_refused_start_shows_the_flag_to_copy_first(open_page: OpenPage, width: int) -> None:
    page = open_page("/log", width=width)
    paste(page, PRINTED)
    title(page, "It did not start: 14.01 GiB of cache short")
    flag = page.get_by_test_id("stCode").first
    expect(flag).to_contain_text("--max-model-len 29040")
    box = flag.bounding_box()
    assert box is not None
    assert 0 < box["y"] < 900
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer


def test_a_log_file_is_uploaded_and_stays_on_the_way_to_another_page(open_page: OpenPage, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(FAILED.encode("utf-16"))
    page = open_page("/log")
    upload(page, page.get_by_role("region", name="Or a log file"), tmp_path / "server.log")
    title(page, "14.01 GiB of cache short")
    page.get_by_role("link", name="Tables", exact=True).click()
    title(page, "What fits on")
    page.get_by_role("link", name="My log", exact=True).click()
    title(page, "14.01 GiB of cache short")


def test_binary_and_huge_files_are_one_sentence(open_page: OpenPage, tmp_path: Path) -> None:
    (tmp_path / "noise.log").write_bytes(bytes(range(256)) * 800)
    (tmp_path / "huge.log").write_bytes(b"INFO 11-02 10:00:00 nothing of note\n" * 2_000_000)
    page = open_page("/log")
    field = page.get_by_role("region", name="Or a log file")
    upload(page, field, tmp_path / "noise.log")
    title(page, "Nothing in it is about memory")
    expect(page.get_by_test_id("stMain")).to_contain_text("The file is no text: give what the engine printed")
    upload(page, field, tmp_path / "huge.log")
    expect(page.get_by_test_id("stMain")).to_contain_text("File must be 64.0MB or smaller.")


def test_readings_are_saved_and_used(open_page: OpenPage) -> None:
    page = open_page("/log")
    paste(page, FAILED)
    name = page.get_by_role("textbox", name="Name")
    name.fill("browser-test")
    name.press("Enter")
    settle(page)
    page.get_by_role("button", name="Save and use in the plan").click()
    sidebar(page, "fits, room for 29,040 tokens")
    page.get_by_role("link", name="See the plan").click()
    title(page, "Yes, it fits")
    expect(page.get_by_test_id("stMain")).to_contain_text("Measured on 23.64 GiB card with vLLM 0.11.0")
    settle(page)
    assert "profile=browser-test" in page.url
    page.get_by_role("link", name="My log", exact=True).click()
    expect(page.get_by_test_id("stMain")).to_contain_text("browser-test: qwen3-8b, vLLM 0.11, 23.64 GiB")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_test_id("stMain")).not_to_contain_text("browser-test: qwen3-8b")


def test_a_change_is_planned(open_page: OpenPage) -> None:
    page = open_page("/log")
    page.get_by_text("vLLM that does not start", exact=True).click()
    title(page, "Example: it did not start: 11.02 GiB of cache short")
    page.get_by_role("button", name="Plan with it").first.click()
    page.get_by_role("link", name="See the plan").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("1 user × 40,784 tokens")
    expect(page.get_by_test_id("stCode").first).to_contain_text("--max-model-len 40784")
    settle(page)
    assert "context=40784" in page.url
    assert "engine=vllm" in page.url
    assert "set=gpu_memory_utilization" in page.url
