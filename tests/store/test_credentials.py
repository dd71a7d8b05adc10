"""A server that wants to know who calls: token, user and password, wrong ones, none; nothing of it is kept or shown."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.conftest import MakeRun
from tests.store.gateway import Gateway, running
from tracker.errors import StoreError
from tracker.store.base import Query
from tracker.store.mlflow_open import open_store
from tracker.store.spool import Spool
from tracker.store.sync import log, sync

TOKEN = "PLANTED-token-5e1f"
PASSWORD = "PLANTED-pass-77c0"
BASIC = f"Basic {base64.b64encode(f'maria:{PASSWORD}'.encode()).decode()}"
NAMES = ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever runs the tests may have credentials of their own, set or in a file."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def gateway(mlflow_server: str) -> Iterator[Gateway]:
    with running(Gateway(upstream=mlflow_server, authorization=f"Bearer {TOKEN}")) as found:
        yield found


def assert_stored_without(
    secrets: tuple[str, ...], gateway: Gateway, make_run: MakeRun, tmp_path: Path, uri: str
) -> None:
    """Log, read back everything, and look for the secrets in all that is kept on either side."""
    from mlflow import MlflowClient

    run = make_run()
    store = open_store(uri, environ={}, cache_dir=tmp_path / "cache")
    logged = log(run, store, Spool(tmp_path / "spool"))

    assert logged.error is None
    stored = store.load(str(logged.run_id))
    assert stored.record == run.record
    assert store.requests(stored.run_id) == run.requests
    client = MlflowClient(tracking_uri=gateway.upstream)
    shown = client.get_run(stored.run_id)
    kept = f"{stored} {store.uri} {shown.to_dictionary()} {client.get_experiment(shown.info.experiment_id).tags}"
    files = [path for path in Path(client.download_artifacts(stored.run_id, "")).rglob("*") if path.is_file()]
    files += [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    for secret in secrets:
        assert secret not in kept
        assert not [path for path in files if secret.encode() in path.read_bytes()]


def test_a_token_opens_the_store_and_is_kept_nowhere(
    gateway: Gateway, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)

    assert_stored_without((TOKEN,), gateway, make_run, tmp_path, gateway.url)


def test_user_and_password_open_the_store_and_are_kept_nowhere(
    gateway: Gateway, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.authorization = BASIC
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "maria")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", PASSWORD)

    assert_stored_without((PASSWORD, BASIC), gateway, make_run, tmp_path, gateway.url)


@pytest.mark.slow
def test_user_and_password_in_the_address_open_the_store_and_are_kept_nowhere(
    gateway: Gateway, make_run: MakeRun, tmp_path: Path
) -> None:
    gateway.authorization = BASIC

    uri = gateway.url.replace("://", f"://maria:{PASSWORD}@")
    assert_stored_without((PASSWORD, BASIC), gateway, make_run, tmp_path, uri)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"MLFLOW_TRACKING_TOKEN": "PLANTED-wrong"},
        pytest.param(
            {"MLFLOW_TRACKING_USERNAME": "maria", "MLFLOW_TRACKING_PASSWORD": "PLANTED-wrong"}, marks=pytest.mark.slow
        ),
    ],
    ids=["none", "wrong token", "wrong password"],
)
def test_refused_credentials_are_told_without_showing_them_and_lose_nothing(
    given: dict[str, str], gateway: Gateway, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    experiment: str,
) -> None:  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    store, spool = open_store(gateway.url, environ={}, cache_dir=tmp_path / "cache"), Spool(tmp_path / "spool")

    logged = log(make_run(), store, spool)

    assert logged.run_id is None
    error = logged.error
    assert isinstance(error, StoreError)
    assert error.message.endswith("the server refuses the credentials (401)")
    assert "MLFLOW_TRACKING_TOKEN" in str(error)
    assert "PLANTED" not in str(error)
    assert "<h1>" not in str(error)
    assert len(spool.pending()) == 1
    for name in given:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    assert [outcome.status for outcome in sync(store, spool)] == ["sent"]
    assert len(store.query(Query(experiment=experiment))) == 1


def test_wrong_credentials_in_the_address_are_told_without_showing_them(gateway: Gateway, make_run: MakeRun) -> None:
    store = open_store(gateway.url.replace("://", "://maria:PLANTED-wrong@"), environ={})

    with pytest.raises(StoreError, match="refuses the credentials") as caught:
        store.save(make_run())

    assert "PLANTED" not in str(caught.value)


def test_credentials_that_may_read_but_not_write_are_told(
    gateway: Gateway, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    gateway.refuses = lambda _method, path: 403 if "create" in path else None

    with pytest.raises(StoreError, match=r"could not be stored.*403.*may do this") as caught:
        open_store(gateway.url, environ={}).save(make_run())

    assert "PLANTED" not in str(caught.value)


def test_artifacts_refused_by_the_gateway_leave_no_run_and_show_no_credentials(
    gateway: Gateway, make_run: MakeRun, experiment: str
) -> None:
    gateway.authorization = BASIC
    gateway.refuses = lambda method, path: 403 if method == "PUT" and "artifacts" in path else None
    store = open_store(gateway.url.replace("://", f"://maria:{PASSWORD}@"), environ={})

    with pytest.raises(StoreError, match=r"could not be stored.*403") as caught:
        store.save(make_run())

    assert "PLANTED" not in str(caught.value)
    assert store.query(Query(experiment=experiment)) == ()
    gateway.refuses = lambda _method, _path: None
    assert store.load(store.save(make_run())).record == make_run().record
