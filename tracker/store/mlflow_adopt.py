"""Runs of other programs in the same store, adopted where they lie.

What a trainer wrote stays as it is: its parameters, metrics, tags, artifacts, name and state. Added are `record.json`
beside its artifacts, tags that it has not set, the drafter as the run's output and the data as its input. A mark goes
first and the tag that makes the record count goes last: after a crash a run is adopted or it is not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from tracker.domain.record import LoggedRun, RunRecord, StoredRun
from tracker.domain.trainer_run import TrainerRun
from tracker.domain.training import MetricPoint
from tracker.errors import InputError, RunNotFoundError, StoreError
from tracker.store.codec import content_digest, decode_record, encode_record
from tracker.store.matching import MIN_PREFIX, SHOWN_CANDIDATES
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_drafters import TRAINED_BY, drafter_model, name_training
from tracker.store.mlflow_experiments import OURS, find_experiments, is_campaign
from tracker.store.mlflow_names import MAX_TAG, storable
from tracker.store.mlflow_projection import CHANGED_AT, project, written_at
from tracker.store.mlflow_read import is_complete, read_artifact, search, text_condition
from tracker.store.mlflow_write import (
    COMPLETE,
    CONTENT_SHA256,
    MODEL_ID,
    RECORD_SHA256,
    REQUEST_ROWS,
    dataset_of,
    link,
    log_files,
)

if TYPE_CHECKING:
    from tracker.store.mlflow_store import MlflowStore

AdoptionStatus = Literal["adopted", "updated", "present"]

ADOPTED = "tracker.adopted"
"""Tag: `begun` while a run is being adopted, else when it was, UTC."""
BEGUN = "begun"
THEIRS = "tracker.adopted_tags"
"""Tag: names of tags that the run had before, separated by blanks; these are never written."""
KIND = "tracker.kind"
FINDING = "finding."
RUN_ID_LENGTH = 32
# MLflow's own measurements of the machine; no metrics of a training.
MACHINE = "system/"
# Tags by which MLflow itself describes a run: its user, source and note are the trainer's.
FOREIGN_TAGS = "mlflow."


class Adoption:
    """Runs of other programs in one MLflow store."""

    def __init__(self, store: MlflowStore) -> None:
        """Look for them in `store`."""
        self._store = store

    def find(self, wanted: str) -> TrainerRun:
        """Return the one run with this run id, unambiguous beginning of one, or run name, in any experiment.

        Raises:
            RunNotFoundError: None or several have it, or it was deleted.
            InputError: tracker wrote it itself.
            StoreError: The store is unreachable.
        """
        with self._store.speaking(f"the run {wanted!r} could not be read") as client:
            run = find(client, wanted, where=self._store.uri)
            if is_ours(run):
                raise InputError(
                    f"tracker logged the run {run.info.run_name!r} itself",
                    where=f"run {run.info.run_id}",
                    hint="There is nothing to adopt; `tracker show` shows it",
                )
            return read(client, run)

    def find_all(self, experiment: str) -> Iterator[TrainerRun]:
        """Yield the runs of an experiment that other programs wrote, oldest first.

        Raises:
            StoreError: There is no such experiment, or the store is unreachable.
        """
        with self._store.speaking(f"the experiment {experiment!r} could not be read") as client:
            runs = runs_in(client, experiment, where=self._store.uri)
        for run in runs:
            with self._store.speaking(f"the run {run.info.run_id} could not be read") as client:
                found = read(client, run)
            yield found

    def logged(self, run_id: str) -> RunRecord | None:
        """Return the record that a run was adopted with, without later corrections; None where it was not adopted."""
        with self._store.speaking(f"the run {run_id} could not be read") as client:
            run = client.get_run(run_id)
            if not (is_adopted(run) and is_complete(run)):
                return None
            return decode_record(read_artifact(client, run, RECORD), where=f"run {run_id}, {RECORD}")

    def adopt(self, run_id: str, record: RunRecord, *, at: datetime) -> AdoptionStatus:
        """Add a record to the run that it describes; see `adopt`."""
        with self._store.speaking(f"the run {run_id} could not be adopted") as client:
            return adopt(client, client.get_run(run_id), record, at=at)

    def connect(self, training: StoredRun, benchmark_run_id: str) -> None:
        """Link a benchmark with the training that made its drafter; see `connect`."""
        with self._store.speaking(f"the run {benchmark_run_id} could not be connected") as client:
            connect(client, training.record, training.run_id, benchmark_run_id)


def is_adopted(run: Any) -> bool:
    """Return whether another program wrote this run and it was adopted."""
    return ADOPTED in run.data.tags


def is_ours(run: Any) -> bool:
    """Return whether tracker wrote this run: a benchmark, a training or a memo."""
    return KIND in run.data.tags and not is_adopted(run)


def theirs(run: Any) -> frozenset[str]:
    """Return the names of the tags that a run had before it was adopted."""
    tags = run.data.tags
    return frozenset(tags[THEIRS].split(" ") if THEIRS in tags else tags)


def allowed_tags(tags: Mapping[str, str], run: Any) -> dict[str, str]:
    """Return those of a record's tags that may be written to a run which another program wrote."""
    own = theirs(run)
    return {key: value for key, value in tags.items() if not key.startswith(FOREIGN_TAGS) and key not in own}


