"""The Measure page drives the real command: a run from the button to its readings, and into the plan."""

import json
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from measure import tiny_gguf
from measure.experiments import EXPERIMENTS
from measure.lock import LOCK_VARIABLE
from measure.records import FOLDER_VARIABLE, read
from tests.browser.pages import LOOKS, blank_page, settle, visit
from tests.browser.server import ROOT, AppServer, running_app
from tests.measure.tiny import write
from ui.measure_run import STATE

OpenMeasure = Callable[[str], Page]

pytestmark = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None, reason="measuring needs torch and transformers"
)
MINUTES_MS, WAIT_MS = 900_000, 120_000
SMALL = "/measure?model=SmolLM-135M&on=your%20model%2C%20small&experiment="


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the app of these tests keeps records, profiles and the machine's lock."""
    return tmp_path_factory.mktemp("measure")


@pytest.fixture(scope="module")
def server(browser: Browser, own: Path) -> Iterator[AppServer]:
    with pytest.MonkeyPatch.context() as patch:
        for name in (FOLDER_VARIABLE, "TMPDIR", "XDG_DATA_HOME", "KVBUDGET_PROFILES"):
            patch.setenv(name, str(own))
        patch.setenv(LOCK_VARIABLE, str(own / "measure.lock"))
        patch.setenv("OMP_NUM_THREADS", "1")  # it measures beside other tests, where threads wait longest
        with running_app(own / "log.txt") as running:
            yield running
    # A tab that is closed at work leaves an error of the web server's own.
    assert f'File "{ROOT}/' not in (own / "log.txt").read_text(encoding="utf-8", errors="replace")


@pytest.fixture
def open_measure(browser: Browser, server: AppServer) -> Iterator[OpenMeasure]:
    opened: list[Page] = []

    def open_measure(target: str) -> Page:
        opened.append(blank_page(browser))
        opened[-1].set_default_timeout(WAIT_MS)  # it measures beside the browser
        visit(opened[-1], server.url + target)
        return opened[-1]

    yield open_measure
    for page in opened:
        page.context.close()


def run_button(page: Page) -> Locator:
    return page.get_by_role("button", name="Run", exact=False).first


def start(page: Page) -> None:
    expect(page.get_by_test_id("stMain")).to_contain_text("free now", timeout=MINUTES_MS)
    run_button(page).click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible(timeout=MINUTES_MS)


def say(page: Page, words: str) -> None:
    expect(page.get_by_test_id("stMain")).to_contain_text(words, timeout=MINUTES_MS)


def test_a_run_outlives_its_tab_and_is_never_doubled(open_measure: OpenMeasure, own: Path) -> None:
    first = open_measure(SMALL + "cache-size")
    expect(first.get_by_test_id("stMain").locator("h1")).to_contain_text("Check the predictions on this machine")
    start(first)
    pid = json.loads((own / STATE).read_text(encoding="utf-8"))["pid"]
    first.context.close()

    page = open_measure(SMALL + "cache-size")
    expect(page.get_by_role("button", name="Stop").or_(page.get_by_text("Done: every case"))).to_be_visible(
        timeout=MINUTES_MS
    )
    if page.get_by_role("button", name="Stop").is_visible():
        expect(run_button(page)).to_be_disabled()
    say(page, "Done: every case gave a reading.")
    run = json.loads((own / STATE).read_text(encoding="utf-8"))
    assert (run["pid"], run["exit_code"]) == (pid, 0)
    assert len(read(own / "cache-size.jsonl")) == 1

    settle(page)
    expect(page.get_by_test_id("stMain").locator("h1")).to_contain_text("All 4 predictions are exact on ")
    say(page, "Learned: The cache of 1 of 1 architectures")
    page.get_by_role("button", name="Use this machine in the plan").click()
    expect(page.get_by_role("textbox", name="Memory of the card")).to_be_visible()


def test_a_run_is_stopped_from_another_tab(open_measure: OpenMeasure) -> None:
    start(open_measure(SMALL + "distillation"))
    other = open_measure(SMALL + "distillation")
    other.get_by_role("button", name="Stop").click()
    say(other, "Stopped. What was finished is kept; Run goes on from there.")
    expect(run_button(other)).to_be_enabled(timeout=MINUTES_MS)


def test_a_profile_is_measured_saved_and_used(open_measure: OpenMeasure, own: Path) -> None:
    page = open_measure(SMALL + "batching")
    start(page)
    say(page, "A profile of this machine")
    settle(page)
    page.get_by_role("textbox", name="Its name").fill("this-machine")
    page.get_by_role("button", name="Save it and use it in the plan").click()
    say(page, "Kept as this-machine, and the plan uses it.")
    assert (own / "kvbudget" / "profiles" / "this-machine.json").is_file()
    page.get_by_role("link", name="Back to the plan").click()
    say(page, "Measured on this machine with Hugging Face transformers")


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_runs_from_the_page(experiment: str, open_measure: OpenMeasure, own: Path) -> None:
    """On a tiny model of random weights, which every experiment takes; the engine is llama.cpp's bindings."""
    if experiment == "engine":
        pytest.importorskip("xllamacpp")
    (own / "tiny").mkdir(exist_ok=True)
    page = open_measure(f"/measure?on=another&experiment={experiment}")
    if experiment == "engine":
        file = tiny_gguf.write(own / "tiny.gguf")
        page.get_by_role("textbox", name="GGUF file").fill(str(file))
    else:
        page.get_by_role("textbox", name="Folder or Hugging Face id").fill(write(own / "tiny"))
    page.keyboard.press("Enter")
    settle(page)
    start(page)
    say(page, "Done: every case gave a reading.")
    settle(page)
    say(page, f"{experiment} · Learned: ")


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_the_page_is_whole_at_both_widths(browser: Browser, server: AppServer, width: int, theme: str) -> None:
    page = blank_page(browser, width=width, theme=theme)
    visit(page, server.url + "/measure")
    expect(page.get_by_test_id("stMain").locator("h1")).to_have_count(1)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    inner, outer = page.get_by_test_id("stMain").evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert inner <= outer
    page.context.close()
