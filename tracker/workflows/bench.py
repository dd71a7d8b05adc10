"""bench: measure a live server and log what came of it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from tracker import engines
from tracker.domain.provenance import InputFile
from tracker.domain.record import Attachment, LoggedRun, Role, RunRecord
from tracker.domain.server import ServerConfig, SourceKind
from tracker.engines import LiveServer
from tracker.environment import provenance
from tracker.errors import StoreError, TrackerError, UsageError
from tracker.load.interrupts import finished
from tracker.store import Spool, log_many
from tracker.workflows import bench_changed
from tracker.workflows.assemble import RunFacts, assemble
from tracker.workflows.beforehand import require_loggable
from tracker.workflows.bench_measure import OnProgress, measure
from tracker.workflows.bench_measured import Measured
from tracker.workflows.bench_plan import BenchPlan
from tracker.workflows.bench_record import to_run
from tracker.workflows.files import write_all
from tracker.workflows.server_sources import ServerFacts, self_description
from tracker.workflows.session import Session

DEFAULT_EXPERIMENT = "benchmarks"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """One benchmark of one live server, and what is known beside it."""

    url: str
    """The server."""
    plan: BenchPlan
    """What to ask."""
    api_key: str | None = field(default=None, repr=False)
    """Sent as a bearer token."""
    experiment: str | None = None
    """Campaign."""
    name: str | None = None
    """Run name."""
    role: Role | None = None
    """baseline or candidate."""
    drafter: str | None = None
    """Folder or Hub id."""
    target: str | None = None
    """Folder or Hub id."""
    argv: tuple[str, ...] | None = None
    """How the server was launched, where it is known."""
    note: str | None = None
    """Free text."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Free tags."""
    out: Path | None = None
    """Folder for requests.jsonl and the server's answers; None keeps them with the record only."""
    spool: Path | None = None
    """Folder for records when no store is to be asked."""
    dry_run: bool = False
    """Measure and print only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOutcome:
    """One run that was measured."""

    record: RunRecord
    """The record."""
    run_id: str | None = None
    """Store id; None for a dry run or while it waits in a spool."""
    spooled: Path | None = None
    """Where it waits."""
    error: TrackerError | None = None
    """Why it waits."""
    interrupted: bool = False
    """Whether Ctrl-C ended it."""


def run_bench(request: BenchRequest, session: Session, *, on_progress: OnProgress) -> tuple[BenchOutcome, ...]:
    """Measure the server and return one run: the closed loop, and one more for each rate of an open loop.

    Ctrl-C ends the measurement; what was measured until then is logged, marked partial.

    Raises:
        ServerError: Nothing answers at the address.
        InputError: Not one request was answered, a folder cannot be written, or the campaign's name cannot be one.
        CheckpointError: A checkpoint named cannot be described; nothing was measured.
        UsageError: There is nothing to measure.
    """
    # A store that cannot be used is no reason to stop: the run waits in the spool.
    require_loggable(request.experiment or DEFAULT_EXPERIMENT, (request.drafter, request.target), None)
    plans = _plans(request.plan)
    outcomes: list[BenchOutcome] = []
    for label, plan in plans:
        headers = {} if request.api_key is None else {"Authorization": f"Bearer {request.api_key}"}
        before = self_description(request.url, api_key=request.api_key)
        measured = measure(request.url, plan, headers=headers, on_progress=on_progress)
        # What is measured is on the disk before Ctrl-C, a folder or the store can lose it.
        keep = partial(_kept, request, plan, measured, session, before=before, label=label)
        (run, path), interrupted = finished(keep)
        interrupted |= measured.interrupted
        outcomes.append(_store(run, path, request, session, interrupted=interrupted))
        if interrupted:
            break
    return tuple(outcomes)


def _plans(plan: BenchPlan) -> list[tuple[str | None, BenchPlan]]:
    """Return the parts that make a run each: their loads share one axis."""
    closed = tuple(load for load in plan.loads if load.rate_per_s is None)
    parts: list[tuple[str | None, BenchPlan]] = [(None, dataclasses.replace(plan, loads=closed))] if closed else []
    parts += [
        (str(load), dataclasses.replace(plan, loads=(load,))) for load in plan.loads if load.rate_per_s is not None
    ]
    if not parts:
        raise UsageError("no load was named", hint="Give --concurrency 1,8,32 or --rate 4.")
    return parts


def _kept(
    request: BenchRequest,
    plan: BenchPlan,
    measured: Measured,
    session: Session,
    *,
    before: LiveServer | None,
    label: str | None,
) -> tuple[LoggedRun, Path | None]:
    """Return one measurement and its file in the spool; None without one."""
    run, files = _logged(request, plan, measured, session, before=before, label=label)
    path = _spooled(run, request, session)
    if request.out is not None:
        write_all(request.out if label is None else request.out / label.replace("/", "-per-").replace(" ", "-"), files)
    return run, path


def _logged(
    request: BenchRequest,
    plan: BenchPlan,
    measured: Measured,
    session: Session,
    *,
    before: LiveServer | None,
    label: str | None,
) -> tuple[LoggedRun, dict[str, bytes]]:
    """Return the record of one measurement with its files attached, and the files."""
    live = self_description(request.url, api_key=request.api_key)
    files = _files(measured, live)
    name = request.name if label is None or request.name is None else f"{request.name} at {label}"
    requests = files["requests.jsonl"]
    told = provenance.collect(
        now=datetime.now(UTC),
        environ=session.environ,
        cwd=session.cwd,
        importer="bench",
        inputs=(
            InputFile(name="requests.jsonl", sha256=hashlib.sha256(requests).hexdigest(), size_bytes=len(requests)),
        ),
        measured_at=measured.started_at,
    )
    facts = RunFacts(
        experiment=request.experiment or DEFAULT_EXPERIMENT,
        name=name,
        role=request.role,
        drafter=request.drafter,
        target=request.target,
        note=request.note,
        tags=request.tags,
        server=ServerFacts(configs=_configs(request, live), model_path=None if live is None else live.model_path),
        attachments=tuple(Attachment(name=f"server/{key}", content=content) for key, content in files.items()),
    )
    measured.restarted |= bench_changed.started_anew(before, live)
    imported = to_run(measured, plan, name=name)
    changed = bench_changed.findings(before, live)
    run = assemble(dataclasses.replace(imported, findings=(*imported.findings, *changed)), facts, told)
    if label is not None and name is None:
        run = dataclasses.replace(run, record=run.record.replace(name=f"{run.record.name} at {label}"))
    return run, files


def _configs(request: BenchRequest, live: LiveServer | None) -> tuple[tuple[SourceKind, ServerConfig], ...]:
    configs: list[tuple[SourceKind, ServerConfig]] = []
    if live is not None:
        configs.append(("server_info", live.config))
    if request.argv is not None:
        configs.append(("argv", engines.parse_argv(request.argv)))
    return tuple(configs)


def _files(measured: Measured, live: LiveServer | None) -> dict[str, bytes]:
    files = {} if live is None else {name: body for name, body in live.bodies.items() if name != "models.json"}
    if measured.metrics_before is not None:
        files["metrics_before.prom"] = measured.metrics_before
    return {**files, "requests.jsonl": measured.lines()}


def _spooled(run: LoggedRun, request: BenchRequest, session: Session) -> Path | None:
    """Write the run to the spool and return its file; None for a dry run, or where the store's own spool is full.

    Raises:
        StoreError: The folder of `--spool` cannot be written.
    """
    if request.dry_run:
        return None
    if request.spool is not None:
        return Spool(request.spool).put(run)
    try:
        return session.spool.put(run)
    except StoreError:
        return None  # the store is asked all the same


def _store(
    run: LoggedRun, kept: Path | None, request: BenchRequest, session: Session, *, interrupted: bool
) -> BenchOutcome:
    if request.dry_run or request.spool is not None:
        return BenchOutcome(record=run.record, spooled=kept, interrupted=interrupted)
    try:
        logged = log_many((run,), session.store(), session.spool)[0]
    except StoreError as error:
        if kept is None:
            raise
        return BenchOutcome(record=run.record, spooled=kept, error=error, interrupted=interrupted)
    return BenchOutcome(
        record=run.record,
        run_id=logged.run_id,
        spooled=logged.spooled_path,
        error=logged.error,
        interrupted=interrupted,
    )
