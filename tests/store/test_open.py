"""Which store is meant, and databases that must not be touched."""

from __future__ import annotations

import contextlib
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tracker.domain.record import LoggedRun
from tracker.errors import StoreError
from tracker.store import mlflow_schema
from tracker.store.failures import StoreDownError
from tracker.store.mlflow_open import connect, open_store, quiet, resolve_uri, sqlite_uri
from tracker.store.mlflow_schema import upgrade_sqlite
from tracker.store.spool import Spool
from tracker.store.sync import log

MakeRun = Callable[..., LoggedRun]
OLD_REVISION = "bda7b8c39065"


def test_the_explicit_uri_wins_then_ours_then_mlflows_then_the_embedded_store(tmp_path: Path) -> None:
    environ = {"TRACKER_TRACKING_URI": "http://tracker:5000", "MLFLOW_TRACKING_URI": "http://mlflow:5000/"}

    def chosen(uri: str | None, *names: str) -> tuple[str, str, bool]:
        given = {name: environ[name] for name in names}
        found = resolve_uri(uri, environ=given, data_dir=tmp_path)
        return found.uri, found.source, found.is_default

    assert chosen("https://x", *environ) == ("https://x", "--tracking-uri", False)
    assert chosen(None, *environ) == ("http://tracker:5000", "TRACKER_TRACKING_URI", False)
    assert chosen("", "MLFLOW_TRACKING_URI") == ("http://mlflow:5000", "MLFLOW_TRACKING_URI", False)
    assert chosen(None) == (f"sqlite:///{tmp_path}/mlflow.db", "default", True)


def test_without_a_folder_the_embedded_store_is_in_the_users_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    found = resolve_uri(environ={})

    assert found.uri == f"sqlite:///{tmp_path}/tracker/mlflow.db"
    assert found.exists is False


def test_a_relative_database_is_made_absolute_where_it_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert resolve_uri("sqlite:///my.db", environ={}).uri == f"sqlite:///{tmp_path}/my.db"


@pytest.mark.parametrize(
    "uri",
    ["./mlruns", "file:///tmp/mlruns", "mlflow.db", "ftp://x", "databricks", "http://", "https:///x", "sqlite:////",
     "sqlite:///:memory:"],
)  # fmt: skip
def test_what_cannot_hold_runs_is_refused_with_what_can(uri: str) -> None:
    with pytest.raises(StoreError, match=r"no store that tracker can use. Use http://") as caught:
        resolve_uri(uri, environ={})

    assert caught.value.where == "--tracking-uri"


@pytest.mark.parametrize("uri", ["http://maria:PLA/NTED@host", "http://[::1", "http://host:99999"])
def test_an_address_that_cannot_be_read_is_refused_without_repeating_it(uri: str) -> None:
    with pytest.raises(StoreError, match=r"cannot be read. Use http://") as caught:
        resolve_uri(None, environ={"MLFLOW_TRACKING_URI": uri})

    assert caught.value.where == "MLFLOW_TRACKING_URI"
    assert "PLA" not in str(caught.value)


def test_a_folder_that_cannot_be_looked_into_is_told_at_the_first_use(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 100)  # stat() fails for it, as in a folder closed to this user

    assert not resolve_uri(environ={}, data_dir=folder).exists
    assert not resolve_uri(f"sqlite:///{folder}/mlflow.db", environ={}).exists
    with pytest.raises(StoreError, match="could not be opened: File name too long"):
        open_store(environ={}, data_dir=folder).experiments()