def find(client: Any, wanted: str, *, where: str) -> Any:
    """Return the one run with this run id, unambiguous beginning of one, or run name, in any experiment.

    Raises:
        RunNotFoundError: None or several have it, or it was deleted.
    """
    wanted = storable(wanted)
    if len(wanted) == RUN_ID_LENGTH and all(character in "0123456789abcdef" for character in wanted.lower()):
        found = [client.get_run(wanted.lower())]
    else:
        found = _called(client, wanted)
    if not found:
        raise RunNotFoundError(
            f"no run has the id or name {wanted!r}",
            where=where,
            hint="`tracker adopt --experiment NAME` adopts all trainings of one MLflow experiment",
        )
    if len(found) > 1:
        shown = "; ".join(f"{run.info.run_id} ({run.info.run_name})" for run in found[:SHOWN_CANDIDATES])
        raise RunNotFoundError(
            f"{len(found)} runs match {wanted!r}: {shown}", where=where, hint="Give more of the run id"
        )
    (run,) = found
    if run.info.lifecycle_stage != "active":
        raise RunNotFoundError(
            f"the run {run.info.run_id} was deleted",
            where=where,
            hint=f"`mlflow runs restore --run-id {run.info.run_id}`",
        )
    return run


def _called(client: Any, wanted: str) -> list[Any]:
    ids = [experiment.experiment_id for experiment in find_experiments(client).values()]
    conditions = [text_condition("attributes.run_name", wanted)]
    if len(wanted) >= MIN_PREFIX and all(character in "0123456789abcdef" for character in wanted.lower()):
        conditions.append(f"attributes.run_id LIKE '{wanted.lower()}%'")
    found: dict[str, Any] = {}
    for condition in conditions:
        for run in search(client, ids, condition):
            if run.info.run_name == wanted or run.info.run_id.startswith(wanted.lower()):
                found[run.info.run_id] = run
    # A benchmark is often called like its drafter's training; only the training can be meant.
    runs = [found[key] for key in sorted(found)]
    return [run for run in runs if not is_ours(run)] or runs


def runs_in(client: Any, experiment: str, *, where: str) -> list[Any]:
    """Return the active runs of an experiment that other programs wrote, oldest first.

    Raises:
        StoreError: There is no such experiment; lists those there are.
    """
    experiments = find_experiments(client)
    if experiment not in experiments:
        raise StoreError(
            f"there is no experiment {experiment!r}",
            where=where,
            hint=f"Experiments here: {', '.join(sorted(experiments)) or 'none'}",
        )
    found = search(client, [experiments[experiment].experiment_id], "")
    return sorted(
        (run for run in found if not is_ours(run)), key=lambda run: (run.info.start_time or 0, run.info.run_id)
    )


def read(client: Any, run: Any) -> TrainerRun:
    """Return a run with every point of its metrics."""
    started = run.info.start_time
    return TrainerRun(
        run_id=run.info.run_id,
        experiment=client.get_experiment(run.info.experiment_id).name,
        name=run.info.run_name or run.info.run_id,
        status=run.info.status,
        started_at=None if started is None else datetime.fromtimestamp(started / 1000, UTC),
        params=dict(run.data.params),
        points=tuple(_points(client, run)),
    )


