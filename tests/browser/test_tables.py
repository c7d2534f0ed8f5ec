"""The Tables page: cells as drawn, files as downloaded."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from planner.cli import main
from tests.browser.conftest import OpenPage

STARTS = {
    "csv": b"model,memory_bytes,weights,",
    "md": b"Tokens of context left for one user; cache in ",
    "xlsx": b"PK",
    "png": b"\x89PNG",
    "svg": b"<svg",
}


def chart(page: Page):
    return page.get_by_test_id("stVegaLiteChart")


def downloaded(page: Page, suffix: str) -> bytes:
    with page.expect_download() as download:
        page.locator(f".st-key-download_{suffix} button").click()
    assert download.value.suggested_filename == f"kv-budget-table.{suffix}"
    return Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("width", [1280, 390])
def test_every_cell_has_its_number_and_337_looks_unlike_65_378(open_page: OpenPage, width: int) -> None:
    page = open_page("/tables", width=width)
    for number in ("▲ 337", "3,136", "65,378", "77,508", "25,710"):
        expect(chart(page).get_by_text(number, exact=True)).to_have_count(1)

    fills = (
        chart(page)
        .locator("path[aria-roledescription='rect mark']")
        .evaluate_all("marks => Object.fromEntries(marks.map(mark => [mark.ariaLabel, mark.getAttribute('fill')]))")
    )
    by_cell = {label: fill for label, fill in fills.items() if fill}
    tight = next(fill for label, fill in by_cell.items() if "▲ 337" in label)
    much = next(fill for label, fill in by_cell.items() if "65,378" in label)
    assert (tight.upper(), much.upper()) == ("#F2C14E", "#2B77B3")


def test_files_are_what_they_say_and_figures_those_of_the_command_line(
    open_page: OpenPage, capsys: pytest.CaptureFixture[str]
) -> None:
    page = open_page("/tables")
    for suffix, start in STARTS.items():
        assert downloaded(page, suffix).startswith(start)
    exported = json.loads(downloaded(page, "json"))
    models = "7b-class,llama-3.1-8b,13b-class-mha,70b-class"
    command = ["table", "--models", models, "--weights", "fp16,int8,int4-g128", "--overhead", "1.5GiB", "--json"]
    main(command)
    assert exported == json.loads(capsys.readouterr().out)


def test_the_set_up_follows_to_the_other_page(open_page: OpenPage) -> None:
    page = open_page("/?context=4096&overhead=0.5GiB")
    page.get_by_role("link", name="Compare 8, 16 and 24 GiB").click()
    expect(page.get_by_test_id("stMain")).to_contain_text("0.50 GiB of runtime")
    assert "context=4096" in page.url
    page.get_by_test_id("stMain").get_by_text("Users at once").first.click()
    expect(page.get_by_test_id("stMain")).to_contain_text("users at once, each with 4,096 tokens")
