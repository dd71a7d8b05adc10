"""sync: send what waits in a spool to the store."""

from __future__ import annotations

from pathlib import Path

from tracker.errors import InputError
from tracker.store import Spool, SyncOutcome, sync
from tracker.workflows.session import Session


def sync_spool(session: Session, folder: Path | None = None) -> tuple[SyncOutcome, ...]:
    """Send every waiting run and return what became of each.

    Raises:
        InputError: The folder named does not exist.
        StoreError: The store is unreachable.
    """
    if folder is not None and not folder.is_dir():
        raise InputError("there is no such folder", where=str(folder), hint="Name the spool folder that was copied.")
    spool = Spool(folder) if folder is not None else session.spool
    if not spool.pending():
        return ()
    return sync(session.store(), spool)
