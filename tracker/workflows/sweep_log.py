"""Logging what became of each server of a sweep, as soon as it is known."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tracker.domain.record import LoggedRun, RunRecord
from tracker.domain.workload import Hardware
from tracker.errors import InputError, StoreError
from tracker.importers.base import ImportedRun
from tracker.store.spool import Spool
from tracker.workflows.bench_measured import Measured
from tracker.workflows.bench_record import to_run
from tracker.workflows.files import write_all
from tracker.workflows.server_sources import self_description
from tracker.workflows.session import Session
from tracker.workflows.sweep_baseline import BaselineSegment
from tracker.workflows.sweep_check import PATH_NOT_FOUND, Checked
from tracker.workflows.sweep_fleet import Tell, Up
from tracker.workflows.sweep_history import BATCH_TAG, keep_record
from tracker.workflows.sweep_plan import Arm, SweepPlan
from tracker.workflows.sweep_record import Outcome, files_of, to_logged
from tracker.workflows.sweep_state import Done, Status, SweepState

SERVERS_FOLDER = "servers"
ASIDE_FOLDER = "spool"
# A process that has stopped answering is given this long to be seen ending.
_ENDING_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Beside what a server was measured."""

    batch: int
    """Batch, counted over all calls."""
    others: int
    """Further servers that were up on the device."""
    resident_baseline: bool = False
    """Whether the baseline was one of them."""

    @property
    def note(self) -> str:
        """Return it in words."""
        if self.others == 0:
            return "Measured by tracker sweep with no other of its servers up."
        among = ", the baseline among them" if self.resident_baseline else ""
        servers = "server" if self.others == 1 else "servers"
        return f"Measured by tracker sweep while {self.others} other {servers} stood idle on the same machine{among}."

    @property
    def tags(self) -> dict[str, str]:
        """Return it as tags."""
        return {BATCH_TAG: str(self.batch), "sweep.other_servers_up": str(self.others)}


