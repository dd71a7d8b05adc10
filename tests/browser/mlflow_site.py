"""The web interface as `tracker ui` starts it, and a page of it looked at."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page

from tests.fixtures_mlflow import free_port, stop_server
from tracker.store.mlflow_open import sqlite_uri
from tracker.store.mlflow_store import MlflowStore

COMMAND = "from tracker.cli.main import main; main()"
START_SECONDS = 120


@dataclass(frozen=True)
class Site:
    """The web interface as `tracker ui` started it."""

    base: str
    opened: str
    said: str
    store: MlflowStore

    def experiment(self, name: str) -> str:
        return f"{self.base}/#/experiments/{self.store.experiment_id(name)}"

    def run(self, name: str) -> str:
        run = self.store.load(name)
        return f"{self.experiment(run.record.experiment)}/runs/{run.run_id}"


@contextlib.contextmanager
def started(folder: Path, experiment: str) -> Iterator[Site]:
    """Start `tracker ui` on the database in a folder, and end it with the block."""
    uri, port = sqlite_uri(folder / "mlflow.db"), free_port()
    said = folder / "ui.log"
    log = said.open("w")
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "ui", "--experiment", experiment, "--port", str(port), "--tracking-uri", uri],
        stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    opened = process.stdout.readline().strip()
    base = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{base}/health", timeout=2).close()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.3)
        yield Site(base=base, opened=opened, said=said.read_text(), store=MlflowStore(uri))
    finally:
        stop_server(process)  # type: ignore[arg-type]
        process.stdout.close()
        log.close()


def shown(page: Page, url: str, *texts: str) -> str:
    """Open a page, wait for texts to be visible, and return all that it says."""
    page.goto(url)
    for text in texts:
        page.get_by_text(text, exact=False).first.wait_for()
    return page.locator("body").inner_text()
