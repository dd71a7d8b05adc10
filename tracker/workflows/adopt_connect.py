"""Connecting the drafter that an adopted training made with the benchmarks that served it, whichever came first.

A benchmark gets what the training knows and it does not: size, budget, data and the training's run id, as a correction
that is kept with who and when. What the benchmark says itself stays; where the two differ, both are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracker.domain.cleaning import cleaned
from tracker.domain.record import Amendment, StoredRun
from tracker.domain.training import Training
from tracker.environment.provenance import user
from tracker.errors import RunNotFoundError, UsageError
from tracker.store import Query, RunStore
from tracker.store.mlflow_adopt import Adoption
from tracker.store.mlflow_store import MlflowStore
from tracker.workflows.adopt_facts import MADE_BY, TRAINED_FROM, missing_facts, without_refused
from tracker.workflows.adopt_match import By, served_by
from tracker.workflows.session import Session

IMPORTER = "mlflow:"
"""Beginning of the importer's name in the record of an adopted run; the trainer's name follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A benchmark and a training that may have made its drafter."""

    benchmark: StoredRun
    """The benchmark, as it was before."""
    training: StoredRun
    """The training; the first of several."""
    by: By
    """What says that they belong together."""
    rivals: tuple[str, ...] = ()
    """Run ids of other trainings that fit as well; nothing was connected then."""
    differs: tuple[str, ...] = ()
    """Facts that the benchmark and the training tell differently, in words; the benchmark's stay."""

    def concerns(self, run_id: str) -> bool:
        """Return whether this training is the one, or one of several that may be."""
        return run_id in (self.training.run_id, *self.rivals)


def connect_trainings(
    run_ids: Sequence[str], store: RunStore, adoption: Adoption, session: Session
) -> tuple[Connection, ...]:
    """Connect every benchmark that served the drafter of one of these trainings and is not connected yet."""
    if not run_ids:
        return ()
    trainings = adopted_trainings(store)
    found = [find_training(benchmark, trainings) for benchmark in store.query(Query(kind="benchmark"))]
    meant = [item for item in found if item is not None and any(item.concerns(run_id) for run_id in run_ids)]
    for connection in meant:
        _connect(connection, store, adoption, session)
    return tuple(meant)


def connect_benchmarks(run_ids: Sequence[str], session: Session) -> tuple[Connection, ...]:
    """Connect benchmarks that were just logged with the trainings that made their drafters, where some were adopted."""
    store = session.store()
    if not isinstance(store, MlflowStore) or not run_ids:
        return ()
    trainings = adopted_trainings(store)
    if not trainings:
        return ()
    adoption = Adoption(store)
    found = []
    for run_id in run_ids:
        connection = find_training(store.load(run_id), trainings)
        if connection is not None:
            _connect(connection, store, adoption, session)
            found.append(connection)
    return tuple(found)


def named_training(name: Path | None, session: Session) -> StoredRun | None:
    """Return the training of the store that is named; None where none is, or a folder.

    Raises:
        RunNotFoundError: It is neither.
        UsageError: It is a benchmark.
    """
    if name is None or name.exists():
        return None
    try:
        found = session.store().load(str(name))
    except RunNotFoundError as error:
        raise RunNotFoundError(
            f"--training {str(name)!r} is neither a folder nor a training of the store",
            where=error.where,
            hint="Name its folder, a run that was logged, or one that `tracker adopt` took",
        ) from error
    if found.record.kind != "training":
        raise UsageError(f"the run {found.record.name!r} is a benchmark, not a training", where=f"run {found.run_id}")
    return found


def adopted_trainings(store: RunStore) -> tuple[StoredRun, ...]:
    """Return the trainings that were adopted from other programs."""
    found = store.query(Query(kind="training"))
    return tuple(run for run in found if (run.record.provenance.importer or "").startswith(IMPORTER))


def find_training(benchmark: StoredRun, trainings: Sequence[StoredRun]) -> Connection | None:
    """Return the training that made a benchmark's drafter, with its rivals; None without one, or with nothing new.

    A folder says more than a name, and a connection that was made before says more than both.
    """
    record = benchmark.record
    if record.training is not None and record.training.trained_from is not None:
        return _told_more(benchmark, trainings)
    if record.drafter is None:
        return None
    possible = without_refused(record, trainings)
    fits = [(run, by) for run in possible if (by := served_by(run.record, record)) is not None]
    best = [(run, by) for run, by in fits if by == "folder"] or fits
    if not best:
        return None
    (training, by), *rivals = best
    return Connection(
        benchmark=benchmark,
        training=training,
        by=by,
        rivals=tuple(run.run_id for run, _ in rivals),
        differs=_differences(record.training, training.record.training),
    )


def _told_more(benchmark: StoredRun, trainings: Sequence[StoredRun]) -> Connection | None:
    """Return a connection that was made before, where its training has come to tell more since."""
    known = benchmark.record.training
    training = next((run for run in trainings if known is not None and run.run_id == known.trained_from), None)
    if training is None or not missing_facts(known, training.record.training):
        return None
    return Connection(benchmark=benchmark, training=training, by="link")


def _connect(connection: Connection, store: RunStore, adoption: Adoption, session: Session) -> None:
    if connection.rivals:
        return
    benchmark, training = connection.benchmark, connection.training
    adoption.connect(training, benchmark.run_id)
    changes = dict(missing_facts(benchmark.record.training, training.record.training))
    if connection.by != "link":
        changes[TRAINED_FROM] = training.run_id
    amendment = Amendment(
        at=session.now,
        by=user(session.environ),
        changes=cleaned(changes),
        reason=f"{MADE_BY}{training.record.name!r}",
    )
    store.amend(benchmark.run_id, amendment)


def _differences(known: Training | None, told: Training | None) -> tuple[str, ...]:
    if known is None or told is None:
        return ()
    names = ("samples", "tokens", "epochs", "optimizer_steps")
    pairs = [(name, getattr(known, name), getattr(told, name)) for name in names]
    return tuple(
        f"{name.replace('_', ' ')}: {first} with the benchmark, {second} by the training"
        for name, first, second in pairs
        if first is not None and second is not None and first != second
    )
