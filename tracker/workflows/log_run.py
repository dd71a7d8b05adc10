"""log-run: input, server, checkpoint, checks, record, spool, store; in this order."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracker import importers
from tracker.domain.provenance import InputFile, Provenance
from tracker.domain.record import Attachment, LoggedRun, Role, RunRecord, StoredRun
from tracker.environment import provenance
from tracker.errors import (
    CheckpointError,
    InputError,
    RecordConflictError,
    ServerError,
    StoreError,
    TrackerError,
    UsageError,
)
from tracker.importers.base import ImportedRun
from tracker.store import log_many, put_campaign, send_campaign
from tracker.workflows import command_watch, originals, simulated
from tracker.workflows.adopt_connect import Connection, connect_benchmarks, named_training
from tracker.workflows.assemble import RunFacts, assemble
from tracker.workflows.beforehand import require_format, require_loggable
from tracker.workflows.campaign_file import FILE_NAME, CampaignFile, CampaignInput, read_campaign
from tracker.workflows.described import held_against_description
from tracker.workflows.merge import Source, merge
from tracker.workflows.server_sources import ServerFacts, ServerOptions, from_log_head, read_sources
from tracker.workflows.session import Session
from tracker.workflows.typed import typed_runs

DEFAULT_EXPERIMENT = "benchmarks"
NO_RESULT = "the command left no result that tracker recognises; name its result file before `--`"
TABLE_FORMAT = "table"
EXPERIMENT_VARIABLES = ("TRACKER_EXPERIMENT", "MLFLOW_EXPERIMENT_NAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """What to log and what is known beside it."""

    inputs: tuple[Path, ...] = ()
    """Files or folders."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """Values given in Python: one mapping a run."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Values typed by hand, as text so that their rounding is known."""
    command: tuple[str, ...] = ()
    """Command to run and watch."""
    server: ServerOptions = ServerOptions()
    """How the server ran."""
    drafter: str | None = None
    """Folder or Hub id."""
    target: str | None = None
    """Folder or Hub id."""
    samples: int | None = None
    """Training samples."""
    tokens: int | None = None
    """Training tokens."""
    experiment: str | None = None
    """Campaign."""
    name: str | None = None
    """Run name."""
    role: Role | None = None
    """baseline or candidate."""
    concurrency: int | None = None
    """Streams."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Free tags."""
    note: str | None = None
    """Free text."""
    training: Path | None = None
    """Drafter-training run: its folder, or a training in the store by run id or name."""
    format: str | None = None
    """Importer to force."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What a table's columns hold, by name, where their names do not say so."""
    keep_text: bool = False
    """Keep prompt and answer texts in the original."""
    dry_run: bool = False
    """Check and print only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOutcome:
    """One run that was logged."""

    run_id: str | None
    """Store id; None for a dry run or while it waits in the spool."""
    record: RunRecord
    """The record."""
    spooled: Path | None = None
    """Where it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogResult:
    """What a call logged."""

    outcomes: tuple[LoggedOutcome, ...]
    """One a run, in order."""
    detected: tuple[tuple[str, str], ...] = ()
    """(input, format) as recognised."""
    store_error: TrackerError | None = None
    """Why runs wait in the spool."""
    unread: TrackerError | None = None
    """Why the result of the command that was run could not be read; the run is logged without it."""
    command_exit_code: int | None = None
    """Exit code of the command that was run."""
    connections: tuple[Connection, ...] = ()
    """Adopted trainings that made the drafters of these runs."""
    renamed_to: str | None = None
    """Campaign that holds all these runs since theirs was renamed; None where they are in their own."""

    @property
    def has_errors(self) -> bool:
        """Whether any run carries a finding of severity error."""
        return any(finding.severity == "error" for item in self.outcomes for finding in item.record.findings)


