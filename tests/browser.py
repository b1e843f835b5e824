"""A browser for tests: Chromium, driven by playwright. Where either is missing, tests that need it are skipped."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: `make browser`")
BOUND = 120_000
"""Milliseconds after which a condition that does not come true fails the test."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Start the Chromium of the machine, or else playwright's own. Where `GRADSH_BROWSER` is set, one that does not start is a failure."""
    known = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=next(known, None), args=["--no-sandbox", "--disable-dev-shm-usage"])
        except playwright.Error as error:
            if os.environ.get("GRADSH_BROWSER"):
                raise
            pytest.skip(f"no Chromium: `make browser` ({str(error).splitlines()[0]})")
        yield browser
        browser.close()
