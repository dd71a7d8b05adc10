"""A database's MLflow schema: created by one process at a time, never migrated behind its owner's back.

Left to itself MLflow (3.17, 3.18) breaks when several processes meet an empty database, and migrates an older database
at the first read, which locks out every older client (measured; research page, sections 0 and 3).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout

from tracker.errors import StoreError

SchemaState = Literal["absent", "current", "older", "newer", "foreign"]
READ_LOCK_SECONDS = 10.0
CREATE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What a database holds, as far as the schema goes."""

    names: frozenset[str]
    """Names of its tables."""
    revision: str | None
    """Content of `alembic_version`, when there is one."""


def prepare_sqlite(path: Path, *, artifact_root: Path) -> None:
    """Create the database file with MLflow's schema if need be, else make sure that its schema is the client's.

    The schema is built in a file of its own and renamed when whole: a process killed meanwhile leaves no half database.

    Raises:
        StoreError: Locked, no permission, no database at all, or a schema of another MLflow version.
    """
    tables = _sqlite_tables(path)
    if _state(tables) == "absent":
        with _creation_lock(path.with_name(f"{path.name}.lock"), path):
            tables = _sqlite_tables(path)
            if _state(tables) == "absent":
                _create_sqlite(path, artifact_root)
                return
    _require_current(tables, path)


def schema_of(path: Path) -> tuple[SchemaState, str | None]:
    """Return how a database file's schema stands to the installed MLflow's, and its revision.

    Raises:
        StoreError: It cannot be read.
    """
    tables = _sqlite_tables(path)
    return _state(tables), None if tables is None else tables.revision


def upgrade_sqlite(path: Path) -> Path:
    """Migrate an embedded database to the installed MLflow's schema and return the backup made before.

    Only ever called because somebody asked for it by name.

    Raises:
        StoreError: It is of no older MLflow; or the backup or the migration failed: then the database is as before, or
            the backup holds it.
    """
    with _creation_lock(path.with_name(f"{path.name}.lock"), path):
        state, revision = schema_of(path)
        if state != "older":
            raise StoreError(
                f"there is nothing to migrate: the database is {state} (revision {revision or 'none'})",
                where=str(path),
                hint="`tracker doctor` says how it stands",
            )
        return _migrated(path)


def _migrated(path: Path) -> Path:
    import sqlalchemy
    from mlflow.store.db.utils import _upgrade_db

    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    backup = path.with_name(f"{path.name}.backup-{stamp}")
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    try:
        with contextlib.closing(sqlite3.connect(path)) as source, contextlib.closing(sqlite3.connect(backup)) as target:
            source.backup(target)
        _upgrade_db(engine)
    except (sqlite3.Error, sqlalchemy.exc.SQLAlchemyError, OSError) as error:
        raise StoreError(
            f"the database was not migrated: {error}", where=str(path), hint=f"Its content from before is in {backup}"
        ) from error
    finally:
        engine.dispose()
    return backup


def _sqlite_tables(path: Path) -> Tables | None:
    """Return the tables of a SQLite file without touching it; None when there is no file or an empty one."""
    if not path.is_file() or path.stat().st_size == 0:
        return None
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=READ_LOCK_SECONDS)) as connection:
            names = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            rows = (
                connection.execute("SELECT version_num FROM alembic_version").fetchall()
                if "alembic_version" in names
                else []
            )
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"the database cannot be read: {error}",
            where=str(path),
            hint="If it is locked, another process holds it: wait or end that process, then try again",
        ) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"the file is no SQLite database: {error}", where=str(path), hint="Name another file or move this one away"
        ) from error
    return Tables(names=frozenset(names), revision=str(rows[0][0]) if rows else None)


def _state(tables: Tables | None) -> SchemaState:
    """Return how the database's schema stands to that of the installed MLflow."""
    import mlflow.store.db_migrations
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    if tables is None or not tables.names:
        return "absent"
    if tables.revision is None:
        return "foreign"
    scripts = ScriptDirectory(str(next(iter(mlflow.store.db_migrations.__path__))))
    if tables.revision == scripts.get_current_head():
        return "current"
    try:
        scripts.get_revision(tables.revision)
    except CommandError:
        return "newer"
    return "older"


def _require_current(tables: Tables | None, path: Path) -> None:
    """Refuse every schema but the installed MLflow's own.

    Raises:
        StoreError: Says what to do.
    """
    where, state = str(path), _state(tables)
    if state == "older":
        raise StoreError(
            "the database was made by an older MLflow, and migrating it would lock that one out",
            where=where,
            hint=f"Run `tracker doctor --migrate --tracking-uri sqlite:///{path}`, which makes a backup first; or use "
            "the older MLflow",
        )
    if state == "newer":
        raise StoreError(
            "the database was made by a newer MLflow than the installed one",
            where=where,
            hint="Upgrade MLflow here: pip install -U 'mlflow>=3.17,<4'",
        )
    if state == "foreign":
        raise StoreError(
            "the database holds tables, but not MLflow's", where=where, hint="Name another database, or a new file"
        )


@contextlib.contextmanager
def _creation_lock(lock_file: Path, where: object) -> Iterator[None]:
    lock = FileLock(lock_file)
    try:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=CREATE_SECONDS)
    except Timeout as error:
        raise StoreError(
            "another process has been creating the database for two minutes", where=str(where), hint="Try again later"
        ) from error
    except OSError as error:
        raise StoreError(
            f"the database cannot be created: {error.strerror or error}",
            where=str(where),
            hint="Make the folder writable, or name another store with --tracking-uri",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _create_sqlite(path: Path, artifact_root: Path) -> None:
    import sqlalchemy

    for leftover in path.parent.glob(f"{path.name}.creating-*"):
        leftover.unlink(missing_ok=True)
    unfinished = path.with_name(f"{path.name}.creating-{os.getpid()}")
    try:
        _initialise(f"sqlite:///{unfinished}", artifact_root=artifact_root)
        unfinished.replace(path)
    except (OSError, sqlalchemy.exc.SQLAlchemyError) as error:
        unfinished.unlink(missing_ok=True)
        raise StoreError(
            f"the database cannot be created: {error}", where=str(path), hint="Free some space, or name another store"
        ) from error


def _initialise(uri: str, *, artifact_root: Path) -> None:
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = SqlAlchemyStore(uri, str(artifact_root))
    store.engine.dispose()
