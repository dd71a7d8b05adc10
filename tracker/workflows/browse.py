"""runs, show and compare: the store, read for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tracker.collector import collector_at_rest
from tracker.domain.measurement import Measurement
from tracker.domain.record import StoredRun
from tracker.store.base import Query
from tracker.store.matching import no_campaign
from tracker.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """One run at one concurrency, for a table."""

    run_id: str
    """Store id."""
    experiment: str
    """Campaign."""
    name: str
    """Run name."""
    role: str | None
    """baseline or candidate."""
    concurrency: int | None
    """Streams."""
    output_throughput_tok_s: float | None
    """Tokens per second."""
    accept_length: float | None
    """Bonus included."""
    validity: str
    """ok, suspect, partial or invalid."""
    errors: int
    """Findings of severity error."""
    logged_at: datetime
    """UTC."""


@collector_at_rest()
def list_runs(session: Session, *, experiment: str | None, since: datetime | None) -> tuple[RunLine, ...]:
    """Return one line a run and concurrency, oldest first.

    Raises:
        StoreError: The store is unreachable, or holds no such campaign.
    """
    store = session.store()
    known = store.experiments()
    if experiment is not None and experiment not in known:
        raise no_campaign(experiment, known, where=store.uri)
    runs = store.query(Query(experiment=experiment, logged_since=since))
    return tuple(line for run in runs for line in _lines(run))


def load_runs(session: Session, names: Sequence[str]) -> tuple[StoredRun, ...]:
    """Return runs by id, prefix or name.

    Raises:
        RunNotFoundError: One names no run, or several.
    """
    store = session.store()
    return tuple(store.load(name) for name in names)


def _lines(run: StoredRun) -> list[RunLine]:
    cells: tuple[Measurement | None, ...] = run.record.pooled() or (None,)
    return [
        RunLine(
            run_id=run.run_id,
            experiment=run.record.experiment,
            name=run.record.name,
            role=run.record.role or run.record.kind,
            concurrency=cell.concurrency if cell else None,
            output_throughput_tok_s=cell.output_throughput_tok_s if cell else None,
            accept_length=cell.accept_length if cell else None,
            validity=run.record.validity,
            errors=sum(finding.severity == "error" for finding in run.record.findings),
            logged_at=run.record.provenance.logged_at,
        )
        for cell in cells
    ]
