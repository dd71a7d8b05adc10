"""Runs counted without being loaded: any number, on any kind of store."""

from __future__ import annotations

import pytest

from tests.store.conftest import MakeRun
from tracker.store import mlflow_count
from tracker.store.mlflow_count import count, count_from
from tracker.store.mlflow_store import MlflowStore


@pytest.fixture(
    params=["sqlite", pytest.param("server", marks=pytest.mark.slow), pytest.param("postgres", marks=pytest.mark.slow)]
)
def mlflow_store(request: pytest.FixtureRequest) -> MlflowStore:
    found: MlflowStore = request.getfixturevalue(f"{request.param}_store")
    return found


def test_any_number_of_runs_is_counted(
    mlflow_store: MlflowStore, make_run: MakeRun, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlflow_count, "COUNTED_AT_ONCE", 2)
    mlflow_store.save(make_run("first"))
    client, number = mlflow_store.client, mlflow_store.experiment_id(experiment)
    for total in range(1, 20):
        assert count(client, number, "") == total
        assert count(client, number, "tags.`tracker.complete` = 'true'") == 1
        assert count(client, number, "tags.`tracker.complete` IS NULL") == total - 1
        assert count_from(client, number, "", total) == total
        client.create_run(number)
