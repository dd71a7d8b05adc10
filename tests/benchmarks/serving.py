"""A real `mlflow server` on a store that a benchmark has filled."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

START_SECONDS = 120
# A worker that answers nothing for 5 s is replaced, with whatever it was doing: a page of 1000 runs takes longer.
BUSY_SECONDS = 600


@contextlib.contextmanager
def serving(database: Path, artifacts: Path, folder: Path) -> Iterator[str]:
    """Serve a copy of an embedded database, its artifacts through the server, and yield the address."""
    folder.mkdir()
    copy = folder / "mlflow.db"
    shutil.copy(database, copy)
    with sqlite3.connect(copy) as connection:
        for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
            connection.execute(
                f"UPDATE {table} SET {column} = replace({column}, ?, 'mlflow-artifacts:')",
                (str(artifacts),),
            )
    port = _free_port()
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "2",
        "--backend-store-uri", f"sqlite:///{copy}", "--artifacts-destination", str(artifacts),
        "--uvicorn-opts", f"--timeout-worker-healthcheck {BUSY_SECONDS}",
    ]  # fmt: skip
    environ = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environ)
    try:
        _wait(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait(address: str) -> None:
    for _ in range(START_SECONDS):
        with contextlib.suppress(httpx.HTTPError):
            if httpx.get(f"{address}/health", timeout=5).status_code == httpx.codes.OK:
                return
        time.sleep(1)
    raise RuntimeError("the MLflow server does not answer")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
