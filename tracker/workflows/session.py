"""The store and the spool of one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tracker.errors import UsageError
from tracker.store import RunStore, Spool, open_store, resolve_uri

if TYPE_CHECKING:
    from tracker.store.mlflow_store import MlflowStore

SPOOL_VARIABLE = "TRACKER_SPOOL"
DATA_VARIABLE = "TRACKER_DATA_DIR"


def data_dir(environ: Mapping[str, str]) -> Path:
    """Return the user's data folder: TRACKER_DATA_DIR, else the system's place for it."""
    import platformdirs

    named = environ.get(DATA_VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("tracker", appauthor=False)


@dataclass(slots=True)
class Session:
    """Settings of one call, with the store opened when first needed."""

    now: datetime
    """The moment of the call, UTC."""
    environ: Mapping[str, str]
    """The process environment."""
    cwd: Path
    """Where the call was made; only provenance looks at it."""
    tracking_uri: str | None = None
    """Explicit store."""
    folder: Path | None = None
    """Data folder; the user's when None."""
    sleep: Callable[[float], None] = time.sleep
    """Waits that many seconds between tries."""
    _store: RunStore | None = field(default=None, repr=False)

    @property
    def data_folder(self) -> Path:
        """Folder of the embedded store, the spool and the cache."""
        return self.folder or data_dir(self.environ)

    @property
    def spool(self) -> Spool:
        """Where records wait until the store has them."""
        named = self.environ.get(SPOOL_VARIABLE)
        return Spool(Path(named) if named else self.data_folder / "spool")

    def store(self) -> RunStore:
        """Return the store, opened once.

        Raises:
            StoreError: It is unreachable or unsuitable.
        """
        if self._store is None:
            folder = self.data_folder
            self._store = open_store(
                self.tracking_uri, environ=self.environ, data_dir=folder, cache_dir=folder / "cache"
            )
        return self._store

    def mlflow_store(self) -> MlflowStore:
        """Return the same store for what only MLflow can do: campaigns as a whole.

        Raises:
            UsageError: The session keeps its runs elsewhere (a dry run).
        """
        from tracker.store.mlflow_store import MlflowStore

        store = self.store()
        if not isinstance(store, MlflowStore):
            raise UsageError(f"{store.uri} keeps no campaigns", hint="Name an MLflow store with --tracking-uri")
        return store

    def describe_store(self) -> str:
        """Return the store's address without credentials, and who chose it."""
        resolved = resolve_uri(self.tracking_uri, environ=self.environ, data_dir=self.data_folder)
        return f"{resolved.shown} ({resolved.source})"
