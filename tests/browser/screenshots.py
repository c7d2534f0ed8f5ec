"""Pictures of the app's pages at both widths and in both themes: ``python -m tests.browser.screenshots OUT``."""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from tests.browser.chromium import MISSING, find_chromium, launched
from tests.browser.pages import THEMES, WIDTHS, blank_page, settle, visit
from tests.browser.server import running_app

FIRST_SCREEN_PX = 900
TALLEST_PX = 8_000


def linked_pages(browser: Browser, url: str) -> list[str]:
    """The first page, then the others that the navigation links, as paths."""
    page = blank_page(browser)
    visit(page, url)
    links = page.get_by_test_id("stTopNavLink").evaluate_all("links => links.map(link => link.href)")
    page.context.close()
    return list(dict.fromkeys(["/", *(urlsplit(link).path or "/" for link in links)]))


def file_name(target: str, width: int, theme: str) -> str:
    """
    >>> file_name("/", 1280, "light")
    'start-1280-light.png'
    >>> file_name("/tables?context=8192&memory=8GiB", 390, "dark")
    'tables-context-8192-memory-8GiB-390-dark.png'
    """
    words = re.findall(r"[\w.]+", target)
    return "-".join([*(words or ["start"]), str(width), theme]) + ".png"


def take(browser: Browser, url: str, targets: Iterable[str], folder: Path) -> Iterator[Path]:
    """Photograph each target in full. Streamlit scrolls inside the page, so the window grows to the content."""
    for target, width, theme in product(targets, WIDTHS, THEMES):
        page = blank_page(browser, width=width, height=FIRST_SCREEN_PX, theme=theme)
        visit(page, f"{url}/{target.removeprefix('/')}")
        content_px = page.get_by_test_id("stMain").evaluate("main => main.scrollHeight")
        page.set_viewport_size({"width": width, "height": min(max(content_px, FIRST_SCREEN_PX), TALLEST_PX)})
        settle(page)
        path = folder / file_name(target, width, theme)
        page.screenshot(path=path)
        page.context.close()
        yield path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="OUT", help="where the pictures go; made if missing")
    parser.add_argument(
        "--pages", nargs="+", metavar="PAGE", help="pages with queries, tables?context=8192 (default: all)"
    )
    arguments = parser.parse_args()
    executable = find_chromium()
    if executable is None:
        print(MISSING, file=sys.stderr)
        return 2
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as logs,
        running_app(Path(logs) / "log.txt") as server,
        launched(executable) as browser,
    ):
        for path in take(browser, server.url, arguments.pages or linked_pages(browser, server.url), arguments.folder):
            print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
