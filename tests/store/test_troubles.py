"""Faults around the process: a network that breaks or is slow, a killed server, a full disk, an old database."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from tests.fixtures_mlflow import free_port, start_server, stop_server
from tests.store import samples
from tests.store.conftest import MakeRun
from tests.store.figures import assert_nothing_lost, shown_record_ids
from tests.store.gateway import Gateway, running
from tests.store.test_open import old_database
from tracker.domain.record import LoggedRun
from tracker.store.base import Query
from tracker.store.mlflow_open import open_store, sqlite_uri
from tracker.store.mlflow_schema import upgrade_sqlite
from tracker.store.mlflow_store import MlflowStore
from tracker.store.spool import Spool
from tracker.store.sync import log, sync

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

__all__ = ["old_database"]
MOST_REQUESTS = 80


class Nth:
    """Strikes at the n-th request, and at some that follow."""

    def __init__(self, number: int, *, times: int) -> None:
        self.number, self.times, self.seen, self.struck = number, times, 0, 0

    def __call__(self) -> bool:
        here = self.number <= self.seen < self.number + self.times
        self.seen += 1
        self.struck += here
        return here


@pytest.fixture(params=["server", "postgres"])
def upstream(request: pytest.FixtureRequest) -> MlflowStore:
    found: MlflowStore = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture
def gateway(upstream: MlflowStore) -> Iterator[Gateway]:
    with running(Gateway(upstream=upstream.uri)) as made:
        yield made


def send_the_rest(store: MlflowStore, spool: Spool) -> int:
    """Sync what waits, and return how many runs that were."""
    outcomes = sync(store, spool)
    assert [outcome for outcome in outcomes if outcome.status != "sent"] == []
    return len(outcomes)


def assert_whole(store: MlflowStore, runs: dict[str, LoggedRun], experiment: str) -> None:
    stored = {run.record.record_id: run for run in store.query(Query(experiment=experiment))}
    assert {key: run.record for key, run in stored.items()} == {key: run.record for key, run in runs.items()}
    assert all(store.requests(run.run_id) == samples.rows() for run in stored.values())


@pytest.mark.parametrize(("moment", "times"), [("before", 1), ("after", 1), ("after", 1000)])
def test_a_connection_that_breaks_at_any_request_loses_and_doubles_nothing(
    upstream: MlflowStore, gateway: Gateway, moment: Literal["before", "after"], times: int, make_run: MakeRun,
    spool: Spool, experiment: str,
) -> None:  # fmt: skip
    upstream.save(make_run("first"))
    runs, faults, waited = {make_run("first").record.record_id: make_run("first")}, 0, 0
    # Given up for good a run takes seconds of waiting; every third request will do.
    for number in range(0, MOST_REQUESTS, 1 if times == 1 else 3):
        strike, run = Nth(number, times=times), make_run(f"broken at {number}")
        gateway.breaks = lambda _method, _path, strike=strike: moment if strike() else None  # type: ignore[misc]
        logged = log(run, open_store(gateway.url, environ={}), spool)
        runs[run.record.record_id] = run
        faults += strike.struck
        waited += logged.run_id is None
        if strike.struck == 0:
            break
    else:
        pytest.fail("there were more requests than tried")
    gateway.breaks = lambda _method, _path: None

    assert send_the_rest(upstream, spool) == waited

    what = f"connection broken {moment} a request, {'once' if times == 1 else 'for good'}; {waited} runs waited"
    assert_nothing_lost(what, faults=faults, expected=runs, stored=shown_record_ids(upstream, experiment))
    assert_whole(upstream, runs, experiment)


def test_answers_that_come_too_late_lose_and_double_nothing(
    upstream: MlflowStore, gateway: Gateway, make_run: MakeRun, spool: Spool, experiment: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    upstream.save(make_run("first"))
    runs, faults, waited = {make_run("first").record.record_id: make_run("first")}, 0, 0
    for number in range(MOST_REQUESTS):
        strike, run = Nth(number, times=1), make_run(f"late at {number}")
        gateway.late_s = lambda _method, _path, strike=strike: 2.0 if strike() else 0.0  # type: ignore[misc]
        logged = log(run, open_store(gateway.url, environ={}), spool)
        runs[run.record.record_id] = run
        faults += strike.struck
        waited += logged.run_id is None
        if strike.struck == 0:
            break
    else:
        pytest.fail("there were more requests than tried")

    assert send_the_rest(upstream, spool) == waited

    what = f"an answer later than the time-out; {waited} runs waited"
    assert_nothing_lost(what, faults=faults, expected=runs, stored=shown_record_ids(upstream, experiment))
    assert_whole(upstream, runs, experiment)


def test_a_server_killed_while_it_is_written_to_loses_nothing(
    tmp_path: Path, empty_database: Path, make_run: MakeRun, spool: Spool, experiment: str
) -> None:
    shutil.copy(empty_database, tmp_path / "mlflow.db")
    port = free_port()
    where = (sqlite_uri(tmp_path / "mlflow.db"), tmp_path / "artifacts", tmp_path / "log")
    process, uri = start_server(*where, port=port)
    store = open_store(uri, environ={}, cache_dir=tmp_path / "cache")
    runs: dict[str, LoggedRun] = {}
    faults = waited = 0
    try:
        for round_ in range(3):
            killer = threading.Timer(1.0 + 0.37 * round_, os.killpg, (process.pid, signal.SIGKILL))
            killer.start()
            for index in range(400):
                run = make_run(f"{round_} {index}")
                runs[run.record.record_id] = run
                if log(run, store, spool).run_id is None:
                    waited += 1
                    break
            killer.join()
            faults += 1
            process.wait()
            process, _ = start_server(*where, port=port)
        sent = send_the_rest(store, spool)
        assert sent == waited == faults
        shown = shown_record_ids(store, experiment)
        assert_nothing_lost(f"server killed; {waited} runs waited", faults=faults, expected=runs, stored=shown)
        assert_whole(store, runs, experiment)
    finally:
        stop_server(process)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MB in memory, which only root may mount."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("spool_too", [False, True], ids=["store", "store and spool"])
def test_a_disk_that_fills_up_loses_nothing_that_was_not_said_to_be_lost(
    small_disk: Path, tmp_path: Path, empty_database: Path, spool_too: bool, make_run: MakeRun, experiment: str
) -> None:
    shutil.copy(empty_database, small_disk / "mlflow.db")
    spool = Spool((small_disk if spool_too else tmp_path) / "spool")
    store = open_store(sqlite_uri(small_disk / "mlflow.db"), environ={}, cache_dir=tmp_path / "cache")
    runs: dict[str, LoggedRun] = {}
    nowhere: list[LoggedRun] = []
    faults = 0
    for index in range(400):
        run = make_run(f"run {index}")
        runs[run.record.record_id] = run
        logged = log(run, store, spool)
        if logged.run_id is None:
            assert logged.error is not None
            faults += 1
            if logged.spooled_path is None:
                assert "stored nowhere" in str(logged.error)
                nowhere.append(run)
            if len(nowhere) == 3 or (not spool_too and faults == 10):
                break
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)

    send_the_rest(store, spool)
    for run in nowhere:  # who was told that a run is nowhere logs it again
        assert log(run, store, spool).error is None

    what = f"disk full; of {faults} runs {len(nowhere)} were said to be nowhere and logged again"
    assert_nothing_lost(what, faults=faults, expected=runs, stored=shown_record_ids(store, experiment))
    assert_whole(store, runs, experiment)
    assert len(nowhere) == (3 if spool_too else 0)


def test_runs_logged_into_a_database_of_an_older_mlflow_wait_until_it_is_migrated(
    old_database: Path, make_run: MakeRun, spool: Spool, experiment: str, tmp_path: Path
) -> None:
    before = old_database.read_bytes()
    runs = {run.record.record_id: run for run in (make_run(f"run {index}") for index in range(5))}
    for run in runs.values():
        logged = log(run, open_store(sqlite_uri(old_database), environ={}), spool)
        assert logged.spooled_path is not None
        assert "older MLflow" in str(logged.error)
    assert old_database.read_bytes() == before
    upgrade_sqlite(old_database)

    store = open_store(sqlite_uri(old_database), environ={}, cache_dir=tmp_path / "cache")
    assert send_the_rest(store, spool) == len(runs)

    shown = shown_record_ids(store, experiment)
    assert_nothing_lost("newer client on an older database", faults=len(runs), expected=runs, stored=shown)
    assert_whole(store, runs, experiment)


def test_a_store_that_comes_and_goes_is_served_again_without_anybodys_help(
    upstream: MlflowStore, gateway: Gateway, make_run: MakeRun, spool: Spool, experiment: str
) -> None:
    upstream.save(make_run("first"))
    runs = {make_run("first").record.record_id: make_run("first")}
    store, faults = open_store(gateway.url, environ={}), 0
    for index in range(12):
        is_down = index % 4 == 3
        gateway.refuses = lambda _method, _path, is_down=is_down: 503 if is_down else None  # type: ignore[misc]
        run = make_run(f"run {index}")
        runs[run.record.record_id] = run
        started = time.monotonic()
        logged = log(run, store, spool)
        assert (logged.run_id is None) == is_down, logged
        assert time.monotonic() - started < 60
        faults += is_down
    gateway.refuses = lambda _method, _path: None

    assert send_the_rest(store, spool) == faults

    shown = shown_record_ids(upstream, experiment)
    assert_nothing_lost("store answers 503", faults=faults, expected=runs, stored=shown)
