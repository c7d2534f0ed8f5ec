"""Open a page of the app and wait until it stands still."""

import time
from typing import Protocol

from playwright.sync_api import Browser, Page

WIDTHS = (1280, 390)  # a laptop's window beside its sidebar, and a phone
THEMES = ("light", "dark")


class OpenPage(Protocol):
    """``open_page("/?model=llama-3.1-8b", width=390, theme="dark")``: a new page of the running app, settled."""

    def __call__(self, target: str = "/", *, width: int = 1280, height: int = 900, theme: str = "light") -> Page: ...


STILL_MS = 250
"""So long nothing has changed in a page that stands still."""

# Streamlit says on its root element whether the script runs, but also that it does not before it is connected, and
# charts and long pages draw a moment after the script: so there must be content, and it must have stopped growing.
_SETTLED = """([still, since]) => {
    const app = document.querySelector('[data-testid="stApp"]');
    const main = document.querySelector('[data-testid="stMain"]');
    const calm = app?.dataset.testScriptState === 'notRunning'
        && !document.querySelector('[data-testid="stSkeleton"]')
        && main?.querySelector('[data-testid="stElementContainer"]')
        && [...document.querySelectorAll('[data-testid="stVegaLiteChart"]')].every(c => c.querySelector('svg, canvas'))
        && document.fonts.status === 'loaded';
    const seen = calm ? `${since} ${main.scrollHeight} ${main.innerText.length}` : '';
    if (window.lastSeen?.what !== seen) window.lastSeen = {what: seen, at: performance.now()};
    return calm && performance.now() - window.lastSeen.at >= still;
}"""


def settle(page: Page) -> None:
    """Wait until the script has run, nothing is left to draw, and the page has stopped changing."""
    page.wait_for_function(_SETTLED, arg=[STILL_MS, time.monotonic()])


def visit(page: Page, url: str) -> None:
    """Go there and wait until the page is whole."""
    page.goto(url)
    settle(page)


def blank_page(browser: Browser, *, width: int = 1280, height: int = 900, theme: str = "light") -> Page:
    """A page with no history and no storage; below 640 px it behaves as a phone does. Close its context after."""
    phone = width < 640
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        has_touch=phone,
        is_mobile=phone,
        reduced_motion="reduce",
    )
    context.set_default_timeout(20_000)
    return context.new_page()
