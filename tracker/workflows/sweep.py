"""sweep: check, start, measure and log a set of servers, one measured at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from tracker.domain.record import RunRecord
from tracker.environment.hardware import hardware
from tracker.errors import InputError, StoreError, UsageError
from tracker.store import Spool, log_many, pending_campaigns, put_campaign, send_campaign
from tracker.workflows.bench_measure import OnProgress
from tracker.workflows.session import Session
from tracker.workflows.sweep_fleet import Tell
from tracker.workflows.sweep_log import SweepLog
from tracker.workflows.sweep_plan import SweepPlan
from tracker.workflows.sweep_run import SweepOptions, SweepRun
from tracker.workflows.sweep_state import load_state

__all__ = ["SweepOptions", "SweepResult", "log_results", "run_sweep"]

LOCK_FILE = ".sweep.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """What one call of a sweep brought."""

    records: tuple[RunRecord, ...]
    """Records of this call, in order."""
    spooled: tuple[Path, ...]
    """Their files."""
    left: tuple[str, ...]
    """Servers not begun, for the next call."""
    before: int
    """Servers that earlier calls had finished."""
    failed_before: tuple[str, ...] = ()
    """Those among them that failed or were refused."""
    interrupted: bool
    """Whether Ctrl-C ended it."""


def run_sweep(
    plan: SweepPlan, options: SweepOptions, session: Session, *, tell: Tell, on_progress: OnProgress
) -> SweepResult:
    """Run the sweep, or what earlier calls left of it, and return what it brought.

    Ctrl-C ends it: every server is ended and whole measurements are kept.

    Raises:
        UsageError: Another call is at work in the same folder, or a code that is to be allowed is none.
        InputError: A folder cannot be written, or a checkpoint's training facts cannot be read.
        StoreError: The spool cannot be written.
        ServerError: The baseline does not come up or goes away, or a command cannot be run at all.
    """
    with _alone(options.out):
        return _run(plan, options, session, tell, on_progress)


@contextlib.contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep a second call out of the folder: servers measured at once slow each other down, and no record would tell."""
    lock = FileLock(out / LOCK_FILE)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise UsageError(
            "another tracker sweep is at work here", where=str(out), hint="Wait for its end, or name another --out."
        ) from error
    except NotImplementedError:
        pass  # a file system without locks
    except OSError as error:
        raise InputError(
            f"cannot write here: {error.strerror}", where=str(out), hint="Name another folder with --out."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _run(plan: SweepPlan, options: SweepOptions, session: Session, tell: Tell, on_progress: OnProgress) -> SweepResult:
    state = load_state(options.out, retry_failed=options.retry_failed)
    before, failed = len(state.done), tuple(item.name for item in state.done.values() if item.status != "measured")
    put_campaign(plan.campaign.campaign, Spool(options.spool))
    log = SweepLog(
        plan=plan,
        session=session,
        out=options.out,
        spool=Spool(options.spool),
        state=state,
        tell=tell,
        hardware=hardware(session.environ) if plan.table.launcher == "local" else None,
    )
    sweep = SweepRun(plan, options, state, log, on_progress)
    interrupted = False
    try:
        sweep.run()
    except KeyboardInterrupt:
        interrupted = True
        tell("stopped; servers are ended, what was measured is kept")
    return SweepResult(
        records=tuple(log.records),
        spooled=tuple(log.spooled),
        left=tuple(arm.name for arm in sweep.left()),
        before=before,
        failed_before=failed,
        interrupted=interrupted,
    )


def log_results(plan: SweepPlan, result: SweepResult, session: Session, *, tell: Tell) -> list[str]:
    """Send the records of this call from the spool to the store and return their run ids; what is not taken stays."""
    spool = session.spool
    waiting = {path: Spool(path.parent).read(path) for path in result.spooled}
    try:
        store = session.store()
        for path in pending_campaigns(spool):
            send_campaign(path, store)
    except StoreError as error:
        tell(f"the store does not take them now: {error}")
        tell(f"records waiting in {spool.folder}: {len(waiting)}; send them with `tracker sync`")
        return []
    logged = log_many(tuple(waiting.values()), store, spool)
    for item in logged:
        if item.run_id is None:
            tell(f"not in the store yet: {item.spooled_path}: {item.error}")
    return [item.run_id for item in logged if item.run_id is not None]
