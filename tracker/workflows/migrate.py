"""doctor --migrate: an embedded database brought to the installed MLflow's schema, because somebody asked for it."""

from __future__ import annotations

import os
from pathlib import Path

from tracker.errors import StoreError, UsageError
from tracker.store import resolve_uri
from tracker.store.mlflow_open import configure_mlflow, quiet, sqlite_path
from tracker.store.mlflow_schema import upgrade_sqlite
from tracker.workflows.session import Session


def migrate_store(session: Session) -> Path:
    """Migrate the session's database and return the backup made before; clients of the older MLflow are locked out.

    Raises:
        UsageError: The store is a server.
        StoreError: There is no database, it is of no older MLflow, or the migration failed.
    """
    resolved = resolve_uri(session.tracking_uri, environ=session.environ, data_dir=session.data_folder)
    path = sqlite_path(resolved.uri)
    if path is None:
        raise UsageError(
            f"{resolved.shown} is a server, whose database is migrated where it runs",
            hint="Back that database up, stop the server, and run `mlflow db upgrade URI`",
        )
    if not resolved.exists:
        raise StoreError("there is no database to migrate", where=str(path), hint="It is created at its first use")
    configure_mlflow(os.environ)
    with quiet():
        return upgrade_sqlite(path)
