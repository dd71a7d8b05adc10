"""Sending runs: to the disk first, then to the store, and off the disk only when the store has confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracker.domain.record import LoggedRun
from tracker.errors import RecordConflictError, StoreError, TrackerError
from tracker.store.base import RunStore
from tracker.store.failures import DamagedError, StoreDownError
from tracker.store.matching import check_experiment_name
from tracker.store.spool import Spool
from tracker.store.spooled_campaigns import pending_campaigns, send_campaign

SyncStatus = Literal["sent", "conflict", "damaged", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """Where a run is after logging it. With neither an id nor a file it is nowhere, and `error` says why."""

    run_id: str | None = None
    """The store's id; None when the store did not take it."""
    spooled_path: Path | None = None
    """Its file in the spool, when it waits there for `tracker sync`."""
    error: TrackerError | None = None
    """Why it waits; with a run id: what else went wrong (the run is stored)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncOutcome:
    """What became of one spooled run."""

    path: Path
    """Its file; gone when `status` is sent, in `bad/` when damaged."""
    status: SyncStatus
    """sent; conflict: stored before with other content, kept; damaged: set aside; failed: kept, try again."""
    name: str | None = None
    """The run's name, when it could be read."""
    run_id: str | None = None
    """The store's id, when sent."""
    error: TrackerError | None = None
    """Why it was not sent."""


def log_many(runs: Sequence[LoggedRun], store: RunStore, spool: Spool) -> tuple[Logged, ...]:
    """Store several runs and return where each is: all of them are on the disk before the store is asked.

    A run that cannot be stored does not stop the others; a store that does not answer is asked only once.

    Raises:
        InputError: A run cannot be stored under its experiment name; nothing was kept of any.
    """
    for run in runs:
        check_experiment_name(run.record.experiment)
    waiting = [_put(run, spool) for run in runs]
    logged: list[Logged] = []
    down: TrackerError | None = None
    for run, spooled in zip(runs, waiting, strict=True):
        if isinstance(spooled, StoreError):
            logged.append(_store_unspooled(run, store, spooled))
        elif down is not None:
            logged.append(Logged(spooled_path=spooled, error=down))
        else:
            outcome = _send(spooled, run, store=store, spool=spool)
            down = outcome.error if isinstance(outcome.error, StoreDownError) else None
            kept = None if outcome.status == "sent" else spooled
            logged.append(Logged(run_id=outcome.run_id, spooled_path=kept, error=outcome.error))
    return tuple(logged)


def log(run: LoggedRun, store: RunStore, spool: Spool) -> Logged:
    """Store a run and return where it is. A store that is down, slow or locked loses nothing.

    When the spool itself cannot be written (disk full) the store is tried all the same.

    Raises:
        InputError: The run cannot be stored under its experiment name; nothing was kept.
    """
    return log_many((run,), store, spool)[0]


def sync(store: RunStore, spool: Spool) -> tuple[SyncOutcome, ...]:
    """Send what waits in the spool and return one outcome a file. One bad file does not stop the others.

    Campaigns' facts go first, so that they are there when a run is read; they have an outcome only when they stay.
    Once the store does not answer, the rest is left for the next time: each would only wait for the same silence.

    Raises:
        StoreError: The spool cannot be read.
    """
    return tuple(_outcomes(store, spool))


def _outcomes(store: RunStore, spool: Spool) -> Iterator[SyncOutcome]:
    down: StoreDownError | None = None
    for path in pending_campaigns(spool):
        try:
            if down is None:
                send_campaign(path, store)
                continue
            error: StoreError = down
        except StoreError as failure:
            error = failure
            down = failure if isinstance(failure, StoreDownError) else None
        yield SyncOutcome(path=path, status="failed", error=error)
    for path in spool.pending():
        if down is not None:
            yield SyncOutcome(path=path, status="failed", error=down)
            continue
        try:
            run = spool.read(path)
        except DamagedError as error:
            yield SyncOutcome(path=spool.set_aside(path, str(error)), status="damaged", error=error)
            continue
        except StoreError as error:
            if path.exists():  # else another process has just sent it
                yield SyncOutcome(path=path, status="failed", error=error)
            continue
        outcome = _send(path, run, store=store, spool=spool)
        down = outcome.error if isinstance(outcome.error, StoreDownError) else None
        yield outcome


def _send(path: Path, run: LoggedRun, *, store: RunStore, spool: Spool) -> SyncOutcome:
    name = run.record.name
    run_id = None
    try:
        with spool.sending(path):
            run_id = store.save(run)
            spool.done(path)
    except RecordConflictError as error:
        return SyncOutcome(path=path, status="conflict", name=name, error=error)
    except TrackerError as error:
        status: SyncStatus = "failed" if run_id is None else "sent"
        return SyncOutcome(path=path, status=status, name=name, run_id=run_id, error=error)
    return SyncOutcome(path=path, status="sent", name=name, run_id=run_id)


def _put(run: LoggedRun, spool: Spool) -> Path | StoreError:
    try:
        return spool.put(run)
    except StoreError as error:
        return error


def _store_unspooled(run: LoggedRun, store: RunStore, spool_error: StoreError) -> Logged:
    try:
        return Logged(run_id=store.save(run), error=spool_error)
    except TrackerError as error:
        lost = StoreError(
            f"the run is stored nowhere: {spool_error.message}; and the store refused it: {error.message}",
            where=error.where,
            hint=spool_error.hint,
        )
        lost.__cause__ = error
        return Logged(error=lost)