@dataclass(slots=True, kw_only=True)
class SweepLog:
    """Writes records to the spool and servers' files to their folders, and keeps the state."""

    plan: SweepPlan
    """The sweep."""
    session: Session
    """The call."""
    out: Path
    """Folder of the sweep's results."""
    spool: Spool
    """Where records go."""
    state: SweepState
    """What is done."""
    tell: Tell
    """Where progress goes."""
    hardware: Hardware | None = None
    """GPUs of this machine; None for servers that run elsewhere."""
    records: list[RunRecord] = field(default_factory=list)
    """Records of this call."""
    spooled: list[Path] = field(default_factory=list)
    """Their files."""

    def answers(self, up: Up, name: str, measured: Measured, place: Place) -> Outcome:
        """Return what a server did under our own load; it is not logged yet.

        Raises:
            InputError: Not one request was answered.
        """
        files = {"requests.jsonl": measured.lines()}
        if measured.metrics_before is not None:
            files["metrics_before.prom"] = measured.metrics_before
        return self.outcome(up, name, to_run(measured, self.plan.bench, name=name), place, files)

    def outcome(
        self, up: Up, name: str, run: ImportedRun, place: Place, files: Mapping[str, bytes] | None = None
    ) -> Outcome:
        """Return what a server did, with what it says about itself now; it is not logged yet."""
        live = self_description(up.url)  # None when it is gone, which the record then says
        crashed = up.crashed(_ENDING_S if live is None else 0.0)
        suspect = None
        if crashed is not None:
            suspect = f"the server failed while it was measured ({crashed})"
        elif live is None:
            suspect = "the server did not answer any more after the measurement"
        return Outcome(
            arm=up.arm,
            name=name,
            argv=up.argv,
            run=run,
            log=up.log,
            live=live,
            files=files or {},
            suspect=suspect,
            note=place.note,
            tags={**place.tags, **up.arm.tags},
        )

    def measured(self, outcome: Outcome, *, took_s: float) -> None:
        """Log a server that was measured."""
        record = self._write(outcome)
        if outcome.arm.is_baseline:
            self._count_baseline()
        else:
            stopped = outcome.tags.get("sweep.stopped_early")
            reason = outcome.suspect if stopped is None else f"stopped early: {stopped}"
            # What a server did before it died is kept, and --retry-failed asks it again.
            status: Status = "measured" if outcome.suspect is None else "failed"
            done = Done(name=outcome.arm.name, status=status, reason=reason, took_s=took_s)
            self._finish(outcome.arm, record, done)

    def measured_baseline(self, outcome: Outcome) -> None:
        """Log one measurement of the resident baseline as a run of its own."""
        self._write(outcome)

    def segment(self, segment: BaselineSegment) -> None:
        """Log the resident baseline's measurements during one batch."""
        measured = segment.measured
        if measured is None or segment.passes == 0:
            return
        if measured.interrupted:
            measured.ended_early = None  # the cut pass is left out; the whole ones before it are all there
        name = f"{segment.up.arm.name}-{segment.number}"
        try:
            outcome = self.answers(segment.up, name, measured, Place(batch=segment.number, others=segment.others))
        except InputError as error:
            self.failed(segment.up, name, str(error))
            return
        self._write(outcome)

    def refused(self, item: Checked) -> None:
        """Log a server that the checks refuse, without numbers."""
        arm = item.arm
        self.tell(f"{arm.name}: {item.reason}")
        for finding in item.refused_by:
            self.tell(f"    {finding.message}")
            if finding.fix is not None:
                self.tell(f"    fix: {finding.fix}")
        argv = arm.command(host=self.plan.table.host, port=self.plan.table.start_port)
        # What the files and flags say is found again when the record is made; that there are no files is not.
        paths = tuple(finding for finding in item.refused_by if finding.code == PATH_NOT_FOUND)
        run = dataclasses.replace(self._empty(arm), findings=paths)
        record = self._write(Outcome(arm=arm, name=arm.name, argv=argv, run=run, invalid=item.reason))
        self._finish(arm, record, Done(name=arm.name, status="refused", reason=item.reason))

    def failed(self, up: Up, name: str, reason: str) -> None:
        """Log a server that did not come up or brought no numbers."""
        arm = up.arm
        self.tell(f"{name}: {reason}")
        record = self._write(
            Outcome(arm=arm, name=name, argv=up.argv, run=self._empty(arm), log=up.log, invalid=reason)
        )
        if arm.is_baseline:
            self._count_baseline()
        else:
            self._finish(arm, record, Done(name=arm.name, status="failed", reason=reason))

    def _count_baseline(self) -> None:
        """Use up a baseline's number, failed or not: the next call goes on from there."""
        self.state.baselines += 1
        self.state.save()

    def _empty(self, arm: Arm) -> ImportedRun:
        return ImportedRun(name=arm.name, workload=self.plan.bench.workload())

    def _write(self, outcome: Outcome) -> RunRecord:
        files = files_of(outcome)
        run = to_logged(outcome, files, self.plan, self.session, self.hardware)
        earlier = self.state.forgotten.get(outcome.arm.digest(self.plan.bench))
        if earlier is not None and not outcome.arm.is_baseline:
            run = dataclasses.replace(run, record=run.record.replace(supersedes=earlier))
        # The spool first: it holds the files too, and a full folder of results must not cost what was measured.
        self.spooled.append(self._put(run))
        self.records.append(run.record)
        self.tell(_summary(run.record))
        try:
            keep_record(run.record, self.out)  # what later servers are judged by, and small
            write_all(self.out / SERVERS_FOLDER / outcome.name, files)
        except InputError as error:
            self.tell(f"{outcome.name}: its files are in its record only: {error}")
        return run.record

    def _put(self, run: LoggedRun) -> Path:
        """Write a record to the spool; where that is full, beside the results, else to the system's temporary folder.

        It cost a server to get, and spool and results are often of one quota.

        Raises:
            StoreError: None of them can be written.
        """
        try:
            return self.spool.put(run)
        except StoreError as error:
            full = error
        aside = Spool(self.out / ASIDE_FOLDER)
        try:
            path = aside.put(run)
        except StoreError:
            aside = _temporary_spool(full)
            path = aside.put(run)
        self.tell(f"{full.message}; it waits in {aside.folder}, send it with `tracker sync {aside.folder}`")
        return path

    def _finish(self, arm: Arm, record: RunRecord, done: Done) -> None:
        self.state.finish(arm.digest(self.plan.bench), dataclasses.replace(done, record_id=record.record_id))


def _temporary_spool(full: StoreError) -> Spool:
    """Return a spool of its own in the system's temporary folder, which nobody else can read.

    Raises:
        StoreError: There is no room either.
    """
    try:
        return Spool(Path(tempfile.mkdtemp(prefix="tracker-spool-")))
    except OSError as error:
        raise full from error


def _summary(record: RunRecord) -> str:
    if record.validity == "invalid":
        return f"{record.name}: logged as invalid"
    parts = []
    for cell in record.pooled():
        speed = "?" if cell.output_throughput_tok_s is None else f"{cell.output_throughput_tok_s:,.1f}"
        length = "" if cell.accept_length is None else f" ({cell.accept_length:.3f})"
        parts.append(f"{speed} tok/s{length} at {cell.concurrency}")
    failed = sum(cell.requests_failed or 0 for cell in record.pooled())
    doubts = [
        *([f"{failed} request{'' if failed == 1 else 's'} failed"] if failed else []),
        *([record.validity_reason] if record.validity == "suspect" and record.validity_reason else []),
    ]
    return "; ".join([f"{record.name}: {', '.join(parts)}", *doubts])
