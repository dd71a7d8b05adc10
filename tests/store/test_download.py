"""One file of many runs through a server: asked for as MLflow asks, and by MLflow where that does not do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.store.artifact import http_artifact_repo
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

from tests.store import samples
from tests.store.gateway import Gateway, running
from tracker.domain.record import LoggedRun
from tracker.store.base import Query
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_download import asking
from tracker.store.mlflow_fetch import MANY, artifact_root, fetch
from tracker.store.mlflow_open import open_store

TOKEN = "PLANTED-token-91be"


@pytest.fixture
def gateway(mlflow_server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    with running(Gateway(upstream=mlflow_server, authorization=f"Bearer {TOKEN}")) as found:
        yield found


@pytest.fixture
def runs(mlflow_server: str, experiment: str) -> dict[str, LoggedRun]:
    """Runs in the store by run id, as many as make it worth while to ask for them without MLflow."""
    store = open_store(mlflow_server, environ={})
    made = [samples.small(experiment, number) for number in range(MANY)]
    return dict(zip(store.save_many(made), made, strict=True))


def places(client: MlflowClient, experiment: str, run_ids: Any) -> dict[str, str]:
    found = client.get_experiment_by_name(experiment)
    return {run_id: artifact_root(found, run_id) for run_id in run_ids}


@pytest.fixture
def by_mlflow(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the files that MLflow itself downloads."""
    counted: Counter[str] = Counter()
    download: Callable[..., None] = http_artifact_repo.HttpArtifactRepository._download_file

    def counting(self: Any, remote_file_path: str, local_path: str) -> None:
        counted[remote_file_path] += 1
        download(self, remote_file_path, local_path)

    monkeypatch.setattr(http_artifact_repo.HttpArtifactRepository, "_download_file", counting)
    return counted


def test_many_files_are_asked_for_with_the_credentials_that_mlflow_uses(
    gateway: Gateway, runs: dict[str, LoggedRun], experiment: str, by_mlflow: Counter[str]
) -> None:
    client = MlflowClient(tracking_uri=gateway.url)
    wanted = places(client, experiment, runs)
    gateway.seen.clear()

    found = fetch(client, wanted, RECORD)

    assert list(found) == list(runs)
    assert all(runs[run_id].record.name.encode() in content for run_id, content in found.items())
    assert gateway.seen == {f"Bearer {TOKEN}"}
    assert not by_mlflow


def test_what_is_refused_once_is_left_to_mlflow_which_asks_again(
    gateway: Gateway, runs: dict[str, LoggedRun], experiment: str, by_mlflow: Counter[str]
) -> None:
    client = MlflowClient(tracking_uri=gateway.url)
    wanted = places(client, experiment, runs)
    refused: Counter[str] = Counter()

    def refuses(_: str, path: str) -> int | None:
        refused[path] += 1
        return 503 if refused[path] == 1 and any(run_id in path for run_id in list(runs)[1:3]) else None

    gateway.refuses = refuses

    assert list(fetch(client, wanted, RECORD)) == list(runs)
    assert by_mlflow == {RECORD: 2}


def test_a_connection_that_breaks_costs_one_more_question(
    gateway: Gateway, runs: dict[str, LoggedRun], experiment: str, by_mlflow: Counter[str]
) -> None:
    client = MlflowClient(tracking_uri=gateway.url)
    wanted = places(client, experiment, runs)
    broken: Counter[str] = Counter()

    def breaks(_: str, path: str) -> Any:
        broken[path] += 1
        return "before" if broken[path] == 1 and list(runs)[2] in path else None

    gateway.breaks = breaks

    assert list(fetch(client, wanted, RECORD)) == list(runs)
    assert by_mlflow == {RECORD: 1}


def test_a_run_without_the_file_is_left_out(
    gateway: Gateway, runs: dict[str, LoggedRun], experiment: str, by_mlflow: Counter[str]
) -> None:
    client = MlflowClient(tracking_uri=gateway.url)
    wanted = {"0" * 32: places(client, experiment, ["0" * 32])["0" * 32], **places(client, experiment, runs)}

    assert list(fetch(client, wanted, RECORD)) == list(runs)
    assert by_mlflow == {RECORD: 1}


def test_credentials_are_sent_to_no_other_server(
    gateway: Gateway, mlflow_server: str, runs: dict[str, LoggedRun], experiment: str, by_mlflow: Counter[str]
) -> None:
    wanted = places(MlflowClient(tracking_uri=gateway.url), experiment, runs)
    elsewhere = Gateway(upstream=mlflow_server)
    with running(elsewhere):
        path = wanted[next(iter(runs))].removeprefix("mlflow-artifacts:")
        there = f"{elsewhere.url}/api/2.0/mlflow-artifacts/artifacts{path}"
        repository = get_artifact_repository(wanted[list(runs)[1]], tracking_uri=gateway.url)
        with asking(repository, RECORD, at_once=1) as ask:
            assert ask(repository) is not None
            assert ask(get_artifact_repository(there)) is None

    assert not elsewhere.seen


def test_a_few_files_are_left_to_mlflow(
    gateway: Gateway, runs: dict[str, LoggedRun], experiment: str, by_mlflow: Counter[str]
) -> None:
    client = MlflowClient(tracking_uri=gateway.url)
    few = list(runs)[: MANY - 1]

    assert list(fetch(client, places(client, experiment, few), RECORD)) == few
    assert by_mlflow == {RECORD: MANY - 1}


def test_a_campaign_is_read_the_same_through_the_gateway(
    gateway: Gateway, runs: dict[str, LoggedRun], experiment: str, tmp_path: Path
) -> None:
    store = open_store(gateway.url, environ={}, cache_dir=tmp_path)

    assert {run.run_id: run.record for run in store.query(Query(experiment=experiment))} == {
        run_id: run.record for run_id, run in runs.items()
    }
