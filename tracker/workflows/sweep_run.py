"""One call of a sweep: check all, then start, measure and log, batch by batch."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tracker.errors import InputError, ServerError
from tracker.load.interrupts import finished, interrupts_held
from tracker.workflows.bench_measure import OnProgress, measure
from tracker.workflows.bench_measured import Measured
from tracker.workflows.sweep_baseline import BaselineSegment, throughputs
from tracker.workflows.sweep_budget import Budget
from tracker.workflows.sweep_check import Checked, check_all
from tracker.workflows.sweep_command import CommandResult, refuse_missing, run_command
from tracker.workflows.sweep_fleet import Fleet, Up
from tracker.workflows.sweep_history import Speed, history_of, kept_records
from tracker.workflows.sweep_log import Place, SweepLog
from tracker.workflows.sweep_measure import measure_until
from tracker.workflows.sweep_plan import Arm, SweepPlan
from tracker.workflows.sweep_record import Outcome, with_neighbours
from tracker.workflows.sweep_schedule import Batch, Item, as_chosen, closing, different_first, schedule
from tracker.workflows.sweep_state import SweepState

LOGS_FOLDER = "logs"
_LOOK = "Look at its log; start its command by hand to try."


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
    adaptive: bool = False
    """Measure first what promises the largest improvement per GPU-hour, instead of the plan's order."""
    retry_failed: bool = False
    """Try servers again that failed or were refused before."""


