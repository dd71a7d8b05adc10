"""Adoption taken back: what tracker added to a run of another program is removed, and nothing else.

The trainer's own tags, parameters, metrics, artifacts, name and state stay, and so do tags that people gave the run
since. The mark that makes the record count goes first and the mark of the adoption last: after a crash the same call
finishes. MLflow (3.17) has no call that takes back a data set named as a run's input or a model named as its output;
those two entries stay, the model's own page goes unless another run uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracker.domain.record import RunRecord
from tracker.errors import InputError, StoreError
from tracker.store.codec import decode_record
from tracker.store.mlflow_adopt import (
    ADOPTED,
    FINDING,
    FOREIGN_TAGS,
    KIND,
    THEIRS,
    find,
    is_adopted,
    theirs,
)
from tracker.store.mlflow_amendments import amended, touched_tags
from tracker.store.mlflow_artifacts import RECORD
from tracker.store.mlflow_drafters import KNOWN, TRAINED_BY, forget_training
from tracker.store.mlflow_experiments import CAMPAIGN_SHA256, OURS
from tracker.store.mlflow_projection import project
from tracker.store.mlflow_read import read_artifact, search
from tracker.store.mlflow_view import VIEW_TAG
from tracker.store.mlflow_write import COMPLETE, MODEL_ID

if TYPE_CHECKING:
    from tracker.store.mlflow_store import MlflowStore

OUR_TAGS = "tracker."
LAST = (THEIRS, ADOPTED)


def find_adopted(store: MlflowStore, wanted: str) -> str | None:
    """Return the run id of the adopted run with this id, beginning of one, or name; None where tracker wrote it itself.

    Raises:
        RunNotFoundError: None or several have it, or it was deleted.
        InputError: Another program wrote it, and it was not adopted.
        StoreError: The store is unreachable.
    """
    with store.speaking(f"the run {wanted!r} could not be read") as client:
        run = find(client, wanted, where=store.uri)
    if is_adopted(run):
        return str(run.info.run_id)
    if KIND in run.data.tags:
        return None
    raise InputError(
        f"the run {run.info.run_name!r} was not adopted",
        where=f"run {run.info.run_id}",
        hint="There is nothing to take back",
    )


def forget(store: MlflowStore, run_id: str) -> str | None:
    """Remove what adoption added to a run; return where its `record.json` stays, where the store cannot delete it.

    Raises:
        StoreError: The store is unreachable or refuses; the same call finishes later.
    """
    with store.speaking(f"the adoption of {run_id} could not be taken back") as client:
        run = client.get_run(run_id)
        if COMPLETE in run.data.tags:
            client.delete_tag(run_id, COMPLETE)
        _forget_model(client, run)
        for key in _added_tags(client, run):
            client.delete_tag(run_id, key)
        left = _delete_record(client, run)
        _forget_campaign(client, run)
        for key in LAST:
            if key in run.data.tags:
                client.delete_tag(run_id, key)
    return left


def disconnect(store: MlflowStore, benchmark_run_id: str, training_run_id: str) -> None:
    """Remove from a benchmark the tag that names the training of its drafter, where it names this one."""
    with store.speaking(f"the run {benchmark_run_id} could not be disconnected") as client:
        run = client.get_run(benchmark_run_id)
        if run.data.tags.get(TRAINED_BY) == training_run_id:
            if (model_id := run.data.tags.get(MODEL_ID)) is not None:
                _disconnect_model(client, run, model_id, training_run_id)
            client.delete_tag(benchmark_run_id, TRAINED_BY)


def _disconnect_model(client: Any, benchmark: Any, model_id: str, training_run_id: str) -> None:
    """Let the drafter's page forget its training, unless another benchmark of it is connected with the same."""
    number = benchmark.info.experiment_id
    connected = search(client, [number], f"tags.`{TRAINED_BY}` = '{training_run_id}'")
    others = [run for run in connected if run.info.run_id != benchmark.info.run_id]
    if not any(run.data.tags.get(MODEL_ID) == model_id for run in others):
        forget_training(client, client.get_experiment(number), model_id, training_run_id)


def _added_tags(client: Any, run: Any) -> Iterator[str]:
    """Yield the tags to delete, those by which the others are known last."""
    tags, own = run.data.tags, theirs(run)
    record = _record(client, run)
    ours = {MODEL_ID}
    if record is not None:
        after = amended(record, tags)
        ours |= project(record).tags.keys() | project(after).tags.keys() | touched_tags(after)
    gone = {COMPLETE, *LAST}
    found = [key for key in tags if key in ours or key.startswith((OUR_TAGS, FINDING))]
    for key in sorted(found, key=lambda key: (key.startswith(OUR_TAGS), key)):
        if key not in own and key not in gone and not key.startswith(FOREIGN_TAGS):
            yield key


def _record(client: Any, run: Any) -> RunRecord | None:
    try:
        return decode_record(read_artifact(client, run, RECORD), where=f"run {run.info.run_id}, {RECORD}")
    except StoreError:
        return None  # deleted by a call that was killed, or lost: the tags are known by their names' beginnings


def _forget_model(client: Any, run: Any) -> None:
    """Delete the page of the drafter, where adoption made it and no other run uses it."""
    model_id, run_id = run.data.tags.get(MODEL_ID), run.info.run_id
    if model_id is None or MODEL_ID in theirs(run):
        return
    number = run.info.experiment_id
    models = client.search_logged_models([number], filter_string=f"attributes.model_id = '{model_id}'")
    used = search(client, [number], f"tags.`{MODEL_ID}` = '{model_id}' AND attributes.run_id != '{run_id}'")
    if any(True for _ in used) or any(model.source_run_id != run_id for model in models):
        return
    if f"{KNOWN}{model_id}" in client.get_experiment(number).tags:
        client.delete_experiment_tag(number, f"{KNOWN}{model_id}")
    for model in models:
        client.delete_logged_model(model.model_id)


def _delete_record(client: Any, run: Any) -> str | None:
    from mlflow.exceptions import MlflowException
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    if not any(item.path == RECORD for item in client.list_artifacts(run.info.run_id)):
        return None
    place = f"{run.info.artifact_uri.rstrip('/')}/{RECORD}"
    try:
        get_artifact_repository(run.info.artifact_uri, tracking_uri=client.tracking_uri).delete_artifacts(RECORD)
    except (MlflowException, NotImplementedError, OSError):
        return place
    return None


def _forget_campaign(client: Any, run: Any) -> None:
    """Take the mark of a campaign from an experiment that a trainer made and that holds no run of tracker's."""
    from mlflow.entities import ViewType

    number = run.info.experiment_id
    tags = client.get_experiment(number).tags
    if OURS not in tags or CAMPAIGN_SHA256 in tags or VIEW_TAG in tags:
        return
    condition = f"tags.`{KIND}` IS NOT NULL AND attributes.run_id != '{run.info.run_id}'"
    if not any(True for _ in search(client, [number], condition, view=ViewType.ALL)):
        client.delete_experiment_tag(number, OURS)