def _points(client: Any, run: Any) -> Iterator[MetricPoint]:
    for name in sorted(run.data.metrics):
        if name.startswith(MACHINE):
            continue
        for point in client.get_metric_history(run.info.run_id, name):
            # MLflow writes infinity as the largest float; neither that nor NaN is a measurement.
            if point.step >= 0 and abs(point.value) < 1e300:
                yield MetricPoint(name=name, step=point.step, value=point.value)


def adopt(client: Any, run: Any, record: RunRecord, *, at: datetime) -> AdoptionStatus:
    """Add a record to its run and return what that changed: `updated` another record, or nothing where `present`.

    Args:
        client: MlflowClient.
        run: The run, freshly read.
        record: What it tells.
        at: The moment of the call, UTC.

    Raises:
        InputError: The run has an artifact `record.json` of its own.
    """
    from mlflow.entities import RunTag

    run_id = run.info.run_id
    digest = content_digest(LoggedRun(record=record))
    complete = is_complete(run)
    if complete and run.data.tags.get(CONTENT_SHA256) == digest:
        return "present"
    if not is_adopted(run):
        _begin(client, run)
    experiment = client.get_experiment(run.info.experiment_id)
    if not is_campaign(experiment):
        client.set_experiment_tag(experiment.experiment_id, OURS, "1")
    content = encode_record(record)
    log_files(client, run_id, {RECORD: content})
    model_id = drafter_model(client, record, experiment, source_run_id=run_id)
    link(client, record, run_id, None if model_id in _outputs(run) else model_id, dataset_of(record))
    tags = allowed_tags(project(record).tags, run) | {
        CONTENT_SHA256: digest,
        RECORD_SHA256: hashlib.sha256(content).hexdigest(),
        REQUEST_ROWS: "0",
        ADOPTED: at.astimezone(UTC).isoformat(timespec="seconds"),
    }
    if model_id is not None:
        tags[MODEL_ID] = model_id
    for key in sorted(run.data.tags.keys() - tags.keys() - theirs(run)):
        if key.startswith(FINDING):
            client.delete_tag(run_id, key)
    # Whoever has read all changes up to a moment looks for what became visible since.
    marks = {CHANGED_AT: written_at(tags.pop(CHANGED_AT)), COMPLETE: "true"}
    client.log_batch(run_id, tags=[RunTag(key, value) for key, value in tags.items()])
    client.log_batch(run_id, tags=[RunTag(key, value) for key, value in marks.items()])
    return "updated" if complete else "adopted"


def _begin(client: Any, run: Any) -> None:
    """Mark a run as being adopted, with the names of the tags that are its own.

    Raises:
        InputError: It has an artifact `record.json` of its own.
    """
    from mlflow.entities import RunTag

    run_id = run.info.run_id
    if any(item.path == RECORD for item in client.list_artifacts(run_id)):
        raise InputError(
            f"the run {run_id} has an artifact {RECORD} of its own, which would be overwritten",
            where=f"run {run_id}",
            hint="Log the training's folder with `tracker log-run` instead",
        )
    own = " ".join(sorted(run.data.tags))
    client.log_batch(run_id, tags=[RunTag(THEIRS, own[:MAX_TAG]), RunTag(ADOPTED, BEGUN)])


def connect(client: Any, training: RunRecord, training_run_id: str, benchmark_run_id: str) -> None:
    """Link a benchmark with the training that made its drafter, in both directions; again, nothing changes."""
    from mlflow.entities import LoggedModelOutput

    benchmark = client.get_run(benchmark_run_id)
    if benchmark.data.tags.get(TRAINED_BY) != training_run_id:
        client.set_tag(benchmark_run_id, TRAINED_BY, training_run_id)
    model_id = benchmark.data.tags.get(MODEL_ID)
    if model_id is None:
        return
    run = client.get_run(training_run_id)
    name_training(client, client.get_experiment(benchmark.info.experiment_id), model_id, training, run)
    if model_id not in _outputs(run):
        steps = None if training.training is None else training.training.optimizer_steps
        client.log_outputs(training_run_id, [LoggedModelOutput(model_id, 0 if steps is None else steps)])


def _outputs(run: Any) -> frozenset[str]:
    """Return the models that a run is known to have made: MLflow refuses to be told one twice."""
    return frozenset() if run.outputs is None else frozenset(output.model_id for output in run.outputs.model_outputs)