@pytest.mark.parametrize(
    ("name", "value"),
    [("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "often"), ("MLFLOW_TRACKING_INSECURE_TLS", "perhaps")],
)
def test_a_setting_that_mlflow_cannot_read_is_named(
    name: str, value: str, sqlite_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(StoreError, match=f"cannot read the value.*Unset {name}") as caught:
        open_store(environ={}, data_dir=sqlite_folder).experiments()

    assert caught.value.where == name


def test_a_machine_without_mlflow_keeps_a_run_and_says_what_is_missing(
    sqlite_folder: Path, make_run: MakeRun, spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)

    logged = log(make_run(), open_store(environ={}, data_dir=sqlite_folder), spool)

    assert logged.spooled_path is not None
    assert "pip install 'mlflow" in str(logged.error)


@pytest.mark.parametrize("scheme", ["postgresql", "postgresql+psycopg", "mysql", "mssql+pyodbc"])
def test_a_database_without_a_place_for_artifacts_is_refused_with_the_command_that_gives_it_one(scheme: str) -> None:
    with pytest.raises(
        StoreError, match=r"no place for artifacts. Start `mlflow server --backend-store-uri`"
    ) as caught:
        resolve_uri(f"{scheme}://maria:secret@db:5432/mlflow", environ={})

    assert "secret" not in str(caught.value)


def test_credentials_are_used_and_never_shown() -> None:
    uri = "https://maria:secret@host:5000/path"

    assert resolve_uri(uri, environ={}).shown == "https://host:5000/path"
    assert open_store(uri, environ={}).uri == "https://host:5000/path"


def test_opening_a_dead_server_fails_only_when_it_is_used_and_within_seconds(make_run: MakeRun) -> None:
    store = open_store("http://u:secret@127.0.0.1:9", environ={})
    started = time.monotonic()

    with pytest.raises(StoreDownError, match="does not answer") as caught:
        store.save(make_run())

    assert time.monotonic() - started < 10
    assert "secret" not in str(caught.value)
    assert caught.value.where == "http://127.0.0.1:9"
    assert caught.value.hint is not None


@pytest.fixture
def silent_server() -> Iterator[str]:
    """A server that takes connections and never says a word."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_takes_the_call_and_says_nothing_is_given_up(
    silent_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracker.store.mlflow_open.FIRST_ANSWER_SECONDS", 0.5)

    with pytest.raises(StoreDownError, match="timed out"):
        open_store(silent_server, environ={}).experiments()


@pytest.mark.slow
def test_a_server_that_dies_between_two_calls_is_told_within_seconds(
    tmp_path: Path, empty_database: Path, make_run: MakeRun
) -> None:
    from tests.fixtures_mlflow import start_server, stop_server

    shutil.copy(empty_database, tmp_path / "mlflow.db")
    process, uri = start_server(sqlite_uri(tmp_path / "mlflow.db"), tmp_path / "artifacts", tmp_path / "log")
    try:
        store = open_store(uri, environ={}, cache_dir=tmp_path / "cache")
        store.save(make_run())
    finally:
        stop_server(process)
    started = time.monotonic()

    with pytest.raises(StoreDownError, match=r"the run 'second' could not be stored: the store does not answer"):
        store.save(make_run("second"))

    assert time.monotonic() - started < 10


@pytest.fixture
def moved_server() -> Iterator[str]:
    """A web server that sends everybody to another address, as one does that wants https."""

    class Moved(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here = f"http://127.0.0.1:{self.server.server_port}/new"  # type: ignore[attr-defined]
            self.send_response(200 if self.path.startswith("/new") else 301)
            self.send_header("Location", f"{here}{self.path}")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Moved)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_address_that_redirects_is_answered_with_the_one_to_name(moved_server: str) -> None:
    with pytest.raises(StoreError, match=f"redirects to {moved_server}/new. Name {moved_server}/new"):
        connect(moved_server)


def test_something_else_than_mlflow_at_the_address_is_told(tmp_path: Path) -> None:
    import http.server

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        with pytest.raises(StoreError, match=r"the campaigns could not be read.*(404|501)"):
            open_store(f"http://127.0.0.1:{server.server_port}", environ={}).experiments()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_new_embedded_store_is_made_whole_under_a_folder_with_a_nasty_name(tmp_path: Path, make_run: MakeRun) -> None:
    folder = tmp_path / "it's 100 % ü & more"

    store = open_store(environ={}, data_dir=folder, cache_dir=tmp_path / "cache")
    run_id = store.save(make_run())

    assert store.load(run_id).record == make_run().record
    assert not list(folder.glob("*creating*"))


def revision_of(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


@pytest.fixture
def old_database(tmp_path: Path) -> Path:
    """A database as an older MLflow made it, by MLflow's own migrations up to an older revision."""
    import sqlalchemy
    from alembic import command
    from mlflow.store.db.utils import _get_alembic_config
    from mlflow.store.tracking.dbmodels.initial_models import Base as InitialBase

    path = tmp_path / "old" / "mlflow.db"
    path.parent.mkdir()
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    # Whoever uses SQLAlchemy first is told what MLflow's tables do that it no longer likes.
    with quiet():
        InitialBase.metadata.create_all(engine)
        config = _get_alembic_config(f"sqlite:///{path}")
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, OLD_REVISION)
    engine.dispose()
    return path


def test_an_older_database_is_refused_with_advice_and_not_touched(old_database: Path) -> None:
    before = old_database.read_bytes()

    with pytest.raises(
        StoreError, match=r"made by an older MLflow.*doctor --migrate --tracking-uri sqlite:///"
    ) as caught:
        open_store(sqlite_uri(old_database), environ={}).experiments()

    assert caught.value.where == str(old_database)
    assert old_database.read_bytes() == before


def test_an_older_database_is_migrated_when_asked_by_name_and_a_backup_is_kept(
    old_database: Path, make_run: MakeRun
) -> None:
    backup = upgrade_sqlite(old_database)

    assert revision_of(backup) == OLD_REVISION
    with pytest.raises(StoreError, match="nothing to migrate: the database is current"):
        upgrade_sqlite(old_database)
    store = open_store(sqlite_uri(old_database), environ={})
    assert store.load(store.save(make_run())).record == make_run().record


def test_a_newer_database_is_refused_with_advice_and_not_touched(sqlite_folder: Path) -> None:
    path = sqlite_folder / "mlflow.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = 'ffffffffffff'")
    before = path.read_bytes()

    with pytest.raises(StoreError, match=r"made by a newer MLflow.*pip install -U"):
        open_store(environ={}, data_dir=sqlite_folder).experiments()

    assert path.read_bytes() == before


def test_somebody_elses_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    before = path.read_bytes()

    with pytest.raises(StoreError, match="holds tables, but not MLflow's"):
        open_store(sqlite_uri(path), environ={}).experiments()

    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("not a database, " * 100)

    with pytest.raises(StoreError, match="no SQLite database"):
        open_store(sqlite_uri(path), environ={}).experiments()

    assert path.read_text() == "not a database, " * 100


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="cannot be created"):
        open_store(environ={}, data_dir=tmp_path / "file" / "data").experiments()


