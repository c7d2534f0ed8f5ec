"""Open a page of the app and wait until it stands still."""

import time
from typing import Any, Protocol

from playwright.sync_api import Browser, BrowserContext, Locator, Page

WIDTHS = (1280, 390)  # a laptop's window beside its sidebar, and a phone
THEMES = ("light", "dark")
LOOKS = tuple(zip(WIDTHS, THEMES, strict=True))  # both widths and both themes in two pages: a theme moves nothing


class OpenPage(Protocol):
    """``open_page("/?model=llama-3.1-8b", width=390, theme="dark")``: a new page of the running app, settled."""

    def __call__(self, target: str = "/", *, width: int = 1280, height: int = 900, theme: str = "light") -> Page: ...


STILL_MS = 250
"""So long nothing has changed in a page that stands still."""
LOOK_EVERY_MS = 50
"""Looking lays the page out anew: at every frame, that would be most of the browser's work."""

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


# Texts of one chart that lie on one another, in pairs; a few px of the boxes of their lines are empty.
_MET_LABELS = """() => [...document.querySelectorAll('[data-testid="stVegaLiteChart"] svg')].flatMap(svg => {
    const seen = [...svg.querySelectorAll('text')].filter(text => {
        for (let part = text; part !== svg; part = part.parentElement)
            if (+getComputedStyle(part).opacity === 0) return false;
        return text.textContent.trim();
    }).map(text => ({words: text.textContent, box: text.getBoundingClientRect()}));
    const shared = (one, other) => [
        Math.min(one.right, other.right) - Math.max(one.left, other.left),
        Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top)];
    return seen.flatMap((one, index) => seen.slice(index + 1).filter(other => {
        const [across, down] = shared(one.box, other.box);
        return across > 1.5 && down > 4.5;
    }).map(other => `${one.words} on ${other.words}`));
})"""


def met_labels(page: Page) -> list[str]:
    """Which texts of the page's charts lie on one another."""
    found: list[str] = page.evaluate(_MET_LABELS)
    return found


def settle(page: Page) -> None:
    """Wait until the script has run, nothing is left to draw, and the page has stopped changing."""
    page.wait_for_function(_SETTLED, arg=[STILL_MS, time.monotonic()], polling=LOOK_EVERY_MS)


def upload(page: Page, field: Locator, files: Any) -> None:
    """Hand over files as ``set_input_files`` takes them; while the script runs, a field that moves is there twice."""
    settle(page)
    field.locator("input[type=file]").set_input_files(files)


def visit(page: Page, url: str) -> None:
    """Go there and wait until the page is whole."""
    page.goto(url)
    settle(page)


def blank_context(browser: Browser, *, width: int = 1280, height: int = 900, theme: str = "light") -> BrowserContext:
    """Windows with no history and no storage; below 640 px they behave as a phone's do. Close it after."""
    phone = width < 640
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
        has_touch=phone,
        is_mobile=phone,
        reduced_motion="reduce",
    )
    context.set_default_timeout(60_000)  # as long as a page takes on the busiest machine
    return context


def blank_page(browser: Browser, *, width: int = 1280, height: int = 900, theme: str = "light") -> Page:
    """A page in a context of its own. Close its context after."""
    return blank_context(browser, width=width, height=height, theme=theme).new_page()
