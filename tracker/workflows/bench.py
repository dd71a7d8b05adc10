"""bench: measure a live server and log what came of it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tracker import engines
from tracker.domain.provenance import InputFile
from tracker.domain.record import Attachment, LoggedRun, Role, RunRecord
from tracker.domain.server import ServerConfig, SourceKind
from tracker.engines import LiveServer
from tracker.environment import provenance
from tracker.errors import TrackerError, UsageError
from tracker.store import Spool, log_many
from tracker.workflows.assemble import RunFacts, assemble
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
        InputError: Not one request was answered, or a folder cannot be written.
        UsageError: There is nothing to measure.
    """
    plans = _plans(request.plan)
    outcomes: list[BenchOutcome] = []
    for label, plan in plans:
        headers = {} if request.api_key is None else {"Authorization": f"Bearer {request.api_key}"}
        measured = measure(request.url, plan, headers=headers, on_progress=on_progress)
        run = _logged(request, plan, measured, session, label=label)
        outcomes.append(_store(run, request, session, interrupted=measured.interrupted))
        if measured.interrupted:
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


def _logged(
    request: BenchRequest, plan: BenchPlan, measured: Measured, session: Session, *, label: str | None
) -> LoggedRun:
    """Return the record of one measurement with its files attached."""
    live = self_description(request.url, api_key=request.api_key)
    files = _files(measured, live)
    name = request.name if label is None or request.name is None else f"{request.name} at {label}"
    if request.out is not None:
        write_all(request.out if label is None else request.out / label.replace("/", "-per-").replace(" ", "-"), files)
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
    run = assemble(to_run(measured, plan, name=name), facts, told)
    if label is None or name is not None:
        return run
    return dataclasses.replace(run, record=run.record.replace(name=f"{run.record.name} at {label}"))


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


def _store(run: LoggedRun, request: BenchRequest, session: Session, *, interrupted: bool) -> BenchOutcome:
    if request.dry_run:
        return BenchOutcome(record=run.record, interrupted=interrupted)
    if request.spool is not None:
        return BenchOutcome(record=run.record, spooled=Spool(request.spool).put(run), interrupted=interrupted)
    logged = log_many((run,), session.store(), session.spool)[0]
    return BenchOutcome(
        record=run.record,
        run_id=logged.run_id,
        spooled=logged.spooled_path,
        error=logged.error,
        interrupted=interrupted,
    )