class SweepRun:
    """One call of a sweep."""

    def __init__(
        self, plan: SweepPlan, options: SweepOptions, state: SweepState, log: SweepLog, on_progress: OnProgress
    ) -> None:
        """Prepare it; nothing is started yet."""
        self._plan, self._options, self._state, self._log = plan, options, state, log
        self._tell, self._on_progress = log.tell, on_progress
        self._budget = Budget(options.budget_s, plan, state)
        self._since_baseline = 0
        self._interrupted = False
        self._allowed: list[Checked] = []
        self._chosen_because: dict[str, str] = {}
        self._baseline: Up | None = None
        wanted = plan.table.stop_early
        self._stops_early = options.adaptive if wanted is None else wanted

    def run(self) -> None:
        """Check all servers, then start and measure those that are let through, batch by batch.

        Raises:
            ServerError: The baseline is refused, does not come up or goes away.
            InputError: The user's own benchmark is not on this machine.
            KeyboardInterrupt: Ctrl-C.
        """
        if self._plan.table.command is not None:
            refuse_missing(self._plan.table.command, self._plan.where)
        for item in check_all(self._plan, allow=self._options.allow):
            if self._options.only and not item.arm.is_baseline and item.arm.name not in self._options.only:
                continue
            if not item.refused_by:
                self._allowed.append(item)
            elif item.arm.is_baseline:
                told = " ".join(finding.message for finding in item.refused_by)
                raise ServerError(f"the baseline is {item.reason}. {told}", where=self._plan.where, hint=item.fix)
            elif not self._is_done(item.arm):
                self._log.refused(item)
        for sentence in dict.fromkeys(sentence for item in self._waiting() for sentence in item.unseen):
            self._tell(sentence)
        with Fleet(self._plan, self._options.out / LOGS_FOLDER, self._tell) as fleet:
            for batch in self._batches():
                lacking = self._budget.lacks_batch(batch, since_baseline=self._since_baseline)
                if lacking is not None:
                    self._tell(lacking)
                    self._close(fleet)
                    return
                self._batch(batch, fleet)

    def _close(self, fleet: Fleet) -> None:
        """Measure a baseline that is not resident once more after the last candidates, where the budget ends the sweep.

        Raises:
            KeyboardInterrupt: Ctrl-C.
        """
        last = closing(self._plan, baselines=self._state.baselines)
        if last is None or self._since_baseline == 0:
            return
        lacking = self._budget.lacks_baseline()
        if lacking is not None:
            self._tell(lacking)
            return
        self._batch(last, fleet)

    def left(self) -> list[Arm]:
        """Return the candidates that are not done."""
        return [item.arm for item in self._waiting()]

    def _waiting(self) -> list[Checked]:
        return [item for item in self._allowed if not item.arm.is_baseline and not self._is_done(item.arm)]

    def _is_done(self, arm: Arm) -> bool:
        return arm.digest(self._plan.bench) in self._state.done

    def _batches(self) -> Iterator[Batch]:
        if self._options.adaptive:
            return as_chosen(self._plan, self._choose, baselines=self._state.baselines)
        return schedule(self._plan, self.left(), baselines=self._state.baselines)

    def _choose(self) -> list[Arm]:
        """Return the servers that are left, the most worthwhile first, and say why the next ones are next."""
        with interrupts_held():
            from tracker.workflows.sweep_adaptive import rank  # numpy and scipy, which a sweep in order does not need

        waiting = self._waiting()
        if not waiting or self._budget.lacks_candidate(starting=True) is not None:
            return [item.arm for item in waiting]
        ranking = rank(
            self._plan,
            waiting,
            kept_records(self._options.out),
            start_s=self._state.start_s,
            measure_s=self._state.slowest_s(),
        )
        by_name = {item.arm.name: item.arm for item in waiting}
        order = different_first([by_name[item.name] for item in ranking.order])
        reasons = {item.name: item.reason for item in ranking.order}
        for arm in order[: max(1, self._plan.table.batch)]:
            self._tell(f"next: {arm.name}. {reasons[arm.name]}")
            self._chosen_because[arm.name] = reasons[arm.name]
        return order

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
                if item.arm.name in up and not self._out_of_time(item):
                    self._measure(item, up[item.arm.name], fleet, segment, number)
        finally:
            if segment is not None:
                with interrupts_held():
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
        if launched.took_s is not None:
            self._state.start_s = max(launched.took_s, self._state.start_s or 0.0)
        for up, failure in launched.failed:
            if up.arm is resident:
                raise ServerError(f"the baseline did not come up ({failure})", where=str(up.log), hint=_LOOK)
            self._log.failed(up, _name(batch, up), str(failure))
            if up.arm.is_baseline and not self._has_baseline():
                raise ServerError(f"the baseline did not come up ({failure})", where=str(up.log), hint=_LOOK)
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
            outcome = self._outcome(item, up, place, segment)
        except (ServerError, InputError) as error:
            crashed = up.crashed(wait_s=2.0)
            self._log.failed(up, item.name, str(error) if crashed is None else str(crashed))
            return
        took_s = time.monotonic() - begun_s
        if outcome.suspect is None:
            self._budget.took(took_s)
        before: dict[int, float] = {}
        after: dict[int, float] = {}
        try:
            if self._interrupted:
                raise KeyboardInterrupt
            if segment is not None:
                before = segment.last_throughput()
                self._measure_baseline(segment, fleet)
                after = segment.last_throughput()
        finally:
            # The candidate is measured, whatever became of the baseline after it.
            run = with_neighbours(outcome.run, before=before, after=after)
            because = self._chosen_because.get(item.arm.name)
            tags = outcome.tags if because is None else {**outcome.tags, "sweep.chosen_because": because}
            with interrupts_held():
                self._log.measured(dataclasses.replace(outcome, run=run, tags=tags), took_s=took_s)
        self._since_baseline = 0 if item.arm.is_baseline else self._since_baseline + 1

    def _held(self, log: Callable[[], Outcome]) -> Outcome:
        """Return what was measured as an outcome; Ctrl-C meanwhile is raised when that is logged."""
        outcome, interrupted = finished(log)
        self._interrupted |= interrupted
        return outcome

    def _outcome(self, item: Item, up: Up, place: Place, segment: BaselineSegment | None) -> Outcome:
        """Return what one server did under load.

        Raises:
            ServerError: It does not answer.
            InputError: Not one request was answered, or the user's own benchmark left no result.
            KeyboardInterrupt: Ctrl-C. A server measured half is measured again by the next call.
        """
        command = self._plan.table.command
        if command is not None:
            result = self._by_command(command, up, item.name)
            return self._held(lambda: self._log.outcome(up, item.name, result.run, place, result.files))
        measured, stopped = self._answers(up, segment)
        if measured.interrupted:
            raise KeyboardInterrupt
        outcome = self._held(lambda: self._log.answers(up, item.name, measured, place))
        if stopped is None and measured.ended_early is not None and outcome.suspect is None:
            # It hangs: its process lives, and the pages about itself may answer as before.
            why = f"the server failed while it was measured ({measured.ended_early})"
            return dataclasses.replace(outcome, suspect=why)
        if stopped is None:
            return outcome
        self._tell(f"{item.name}: stopped early: {stopped}")
        run = dataclasses.replace(outcome.run, missing=f"stopped early: {stopped}")
        return dataclasses.replace(outcome, run=run, tags={**outcome.tags, "sweep.stopped_early": stopped})

    def _by_command(self, command: str, up: Up, name: str) -> CommandResult:
        timeout_s = self._plan.table.command_timeout_s
        return run_command(command, up.url, name, self._options.out, self._tell, timeout_s=timeout_s)

    def _answers(self, up: Up, segment: BaselineSegment | None) -> tuple[Measured, str | None]:
        """Return what a server answered, and why it was not asked everything; None when it was."""
        arm, bench = up.arm, self._plan.bench
        if not self._stops_early or arm.is_baseline or arm.simulated_accept_length is not None:
            return measure(up.url, bench, on_progress=self._on_progress), None
        with interrupts_held():
            from tracker.workflows.sweep_stopping import cannot_win  # scipy, which a sweep of everything does not need

        history = history_of(kept_records(self._options.out), self._plan.baseline)
        if segment is not None:
            history = dataclasses.replace(history, baseline=segment.last_throughput())
        planned = [load.concurrency for load in bench.loads if load.concurrency is not None]

        def hopeless(measured: list[tuple[int, Speed]]) -> str | None:
            return cannot_win(measured, planned=planned, configuration=arm.configuration, history=history)

        return measure_until(up.url, bench, hopeless=hopeless, on_progress=self._on_progress)

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
        begun_s = time.monotonic()
        self._tell(f"{up.arm.name}: measuring, pass {segment.passes + 1} of batch {segment.number}")
        segment.others = max(segment.others, fleet.size - 1)
        if self._plan.table.command is not None:
            self._baseline_by_command(self._plan.table.command, segment)
            self._budget.took(time.monotonic() - begun_s)
            return
        segment.measured = measure(
            up.url,
            self._plan.bench,
            first_repeat=segment.passes * self._plan.bench.repeats,
            into=segment.measured,
            on_progress=self._on_progress,
        )
        if segment.measured.interrupted:
            raise KeyboardInterrupt
        if segment.measured.ended_early is not None:
            raise ServerError(
                f"the baseline went away ({up.crashed(wait_s=2.0) or segment.measured.ended_early})",
                where=str(up.log), hint="Call again to go on.",
            )  # fmt: skip
        self._budget.took(time.monotonic() - begun_s)
        segment.passes += 1

    def _baseline_by_command(self, command: str, segment: BaselineSegment) -> None:
        """Let the user's own benchmark measure the resident baseline; each time is a run of its own.

        Raises:
            ServerError: The benchmark cannot measure it, so it would measure no other server either.
        """
        name = f"{segment.up.arm.name}-{segment.number}-{segment.passes + 1}"
        try:
            result = self._by_command(command, segment.up, name)
        except InputError as error:
            raise ServerError(f"the baseline cannot be measured: {error.message}", where=error.where) from error
        place = Place(batch=segment.number, others=segment.others)
        self._log.measured_baseline(self._log.outcome(segment.up, name, result.run, place, result.files))
        segment.by_command = throughputs(result.run)
        segment.passes += 1

    def _out_of_time(self, item: Item) -> bool:
        """Return whether the budget has no room for another server that is up, and its baseline."""
        lacking = None if item.arm.is_baseline else self._budget.lacks_candidate(starting=False)
        if lacking is not None:
            self._tell(lacking)
        return lacking is not None

    def _has_baseline(self) -> bool:
        """Return whether a plain server was measured, in this call or an earlier one."""
        return any(record.role == "baseline" and record.measurements for record in kept_records(self._options.out))


def _name(batch: Batch, up: Up) -> str:
    return next(item.name for item in batch.items if item.arm is up.arm)
