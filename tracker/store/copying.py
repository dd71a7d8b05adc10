"""Copying all runs of one MLflow store into another, as often as one likes: a run that is there stays the one it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tracker.domain.record import StoredRun
from tracker.errors import RecordConflictError, StoreError
from tracker.store.base import Query
from tracker.store.failures import StoreDownError
from tracker.store.mlflow_store import MlflowStore

CopyStatus = Literal["copied", "amended", "present", "conflict", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOutcome:
    """What became of one run, or of one campaign's facts."""

    experiment: str
    """Campaign."""
    name: str
    """The run's name; `campaign facts` for those."""
    status: CopyStatus
    """copied; amended: was there, later corrections were added; present: was there; conflict: is there with other
    content, which stays; failed: could not be read or written."""
    run_id: str | None = None
    """Its id in the store copied to; None where it did not get there, and for facts."""
    error: StoreError | RecordConflictError | None = None
    """Why it was not copied."""


FACTS = "campaign facts"


def copy_store(source: MlflowStore, target: MlflowStore) -> Iterator[CopyOutcome]:
    """Yield an outcome a run and a campaign as they are copied. The source is only read.

    Raises:
        StoreError: Either store does not answer, or the source cannot be searched.
    """
    for experiment in source.experiments():
        yield from _copy_facts(source, target, experiment)
        there = {run.record.record_id: run for run in target.query(Query(experiment=experiment))}
        for run in source.query(Query(experiment=experiment)):
            try:
                yield _copy(source, target, run, there.get(run.record.record_id))
            except StoreDownError:
                raise
            except RecordConflictError as error:
                yield _outcome(run, "conflict", error=error)
            except StoreError as error:
                yield _outcome(run, "failed", error=error)


def _copy_facts(source: MlflowStore, target: MlflowStore, experiment: str) -> Iterator[CopyOutcome]:
    ours = source.load_campaign(experiment)
    if ours is None:
        return
    theirs = target.load_campaign(ours.name)
    if theirs is None:
        target.save_campaign(ours)
    if theirs is None or theirs == ours:
        yield CopyOutcome(experiment=ours.name, name=FACTS, status="copied" if theirs is None else "present")
        return
    error = RecordConflictError(
        "the campaign has other facts there, which stay",
        where=target.uri,
        hint="Log its campaign.toml again to replace them",
    )
    yield CopyOutcome(experiment=ours.name, name=FACTS, status="conflict", error=error)


def _copy(source: MlflowStore, target: MlflowStore, run: StoredRun, there: StoredRun | None) -> CopyOutcome:
    digest = source.content_sha256(run.run_id)
    if there is None or target.content_sha256(there.run_id) != digest:
        # What makes a run this run was fixed when it was logged; corrections since then must not make it another.
        run_id = target.save_as(source.whole_run(run), content_sha256=digest)
        return _outcome(run, "copied", run_id=run_id)
    known = there.record.amendments
    missing = run.record.amendments[len(known) :]
    if run.record.amendments[: len(known)] != known:
        raise RecordConflictError(
            f"the run is corrected differently there ({there.run_id}), and stays so",
            where=target.uri,
            hint=f"Correct it there with `tracker amend {there.run_id}`",
        )
    for amendment in missing:
        target.amend(there.run_id, amendment)
    return _outcome(run, "amended" if missing else "present", run_id=there.run_id)


def _outcome(
    run: StoredRun,
    status: CopyStatus,
    *,
    run_id: str | None = None,
    error: StoreError | RecordConflictError | None = None,
) -> CopyOutcome:
    record = run.record
    return CopyOutcome(experiment=record.experiment, name=record.name, status=status, run_id=run_id, error=error)
