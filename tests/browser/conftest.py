"""The system's Chromium, driven by Playwright; the tests skip where it is absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.report.examples import MEMOS
from tracker.report import render_explore, render_html

SHOW_MS = 30_000
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser a module. Playwright leaves its event loop running in this thread: no other test may meet it."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every example memo and two explorers, as `tracker report` leaves them."""
    folder = tmp_path_factory.mktemp("memos")
    for name, make in MEMOS.items():
        view = make()
        (folder / name).mkdir()
        (folder / name / "memo.html").write_text(render_html(view), encoding="utf-8")
        if name in ("founding", "h200"):
            (folder / name / "explore.html").write_bytes(render_explore(view))
    return folder


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    found = chromium.new_page(viewport={"width": 1600, "height": 1000})
    found.set_default_timeout(SHOW_MS)
    yield found
    found.close()
