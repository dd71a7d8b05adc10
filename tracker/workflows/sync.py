"""sync: send what waits in a spool, or all that another store has, to the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracker.errors import InputError, StoreError, UsageError
from tracker.store import Spool, SyncOutcome, open_store, pending_campaigns, resolve_uri, sync
from tracker.store.copying import CopyOutcome, copy_campaign, copy_store
from tracker.store.matching import no_campaign
from tracker.store.mlflow_campaign import MlflowCampaign
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
    if not spool.pending() and not pending_campaigns(spool):
        return ()
    return sync(session.store(), spool)


def copy_from(session: Session, uri: str, experiment: str | None = None) -> Iterator[CopyOutcome]:
    """Yield what becomes of each run, memo and campaign as all are copied from the store at `uri` to the session's.

    What is there already stays as it is. A copied memo names its runs by the ids they had; the store finds them by
    these.

    Args:
        session: Settings of the call, whose store is copied to.
        uri: Store to copy from.
        experiment: One campaign; all when None.

    Raises:
        UsageError: Both are the same store.
        StoreError: There is no store at `uri`, it cannot be used, or holds no such campaign.
    """
    folder = session.data_folder
    try:
        found = resolve_uri(uri, environ={}, data_dir=folder)
    except StoreError as error:
        raise StoreError(error.message, where="--from", hint=error.hint) from error
    if not found.exists:
        raise StoreError("there is no database to copy from", where=found.shown, hint="Check the path after --from")
    target = resolve_uri(session.tracking_uri, environ=session.environ, data_dir=folder)
    if target.uri == found.uri:
        raise UsageError(
            f"{found.shown} would be copied onto itself", hint="Name the store to copy to with --tracking-uri"
        )
    source = open_store(found.uri, environ={}, cache_dir=folder / "cache")
    into = open_store(target.uri, environ={}, cache_dir=folder / "cache")
    if experiment is None:
        return copy_store(source, into)
    if experiment not in (known := source.experiments()):
        raise no_campaign(experiment, known, where=source.uri)
    return copy_campaign(MlflowCampaign(source, experiment), into)
