"""sync: send what waits in a spool, or all that another store has, to the store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracker.errors import InputError, StoreError, UsageError
from tracker.store import Spool, SyncOutcome, open_store, resolve_uri, sync
from tracker.store.copying import CopyOutcome, copy_store
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """A copy of one store into another, under way."""

    outcomes: Iterator[CopyOutcome]
    """What becomes of each run and of each campaign's facts, as it happens."""
    memos: int
    """Memos in the source, which are not copied: they name its runs by their ids there."""


def copy_from(session: Session, uri: str) -> Copying:
    """Copy all campaigns of the store at `uri` to the session's; what is there already stays as it is.

    Raises:
        UsageError: Both are the same store.
        StoreError: There is no store at `uri`, or it cannot be used.
    """
    folder = session.data_folder
    found = resolve_uri(uri, environ={}, data_dir=folder)
    if not found.exists:
        raise StoreError("there is no database to copy from", where=found.shown, hint="Check the path after --from")
    target = resolve_uri(session.tracking_uri, environ=session.environ, data_dir=folder)
    if target.uri == found.uri:
        raise UsageError(
            f"{found.shown} would be copied onto itself", hint="Name the store to copy to with --tracking-uri"
        )
    source = open_store(found.uri, environ={}, cache_dir=folder / "cache")
    memos = sum(len(source.reports(experiment)) for experiment in source.experiments())
    into = open_store(target.uri, environ={}, cache_dir=folder / "cache")
    return Copying(outcomes=copy_store(source, into), memos=memos)
