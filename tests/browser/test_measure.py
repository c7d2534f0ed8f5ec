"""The Measure page drives the real command: a run from the button to its readings, and into the plan."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from measure.records import FOLDER_VARIABLE
from tests.browser.pages import THEMES, WIDTHS, blank_page, settle, visit
from tests.browser.server import AppServer, running_app

pytestmark = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None, reason="measuring needs torch and transformers"
)
MINUTES_MS = 240_000
SMALL = "/measure?model=SmolLM-135M&experiment=cache-size&on=your%20model%2C%20small%20copy"


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """An app with a folder of records, profiles and a lock of its own."""
    own = tmp_path_factory.mktemp("measure")
    with pytest.MonkeyPatch.context() as patch:
        for name in (FOLDER_VARIABLE, "TMPDIR", "XDG_DATA_HOME", "KVBUDGET_PROFILES"):
            patch.setenv(name, str(own))
        with running_app(own / "log.txt") as running:
            yield running


@pytest.fixture
def open_measure(browser: Browser, server: AppServer) -> Iterator[Page]:
    page = blank_page(browser)
    visit(page, server.url + SMALL)
    yield page
    page.context.close()
    assert "Traceback" not in server.log()


def test_a_run_shows_progress_survives_its_tab_and_ends_in_readings(
    open_measure: Page, browser: Browser, server: AppServer, tmp_path: Path
) -> None:
    page = open_measure
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("Check the predictions on this machine")
    expect(page.get_by_test_id("stMain")).to_contain_text("free now", timeout=MINUTES_MS)
    page.get_by_role("button", name="Run", exact=False).first.click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=MINUTES_MS)

    other = blank_page(browser)  # another tab sees the same run, and cannot start a second one
    visit(other, server.url + SMALL)
    expect(other.get_by_role("button", name="Stop").or_(other.get_by_text("Done: every case"))).to_be_visible(
        timeout=MINUTES_MS
    )
    other.context.close()

    expect(page.get_by_test_id("stMain")).to_contain_text("Done: every case gave a reading.", timeout=MINUTES_MS)
    settle(page)
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("All 4 predictions are exact here")
    expect(page.get_by_test_id("stMain")).to_contain_text("Learned: The cache of 1 of 1 architectures")
    page.get_by_role("button", name="Use this machine in the plan").click()
    expect(page.get_by_role("textbox", name="Memory of the card")).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_whole_at_both_widths(browser: Browser, server: AppServer, width: int, theme: str) -> None:
    page = blank_page(browser, width=width, theme=theme)
    visit(page, server.url + "/measure")
    expect(page.get_by_test_id("stMain").locator("h1")).to_have_count(1)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
    page.context.close()