def log_run(request: LogRequest, session: Session) -> LogResult:
    """Log everything the request names and return what became of it.

    Nothing is stored unless all of it could be read. What was read is in the spool before the store is asked.

    Raises:
        InputError: An input cannot be read; nothing was logged. After a command it is returned as `unread` instead.
        UsageError: The request names nothing to log, or options that contradict each other.
        ServerError: A live server named does not answer.
        CheckpointError: A checkpoint named cannot be described.
        RunNotFoundError: The training named is neither a folder nor a run of the store.
    """
    campaign = _campaign(request)
    trained = named_training(request.training, session)
    server = read_sources(request.server)
    if request.command:
        _require_loggable(request, campaign, session)
    watched = command_watch.run(request.command, session.environ) if request.command else None
    unread: TrackerError | None = None
    if watched is None:
        sources, detected = _sources(request, campaign, watched)
    else:
        # What ran cannot be had again: it is logged with its output even where its result cannot be read.
        try:
            if request.server.url:
                server = _merge(server, read_sources(ServerOptions(url=request.server.url)))
            sources, detected = _sources(request, campaign, watched)
        except (InputError, ServerError) as error:
            unread = error
            sources, detected = (Source(imported=_from_command(str(error)), importer="command"),), ()
    attachments = watched.attachments if watched else ()
    told = _provenance(watched, session)

    def recorded(request: LogRequest) -> list[LoggedRun]:
        return [
            _record(one, request, campaign, server, watched, attachments, session, told, trained) for one in sources
        ]

    try:
        runs = recorded(request)
    except CheckpointError as error:
        if watched is None:
            raise
        # It was there before the command ran, which cannot be had again.
        runs, unread = recorded(dataclasses.replace(request, drafter=None, target=None)), error
    exit_code = watched.exit_code if watched else None
    if request.dry_run:
        outcomes = tuple(LoggedOutcome(run_id=None, record=run.record) for run in runs)
        return LogResult(outcomes=outcomes, detected=detected, unread=unread, command_exit_code=exit_code)
    outcomes, failed, renamed_to = _store(runs, campaign, session)
    connections: tuple[Connection, ...] = ()
    if failed is None:
        connections, failed = _connect(outcomes, session)
    return LogResult(
        outcomes=outcomes,
        detected=detected,
        store_error=failed,
        unread=unread,
        command_exit_code=exit_code,
        connections=connections,
        renamed_to=renamed_to,
    )


def _require_loggable(request: LogRequest, campaign: CampaignFile | None, session: Session) -> None:
    """Refuse what a command's result could not be logged with, before it has run for hours."""
    experiment = _experiment(request, campaign, session.environ)
    require_loggable(experiment, (request.drafter, request.target), None if request.dry_run else session)
    require_format(request.format)
    if request.metrics:
        typed_runs(request.metrics, None if request.inputs else request.columns)


def _connect(outcomes: Sequence[LoggedOutcome], session: Session) -> tuple[tuple[Connection, ...], TrackerError | None]:
    """Connect benchmarks with adopted trainings; the runs are stored, so that nothing is lost where this fails."""
    waiting = [
        item.run_id
        for item in outcomes
        if item.run_id is not None
        and item.record.kind == "benchmark"
        and item.record.drafter is not None
        and (item.record.training is None or item.record.training.trained_from is None)
    ]
    try:
        return connect_benchmarks(waiting, session), None
    except StoreError as error:
        return (), error


def _campaign(request: LogRequest) -> CampaignFile | None:
    folders = [path for path in request.inputs if path.name == FILE_NAME or (path / FILE_NAME).is_file()]
    if not folders:
        return None
    if len(request.inputs) > 1:
        raise UsageError(
            "a campaign folder cannot be logged together with other inputs",
            where=str(folders[0]),
            hint="Log it alone; its campaign.toml names its inputs.",
        )
    return read_campaign(folders[0])


def _merge(before: ServerFacts, after: ServerFacts) -> ServerFacts:
    renamed = tuple(
        dataclasses.replace(item, name=item.name.replace("metrics.prom", "metrics_before.prom"))
        for item in before.attachments
        if item.name.endswith("metrics.prom")
    )
    kept = tuple(item for item in before.attachments if not item.name.endswith("metrics.prom"))
    fresh = tuple(item for item in after.attachments if item.name.endswith("metrics.prom"))
    return dataclasses.replace(before, attachments=kept + renamed + fresh)


def _sources(
    request: LogRequest, campaign: CampaignFile | None, watched: command_watch.Watched | None
) -> tuple[tuple[Source, ...], tuple[tuple[str, str], ...]]:
    found: list[Source] = []
    detected: list[tuple[str, str]] = []
    paths: list[tuple[Path, CampaignInput]] = []
    if campaign is not None:
        paths = list(campaign.input_paths())
    else:
        given = [*request.inputs]
        if request.training is not None and request.training.exists():
            given.append(request.training)
        paths = [(path, CampaignInput(path=str(path), format=request.format)) for path in given]
    for path, entry in paths:
        name = entry.format or importers.detect(path).name
        # Beside other inputs, named columns are the table's; alone, any other format refuses them in plain words.
        columns = request.columns if name == TABLE_FORMAT or len(paths) == 1 else None
        runs = importers.read(path, name, columns)
        detected.append((str(path), name))
        digests, kept = originals.digests(path), originals.keep(path, keep_text=request.keep_text)
        found += [_from_file(run, importer=name, entry=entry, digests=digests, kept=kept, path=path) for run in runs]
    if campaign is None:
        found = list(merge(found))
    columns = None if paths else request.columns
    typed = [*importers.from_values(request.rows, columns)] if request.rows else []
    if request.metrics:
        typed += typed_runs(request.metrics, columns)
    found += [Source(imported=run, importer="typed") for run in typed]
    if not found and watched is not None:
        found = [Source(imported=_from_command(NO_RESULT), importer="command")]
    if not found:
        raise UsageError(
            "nothing to log",
            hint="Name a result file, give --metric KEY=VALUE, or put a command after `--`.",
        )
    return tuple(found), tuple(detected)


