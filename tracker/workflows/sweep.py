"""sweep: check, start, measure and log a set of servers, one measured at a time."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path

from tracker.domain.record import RunRecord
from tracker.environment.hardware import hardware
from tracker.errors import InputError, ServerError, StoreError
from tracker.store import Spool, log_many
from tracker.workflows.bench_measure import OnProgress, measure
from tracker.workflows.session import Session
from tracker.workflows.sweep_baseline import BaselineSegment
from tracker.workflows.sweep_check import check_all
from tracker.workflows.sweep_command import run_command
from tracker.workflows.sweep_fleet import Fleet, Tell, Up
from tracker.workflows.sweep_log import Place, SweepLog
from tracker.workflows.sweep_plan import Arm, SweepPlan
from tracker.workflows.sweep_record import Outcome, with_neighbours
from tracker.workflows.sweep_schedule import Batch, Item, schedule
from tracker.workflows.sweep_state import SweepState, load_state

LOGS_FOLDER = "logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """How a sweep is run."""

    out: Path
    """Folder for results, logs and state."""
    spool: Path
    """Folder that records go to."""
    allow: tuple[str, ...] = ()
    """Codes of checks that may fail, for every server."""
    only: tuple[str, ...] = ()
    """Names of the servers wanted; all when empty."""
    budget_s: float | None = None
    """Seconds after which no further server is begun."""
    retry_failed: bool = False
    """Try servers again that failed or were refused before."""


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
    interrupted: bool
    """Whether Ctrl-C ended it."""


def run_sweep(
    plan: SweepPlan, options: SweepOptions, session: Session, *, tell: Tell, on_progress: OnProgress
) -> SweepResult:
    """Run the sweep, or what earlier calls left of it, and return what it brought.

    Ctrl-C ends it: every server is ended and whole measurements are kept.

    Raises:
        InputError: A folder cannot be written, or a checkpoint's training facts cannot be read.
        ServerError: The baseline does not come up or goes away, or a command cannot be run at all.
    """
    state = load_state(options.out, retry_failed=options.retry_failed)
    before = len(state.done)
    log = SweepLog(
        plan=plan,
        session=session,
        out=options.out,
        spool=Spool(options.spool),
        state=state,
        tell=tell,
        hardware=hardware(session.environ) if plan.table.launcher == "local" else None,
    )
    sweep = _Sweep(plan, options, state, log, on_progress)
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
        interrupted=interrupted,
    )


class _Sweep:
    """One call of a sweep."""

    def __init__(
        self, plan: SweepPlan, options: SweepOptions, state: SweepState, log: SweepLog, on_progress: OnProgress
    ) -> None:
        self._plan, self._options, self._state, self._log = plan, options, state, log
        self._tell, self._on_progress = log.tell, on_progress
        self._begun_s = time.monotonic()
        self._allowed: list[Arm] = []
        self._baseline: Up | None = None

    def run(self) -> None:
        """Check all servers, then start and measure those that are let through, batch by batch."""
        for item in check_all(self._plan, allow=self._options.allow):
            if self._options.only and not item.arm.is_baseline and item.arm.name not in self._options.only:
                continue
            if not item.refused_by:
                self._allowed.append(item.arm)
            elif item.arm.is_baseline:
                raise ServerError(f"the baseline is {item.reason}", where=self._plan.where)
            elif not self._is_done(item.arm):
                self._log.refused(item)
        with Fleet(self._plan, self._options.out / LOGS_FOLDER, self._tell) as fleet:
            for batch in schedule(self._plan, self.left(), baselines=self._state.baselines):
                if self._out_of_time(starting=True):
                    return
                self._batch(batch, fleet)

    def left(self) -> list[Arm]:
        """Return the candidates that are not done."""
        return [arm for arm in self._allowed if not arm.is_baseline and not self._is_done(arm)]

    def _is_done(self, arm: Arm) -> bool:
        return arm.digest(self._plan.bench) in self._state.done

    def _batch(self, batch: Batch, fleet: Fleet) -> None:
        """Start a batch's servers, measure one after the other, end them.

        All stay up until the last one is measured, so that each is measured beside the same number of idle ones.
        """
        self._state.batches += 1
        number = self._state.batches
        self._state.save()
        up = self._launch(batch, number, fleet)
        segment = None
        if batch.resident is not None and self._baseline is not None:
            segment = BaselineSegment(number=number, up=self._baseline)
        try:
            if segment is not None and up:
                self._measure_baseline(segment, fleet)
            for item in batch.items:
                if item.arm.name in up and not self._out_of_time(starting=False):
                    self._measure(item, up[item.arm.name], fleet, segment, number)
        finally:
            if segment is not None:
                self._log.segment(segment)
        fleet.stop([item.arm.name for item in batch.items])

    def _launch(self, batch: Batch, number: int, fleet: Fleet) -> dict[str, Up]:
        """Return the batch's servers that serve, by name; the resident baseline is started with the first batch.

        Raises:
            ServerError: The resident baseline does not come up.
        """
        resident = batch.resident if self._baseline is None else None
        arms = [*([resident] if resident is not None else []), *(item.arm for item in batch.items)]
        self._tell(f"starting {len(arms)}: {', '.join(arm.name for arm in arms)}")
        launched = fleet.launch(arms, tag=f".{number}")
        self._state.start_s = max(launched.took_s, self._state.start_s or 0.0)
        for up, failure in launched.failed:
            if up.arm is resident:
                raise ServerError(f"the baseline did not come up ({failure})", where=str(up.log))
            self._log.failed(up, _name(batch, up), str(failure))
        serving = {up.arm.name: up for up in launched.up}
        if resident is not None:
            self._baseline = serving.pop(resident.name)
        return serving

    def _measure(self, item: Item, up: Up, fleet: Fleet, segment: BaselineSegment | None, number: int) -> None:
        """Measure one server, then the resident baseline again, and log the former."""
        begun_s = time.monotonic()
        crashed = up.crashed()
        if crashed is not None:
            self._log.failed(up, item.name, f"it went away before it was measured ({crashed})")
            return
        self._tell(f"{item.name}: measuring")
        place = Place(batch=number, others=fleet.size - 1, resident_baseline=segment is not None)
        try:
            outcome = self._outcome(item, up, place)
        except (ServerError, InputError) as error:
            crashed = up.crashed(wait_s=2.0)
            self._log.failed(up, item.name, str(error) if crashed is None else str(crashed))
            return
        took_s = time.monotonic() - begun_s
        before: dict[int, float] = {}
        after: dict[int, float] = {}
        try:
            if segment is not None:
                before = segment.last_throughput()
                self._measure_baseline(segment, fleet)
                after = segment.last_throughput()
        finally:
            # The candidate is measured, whatever became of the baseline after it.
            run = with_neighbours(outcome.run, before=before, after=after)
            self._log.measured(dataclasses.replace(outcome, run=run), took_s=took_s)

    def _outcome(self, item: Item, up: Up, place: Place) -> Outcome:
        """Return what one server did under load.

        Raises:
            ServerError: It does not answer.
            InputError: Not one request was answered, or the user's own benchmark left no result.
            KeyboardInterrupt: Ctrl-C. A server measured half is measured again by the next call.
        """
        command = self._plan.table.command
        if command is not None:
            run = run_command(command, up.url, item.name, self._options.out, self._tell)
            return self._log.outcome(up, item.name, run, place)
        measured = measure(up.url, self._plan.bench, on_progress=self._on_progress)
        if measured.interrupted:
            raise KeyboardInterrupt
        return self._log.answers(up, item.name, measured, place)

    def _measure_baseline(self, segment: BaselineSegment, fleet: Fleet) -> None:
        """Add one measurement of the resident baseline.

        Raises:
            ServerError: It is gone.
            KeyboardInterrupt: Ctrl-C.
        """
        up = segment.up
        crashed = up.crashed()
        if crashed is not None:
            raise ServerError(f"the baseline went away ({crashed})", where=str(up.log), hint="Call again to go on.")
        self._tell(f"{up.arm.name}: measuring, pass {segment.passes + 1} of batch {segment.number}")
        segment.measured = measure(
            up.url,
            self._plan.bench,
            first_repeat=segment.passes * self._plan.bench.repeats,
            into=segment.measured,
            on_progress=self._on_progress,
        )
        segment.others = max(segment.others, fleet.size - 1)
        if segment.measured.interrupted:
            raise KeyboardInterrupt
        segment.passes += 1

    def _out_of_time(self, *, starting: bool) -> bool:
        """Return whether the budget has no room for another batch, or for another server and its baseline."""
        budget_s = self._options.budget_s
        if budget_s is None:
            return False
        needed_s = 2 * (self._state.slowest_s() or 0.0)
        if starting:
            needed_s += self._plan.table.start_estimate_s if self._state.start_s is None else self._state.start_s
        if time.monotonic() - self._begun_s + needed_s <= budget_s:
            return False
        self._tell(f"the budget leaves no time for another {'batch' if starting else 'server'}")
        return True


def _name(batch: Batch, up: Up) -> str:
    return next(item.name for item in batch.items if item.arm is up.arm)


def log_results(plan: SweepPlan, result: SweepResult, session: Session, *, tell: Tell) -> list[str]:
    """Send the records of this call from the spool to the store and return their run ids; what is not taken stays."""
    spool = session.spool
    waiting = {path: spool.read(path) for path in result.spooled}
    try:
        store = session.store()
        store.save_campaign(plan.campaign.campaign)
    except StoreError as error:
        tell(f"the store does not take them now: {error}")
        tell(f"{len(waiting)} records wait in {spool.folder}; send them with `tracker sync`")
        return []
    logged = log_many(tuple(waiting.values()), store, spool)
    for item in logged:
        if item.run_id is None:
            tell(f"not in the store yet: {item.spooled_path}: {item.error}")
    return [item.run_id for item in logged if item.run_id is not None]
