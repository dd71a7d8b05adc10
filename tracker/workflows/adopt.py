"""adopt: make a trainer's own runs in the store count as trainings, and connect the drafters they made."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from typing import Literal

from tracker.domain.finding import Finding
from tracker.domain.record import RunRecord
from tracker.domain.trainer_run import TrainerRun
from tracker.domain.training import Training
from tracker.environment import provenance
from tracker.errors import InputError, UsageError
from tracker.importers import trainers
from tracker.store.mlflow_adopt import Adoption, AdoptionStatus
from tracker.store.mlflow_store import MlflowStore
from tracker.workflows.adopt_connect import IMPORTER, Connection, connect_trainings
from tracker.workflows.assemble import RunFacts, assemble, describe_if_here
from tracker.workflows.session import Session

Status = AdoptionStatus | Literal["skipped", "dry run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptRequest:
    """What to adopt, and what is known beside it."""

    run: str | None = None
    """Run id, prefix or run name."""
    experiment: str | None = None
    """MLflow experiment, all trainings of which are adopted."""
    form: str | None = None
    """Trainer to take the runs for; None tells by their content."""
    drafter: str | None = None
    """Folder, Hub id or name of the checkpoint that the training made."""
    target: str | None = None
    """Folder, Hub id or name of the model it was trained for."""
    samples: int | None = None
    """Training samples."""
    tokens: int | None = None
    """Training tokens."""
    unfinished: bool = False
    """Adopt a training that has not ended, as far as it has got."""
    dry_run: bool = False
    """Read only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptOutcome:
    """What became of one run."""

    run: TrainerRun
    """As its trainer wrote it."""
    status: Status
    """adopted; updated: had another record; present: had this one; skipped; dry run."""
    trainer: str | None = None
    """Who wrote it; None when skipped."""
    record: RunRecord | None = None
    """What it tells; None when skipped."""
    reason: str | None = None
    """Why it was skipped."""
    connections: tuple[Connection, ...] = ()
    """Benchmarks that served its drafter, newly connected or left alone."""


def adopt_runs(request: AdoptRequest, session: Session) -> tuple[AdoptOutcome, ...]:
    """Adopt the runs that the request names and return what became of each.

    Raises:
        UsageError: Neither or both of run and experiment, or facts of one training for several.
        RunNotFoundError: No such run, or it was deleted.
        InputError: The one run named is of no known trainer, has not ended, or holds no metrics.
        StoreError: The store is unreachable, or has no such experiment.
    """
    _check(request)
    store = session.store()
    if not isinstance(store, MlflowStore):
        raise UsageError("this store holds no runs of other programs", hint="Name an MLflow store with --tracking-uri.")
    adoption = Adoption(store)
    if request.run is not None:
        outcomes = [_adopt(adoption.find(request.run), request, adoption, session)]
    else:
        outcomes = [
            _one_of_many(run, request, adoption, session) for run in adoption.find_all(request.experiment or "")
        ]
    adopted = [outcome.run.run_id for outcome in outcomes if outcome.status not in ("skipped", "dry run")]
    # Only once all are there is it seen which benchmark fits several of them.
    connections = connect_trainings(adopted, store, adoption, session)
    return tuple(
        dataclasses.replace(
            outcome, connections=tuple(item for item in connections if item.concerns(outcome.run.run_id))
        )
        for outcome in outcomes
    )


def _one_of_many(run: TrainerRun, request: AdoptRequest, adoption: Adoption, session: Session) -> AdoptOutcome:
    try:
        return _adopt(run, request, adoption, session)
    except InputError as error:
        return AdoptOutcome(run=run, status="skipped", reason=error.message)


def _check(request: AdoptRequest) -> None:
    if (request.run is None) == (request.experiment is None):
        raise UsageError(
            "nothing to adopt" if request.run is None else "a run and an experiment are two things",
            hint="Give one RUN, or --experiment NAME for all trainings of an MLflow experiment.",
        )
    single = {"--drafter": request.drafter, "--samples": request.samples, "--tokens": request.tokens}
    given = [name for name, value in single.items() if value is not None]
    if request.experiment is not None and given:
        raise UsageError(f"{' and '.join(given)} describe one training", hint="Adopt that run by its id.")


def _adopt(run: TrainerRun, request: AdoptRequest, adoption: Adoption, session: Session) -> AdoptOutcome:
    if not run.has_ended and not request.unfinished:
        raise InputError(
            f"the training {run.name!r} has not ended ({run.status})",
            where=f"run {run.run_id}",
            hint="Adopt it when it has; one that was killed says so for ever: --unfinished takes it as far as it got",
        )
    trainer, record = _record(run, request, session)
    earlier = adoption.logged(run.run_id)
    if earlier is not None:
        record = _with_earlier(record, earlier, request)
    if request.dry_run:
        return AdoptOutcome(run=run, status="dry run", trainer=trainer, record=record)
    status = adoption.adopt(run.run_id, record, at=session.now)
    return AdoptOutcome(run=run, status=status, trainer=trainer, record=record)


def _with_earlier(record: RunRecord, earlier: RunRecord, request: AdoptRequest) -> RunRecord:
    """Return the record with what was said by hand at an earlier adoption, and is not said again."""
    known, told = record.training or Training(), earlier.training or Training()
    training = dataclasses.replace(
        known,
        samples=told.samples if known.samples is None else known.samples,
        tokens=told.tokens if known.tokens is None else known.tokens,
    )
    findings = record.findings if training.samples is None else _without_uncounted(record.findings)
    return record.replace(
        training=training,
        findings=findings,
        drafter=record.drafter if request.drafter is not None else earlier.drafter,
        target=record.target if record.target is not None else earlier.target,
    )


def _without_uncounted(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.code != "TRAINING_DATA_NOT_COUNTED")


def _record(run: TrainerRun, request: AdoptRequest, session: Session) -> tuple[str, RunRecord]:
    """Return who wrote a run, and the record of its training."""
    trainer, imported = trainers.read(run, request.form)
    if request.drafter is not None:
        imported = dataclasses.replace(imported, drafter=describe_if_here(request.drafter))
    if request.target is not None:
        imported = dataclasses.replace(imported, target=describe_if_here(request.target))
    if request.samples is not None:
        imported = dataclasses.replace(imported, findings=_without_uncounted(imported.findings))
    told = provenance.collect(
        now=session.now,
        environ=session.environ,
        cwd=session.cwd,
        importer=f"{IMPORTER}{trainer}",
        inputs=(),
        measured_at=run.started_at,
    )
    # Versions and git state are those of whoever adopts, not of whoever trained.
    told = dataclasses.replace(
        told, packages={}, git_commit=None, git_dirty=None, platform=None, host=None, scheduler={}
    )
    facts = RunFacts(experiment=run.experiment, samples=request.samples, tokens=request.tokens)
    record = assemble(imported, facts, told).record
    validity, reason = record.validity, record.validity_reason
    if not run.has_ended:
        validity, reason = "partial", f"the training had not ended ({run.status})"
    elif run.status != "FINISHED":
        validity, reason = "suspect", f"the training ended as {run.status}"
    return trainer, record.replace(record_id=record_id(run.run_id), validity=validity, validity_reason=reason)


def record_id(run_id: str) -> str:
    """Return the record id of an adopted run: the same however often, and by whomever, it is adopted."""
    return hashlib.sha256(f"mlflow-run:{run_id}".encode()).hexdigest()[:40]
