"""Find a Chromium and start it as these tests need it. Run as a script, it says which one it found."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
MISSING = "no Chromium here: browser tests need Debian's chromium, Google Chrome, or the path of one in CHROMIUM"
QUIET = (
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--no-first-run",
)


def find_chromium() -> str | None:
    """The path in CHROMIUM where that is set, else the first browser found under its usual names."""
    named = os.environ.get("CHROMIUM")
    candidates = (named,) if named else NAMES
    return next((path for path in map(shutil.which, candidates) if path), None)


@contextmanager
def launched(executable: str) -> Iterator[Browser]:
    """Start one headless browser that asks nothing of the network by itself, and close it after."""
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()  # Chromium's sandbox refuses to run as root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=[*QUIET, *as_root])
        yield browser
        browser.close()


if __name__ == "__main__":
    found = find_chromium()
    print(found or MISSING)
    sys.exit(found is None)