def _from_file(
    run: ImportedRun,
    *,
    importer: str,
    entry: CampaignInput,
    digests: Sequence[InputFile],
    kept: tuple[Attachment, ...],
    path: Path,
) -> Source:
    files = tuple(dataclasses.replace(item, row=run.row) for item in digests)
    return Source(
        imported=run,
        files=files,
        importer=importer,
        attachments=kept,
        concurrency=entry.concurrency,
        simulated_on_purpose=entry.simulated_acceptance,
        path=path,
    )


def _from_command(missing: str) -> ImportedRun:
    return ImportedRun(missing=missing)


def _provenance(watched: command_watch.Watched | None, session: Session) -> Provenance:
    """Return what is the same for every run of a call: git and the packages are asked once (15 ms), not once a row."""
    return provenance.collect(
        now=session.now,
        environ=session.environ,
        cwd=session.cwd,
        importer=None,
        inputs=(),
        command=watched.command if watched else None,
        command_exit_code=watched.exit_code if watched else None,
        measured_at=watched.started_at if watched else None,
    )


def _record(
    source: Source,
    request: LogRequest,
    campaign: CampaignFile | None,
    server: ServerFacts,
    watched: command_watch.Watched | None,
    attachments: Sequence[Attachment],
    session: Session,
    told: Provenance,
    trained: StoredRun | None,
) -> LoggedRun:
    facts = RunFacts(
        experiment=_experiment(request, campaign, session.environ),
        name=request.name,
        role=request.role,
        concurrency=request.concurrency if request.concurrency is not None else source.concurrency,
        drafter=request.drafter,
        target=request.target,
        samples=request.samples,
        tokens=request.tokens,
        note=request.note,
        tags=request.tags,
        trained=trained,
        server=from_log_head(server, source.server_logs),
        campaign=campaign,
        attachments=(*source.attachments, *attachments),
    )
    run = assemble(
        source.imported, facts, dataclasses.replace(told, importer=source.importer, inputs=tuple(source.files))
    )
    run = held_against_description(run, engine=source.imported.engine)
    if source.simulated_on_purpose:
        run = dataclasses.replace(run, record=run.record.replace(findings=simulated.meant(run.record.findings)))
    if watched is not None and watched.exit_code != 0:
        reasons = [f"command exited with {watched.exit_code}", run.record.validity_reason]
        reason = "; ".join(text for text in reasons if text)
        record = run.record.replace(validity="suspect", validity_reason=reason)
        return dataclasses.replace(run, record=record)
    return run


def _experiment(request: LogRequest, campaign: CampaignFile | None, environ: Mapping[str, str]) -> str:
    named = request.experiment or (campaign.campaign.name if campaign else None)
    named = named or next((environ[name] for name in EXPERIMENT_VARIABLES if environ.get(name)), DEFAULT_EXPERIMENT)
    if "/" in named:
        raise UsageError(
            f"experiment name {named!r} holds a slash, and the MLflow UI then shows only its last part",
            hint=f"Use --experiment {named.replace('/', '-')}.",
        )
    return named


def _store(
    runs: Sequence[LoggedRun], campaign: CampaignFile | None, session: Session
) -> tuple[tuple[LoggedOutcome, ...], TrackerError | None, str | None]:
    """Hand the runs over: to the spool first, then to the store; what the store does not take waits in the spool.

    Returns:
        What became of each run, why some wait, and the campaign that holds them all where theirs was renamed.
    """
    store, spool = session.store(), session.spool
    facts = None if campaign is None else put_campaign(campaign.campaign, spool)
    logged = log_many(runs, store, spool)
    failed = next((item.error for item in logged if item.run_id is None), None)
    if isinstance(failed, RecordConflictError):
        # The input is still where it was: a copy waiting in the spool would only fail again at every sync.
        for item in logged:
            if isinstance(item.error, RecordConflictError) and item.spooled_path is not None:
                spool.done(item.spooled_path)
        if facts is not None:
            facts.unlink(missing_ok=True)
        raise failed
    renamed_to = None
    if failed is None and facts is not None and campaign is not None:
        if campaign.campaign.name in store.experiments():
            send_campaign(facts, store)
        else:
            # A new run would have made it: all are known, and an empty campaign would only hold the old name.
            renamed_to = store.load(next(item.run_id for item in logged if item.run_id)).record.experiment
            facts.unlink(missing_ok=True)
    outcomes = tuple(
        LoggedOutcome(run_id=item.run_id, record=run.record, spooled=item.spooled_path)
        for run, item in zip(runs, logged, strict=True)
    )
    return outcomes, failed, renamed_to