def test_a_locked_database_is_told_at_the_first_use(
    sqlite_folder: Path, monkeypatch: pytest.MonkeyPatch, make_run: MakeRun
) -> None:
    monkeypatch.setattr(mlflow_schema, "READ_LOCK_SECONDS", 0.2)
    with contextlib.closing(sqlite3.connect(sqlite_folder / "mlflow.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"database is locked.*another process holds it"):
            open_store(environ={}, data_dir=sqlite_folder).save(make_run())


@pytest.mark.slow
def test_a_database_locked_for_good_is_told_after_mlflows_own_patience(
    sqlite_store: object, sqlite_folder: Path, make_run: MakeRun
) -> None:
    store = open_store(environ={}, data_dir=sqlite_folder)
    store.save(make_run())
    with contextlib.closing(sqlite3.connect(sqlite_folder / "mlflow.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with pytest.raises(StoreError, match="the database is locked by another process"):
            store.save(make_run("second"))
        waited = time.monotonic() - started

    assert waited < 60
    assert store.save(make_run("second"))


@pytest.mark.slow
def test_logging_prints_nothing_of_mlflows(tmp_path: Path, mlflow_server: str) -> None:
    script = (
        "import sys; from pathlib import Path; from tests.store import samples\n"
        "from tracker.store.mlflow_open import open_store\n"
        "for uri in (None, sys.argv[2]):\n"
        "    store = open_store(uri, environ={}, data_dir=Path(sys.argv[1]), cache_dir=Path(sys.argv[1]) / 'cache')\n"
        "    run_id = store.save(samples.run('a run that is quiet'))\n"
        "    store.load(run_id), store.requests(run_id)\n"
        "import os; print(os.environ['MLFLOW_DISABLE_TELEMETRY'])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), mlflow_server], capture_output=True, text=True, check=True
    )

    assert (done.stdout, done.stderr) == ("true\n", "")


def test_the_store_is_imported_without_mlflow_pandas_or_pyarrow() -> None:
    script = (
        "import sys, tracker.store; print([n for n in ('mlflow', 'pandas', 'pyarrow', 'httpx') if n in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_the_users_own_settings_of_mlflow_stay() -> None:
    from tracker.store.mlflow_open import configure_mlflow

    environ = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "7", "MLFLOW_TRUNCATE_LONG_VALUES": "true"}

    configure_mlflow(environ)

    assert environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "7"
    assert environ["MLFLOW_TRUNCATE_LONG_VALUES"] == "false"
    assert environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_a_ready_database_is_opened_without_a_lock_file(sqlite_folder: Path) -> None:
    connect(sqlite_uri(sqlite_folder / "mlflow.db"))

    assert [path.name for path in sqlite_folder.iterdir()] == ["mlflow.db"]
