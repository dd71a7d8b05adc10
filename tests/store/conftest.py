"""Stores of every kind, and runs that no other test has."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.store import samples
from tracker.domain.record import LoggedRun
from tracker.store.base import RunStore
from tracker.store.memory import MemoryStore
from tracker.store.mlflow_open import configure_mlflow, open_store
from tracker.store.mlflow_store import MlflowStore
from tracker.store.spool import Spool

# Before any test imports MLflow by itself: telemetry off, no log lines, no long waits.
configure_mlflow(os.environ)

MakeRun = Callable[..., LoggedRun]


@pytest.fixture
def experiment() -> str:
    """A campaign name that no other test uses: the server is shared."""
    return f"campaign-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def make_run(experiment: str) -> MakeRun:
    """Make sample runs in this test's own experiment; the same name twice is the same record."""

    def make(name: str = "EAGLE3 3-1-4, 100K samples", **changes: Any) -> LoggedRun:
        given = {"experiment": experiment, "record_id": samples.sha(experiment + name)}
        return samples.run(name, **(given | changes))

    return make


@pytest.fixture
def sqlite_folder(tmp_path: Path, empty_database: Path) -> Path:
    """A folder with an embedded database that has its schema already."""
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(empty_database, folder / "mlflow.db")
    return folder


@pytest.fixture
def sqlite_store(sqlite_folder: Path, tmp_path: Path) -> MlflowStore:
    return open_store(environ={}, data_dir=sqlite_folder, cache_dir=tmp_path / "cache")


@pytest.fixture
def server_store(mlflow_server: str, tmp_path: Path) -> MlflowStore:
    return open_store(mlflow_server, environ={}, cache_dir=tmp_path / "cache")


@pytest.fixture
def postgres_store(postgres_server: str, tmp_path: Path) -> MlflowStore:
    return open_store(postgres_server, environ={}, cache_dir=tmp_path / "cache")


@pytest.fixture(params=["memory", "sqlite", "server", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest) -> RunStore:
    """Every kind of store in turn."""
    if request.param == "memory":
        return MemoryStore()
    found: RunStore = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")
