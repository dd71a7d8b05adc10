"""adopt --forget: an adoption, or one benchmark's connection with a training, taken back.

Corrections are only ever added, so that what a connection told a benchmark is taken back by another correction; what
somebody has corrected since stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracker.domain.record import Amendment, RunRecord, StoredRun
from tracker.environment.provenance import user
from tracker.errors import InputError
from tracker.store import Query
from tracker.store.mlflow_adopt import Adoption
from tracker.store.mlflow_forget import disconnect, find_adopted, forget
from tracker.store.mlflow_store import MlflowStore
from tracker.workflows.adopt_facts import MADE_BY, NOT_MADE_BY, TRAINED_FROM
from tracker.workflows.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was taken back, or would be."""

    run_id: str
    """The training whose adoption was taken back, or the benchmark that was disconnected."""
    name: str
    """Its run name."""
    is_training: bool
    """Whether an adoption was taken back; False: one benchmark's connection."""
    disconnected: tuple[StoredRun, ...] = ()
    """Benchmarks that were connected, as they were before."""
    named_by_hand: tuple[StoredRun, ...] = ()
    """Benchmarks that were logged with `--training` and this run; what they say stays."""
    left_behind: str | None = None
    """Where `record.json` stays because the store deletes no artifacts; None when it is gone."""


def forget_run(wanted: str, session: Session, *, dry_run: bool = False) -> Forgotten:
    """Take back the adoption of a training, or the connection of a benchmark with one, and return what went.

    Args:
        wanted: Run id, beginning of one, or run name: of the training, or of the benchmark.
        session: Settings of the call.
        dry_run: Read only.

    Raises:
        RunNotFoundError: None or several runs have it.
        InputError: The run was not adopted, or the benchmark is not connected with an adopted training.
        StoreError: The store is unreachable; the same call finishes later.
    """
    store = session.mlflow_store()
    run_id = find_adopted(store, wanted)
    if run_id is None:
        return _disconnect_one(store.load(wanted), store, session, dry_run=dry_run)
    name = Adoption(store).find(run_id).name
    benchmarks = [run for run in store.query(Query(kind="benchmark")) if _trained_from(run.record) == run_id]
    connected = [run for run in benchmarks if told_by_connection(run.record, run_id)]
    left = None
    if not dry_run:
        for benchmark in connected:
            _disconnect(benchmark, run_id, f"the adoption of the training {name!r} was taken back", store, session)
        left = forget(store, run_id)
    return Forgotten(
        run_id=run_id,
        name=name,
        is_training=True,
        disconnected=tuple(connected),
        named_by_hand=tuple(run for run in benchmarks if run not in connected),
        left_behind=left,
    )


def told_by_connection(record: RunRecord, training_run_id: str) -> Mapping[str, None]:
    """Return the facts that a connection with this training gave a benchmark and nobody has corrected since."""
    is_ours: dict[str, bool] = {}
    trained_from = None
    for amendment in record.amendments:
        trained_from = amendment.changes.get(TRAINED_FROM, trained_from)
        by_connection = (amendment.reason or "").startswith(MADE_BY) and trained_from == training_run_id
        is_ours |= dict.fromkeys(amendment.changes, by_connection)
    return {key: None for key, ours in is_ours.items() if ours}


def _disconnect_one(benchmark: StoredRun, store: MlflowStore, session: Session, *, dry_run: bool) -> Forgotten:
    training = _trained_from(benchmark.record)
    if training is None or not told_by_connection(benchmark.record, training):
        raise InputError(
            f"the run {benchmark.record.name!r} is not connected with a training by `tracker adopt`",
            where=f"run {benchmark.run_id}",
            hint="Name a training that was adopted, or a benchmark that was connected with one",
        )
    if not dry_run:
        _disconnect(benchmark, training, f"{NOT_MADE_BY}{training}", store, session)
    return Forgotten(run_id=benchmark.run_id, name=benchmark.record.name, is_training=False, disconnected=(benchmark,))


def _disconnect(benchmark: StoredRun, training: str, reason: str, store: MlflowStore, session: Session) -> None:
    changes = told_by_connection(benchmark.record, training)
    store.amend(benchmark.run_id, Amendment(at=session.now, by=user(session.environ), changes=changes, reason=reason))
    disconnect(store, benchmark.run_id, training)


def _trained_from(record: RunRecord) -> str | None:
    return None if record.training is None else record.training.trained_from
