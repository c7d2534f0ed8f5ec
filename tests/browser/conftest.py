"""The app in a real browser. Tests in this folder are marked ``browser`` and share one worker and one server."""

import os
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chromium import MISSING, find_chromium, launched
from tests.browser.pages import OpenPage, blank_context, visit
from tests.browser.server import AppServer, running_app


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("browser")
            item.add_marker(pytest.mark.xdist_group("browser"))
            # A busy machine now and then stops a browser between two steps: a page that is wrong is wrong twice.
            item.add_marker(pytest.mark.flaky(reruns=1))


# How long a page may take to say what is expected: a busy machine draws slowly, and no test is about that.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = find_chromium()
    if executable is None:
        required = os.environ.get("KVBUDGET_REQUIRE_BROWSER") == "1" or os.environ.get("CI") == "true"
        (pytest.fail if required else pytest.skip)(MISSING)
    with launched(executable) as browser:
        yield browser


@pytest.fixture(scope="session")
def app_server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    folder = tmp_path_factory.mktemp("app")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder))
        with running_app(folder / "log.txt") as server:
            yield server


@pytest.fixture(scope="session")
def context_of(browser: Browser) -> Callable[..., BrowserContext]:
    """One context for each size and theme: what one page has fetched of the app's script, the next need not."""
    return cache(partial(blank_context, browser))


@pytest.fixture
def open_page(context_of: Callable[..., BrowserContext], app_server: AppServer) -> Iterator[OpenPage]:
    """Open pages of the app; afterwards close them, and fail if the app has printed a traceback meanwhile."""
    before = len(app_server.log())
    opened: list[Page] = []

    def open_page(target: str = "/", *, width: int = 1280, height: int = 900, theme: str = "light") -> Page:
        page = context_of(width=width, height=height, theme=theme).new_page()
        opened.append(page)
        visit(page, app_server.url + target)
        return page

    yield open_page
    for page in opened:
        page.evaluate("localStorage.clear()")
        page.context.clear_cookies()
        page.close()
    printed = app_server.log()[before:]
    assert "Traceback" not in printed, printed


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """The app's first page in a laptop's window."""
    return open_page("/")
