"""Writing one run into MLflow so that a crash anywhere leaves it absent, or to be completed, but never twice."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tracker.domain.record import LoggedRun, RunRecord
from tracker.store.mlflow_artifacts import RECORD, artifacts
from tracker.store.mlflow_drafters import drafter_model
from tracker.store.mlflow_fetch import uploading
from tracker.store.mlflow_names import MAX_DATASET_NAME, shortened
from tracker.store.mlflow_note import note
from tracker.store.mlflow_projection import CHANGED_AT, SUMMARY, MetricValue, Projection, project, written_at

COMPLETE = "tracker.complete"
RECORD_ID = "tracker.record_id"
CONTENT_SHA256 = "tracker.content_sha256"
RECORD_SHA256 = "tracker.record_sha256"
REQUEST_ROWS = "tracker.request_rows"
MODEL_ID = "drafter.model_id"
NOTE = "mlflow.note.content"
DATASET_DIGEST_CHARACTERS = 28
BATCH_PARAMS = 100
BATCH_ITEMS = 1000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run with everything worked out before the first call to MLflow."""

    run: LoggedRun
    """The run."""
    content_sha256: str
    """Digest of what makes it this run."""
    files: dict[str, bytes]
    """Artifacts by path."""
    projection: Projection
    """Parameters, metrics, tags."""
    tags: dict[str, str]
    """All tags that it has but the mark that it is complete; the time of its last change is the earliest it may be."""


def prepare(run: LoggedRun, *, content_sha256: str, decision_concurrency: int | None) -> Prepared:
    """Return the run ready to be written.

    Raises:
        InputError: An attachment's name cannot be used.
    """
    record = run.record
    files = artifacts(run, decision_concurrency=decision_concurrency)
    projection = project(record, decision_concurrency=decision_concurrency)
    tags = {
        **projection.tags,
        CONTENT_SHA256: content_sha256,
        RECORD_SHA256: hashlib.sha256(files[RECORD]).hexdigest(),
        REQUEST_ROWS: str(len(run.requests)),
        NOTE: note(record, decision_concurrency=decision_concurrency),
    }
    return Prepared(run=run, content_sha256=content_sha256, files=files, projection=projection, tags=tags)


def create_run(client: Any, prepared: Prepared, experiment_id: str) -> Any:
    """Return a new, still incomplete run. When it last changed is said when it is complete."""
    return client.create_run(
        experiment_id,
        start_time=started_ms(prepared.run.record),
        tags={key: value for key, value in prepared.tags.items() if key != CHANGED_AT},
        run_name=prepared.projection.run_name,
    )


def write(client: Any, prepared: Prepared, run: Any, experiment: Any, *, meanwhile: Callable[[], T]) -> T:
    """Write everything into a run and finish it. Writing the same again over a half-written run does no harm.

    The mark that the run is complete travels as a tag of the one batch, which comes last: within a batch MLflow's
    stores write parameters, metrics and tags in this order (3.17, `SqlAlchemyStore.log_batch`; the crash tests prove
    it). What does not fit into one request is split by the client, and then the mark is a call of its own. With it goes
    the time of this moment: whoever has read all changes up to a moment finds what became visible since.

    Args:
        client: MlflowClient.
        prepared: What to write.
        run: MLflow's run to write it into.
        experiment: MLflow's experiment, freshly read.
        meanwhile: What to ask the store while a server takes the files.

    Returns:
        What `meanwhile` returned.
    """
    from mlflow.entities import Param, RunTag

    record, run_id = prepared.run.record, str(run.info.run_id)
    with uploading(client, str(run.info.artifact_uri), prepared.files):
        is_training = record.kind == "training"
        model_id = drafter_model(client, record, experiment, source_run_id=run_id if is_training else None)
        dataset = dataset_of(record)
        link(client, record, run_id, model_id, dataset)
        answer = meanwhile()
    metrics = [_metric(value, record, model_id, dataset) for value in prepared.projection.metrics]
    params = [Param(key, value) for key, value in prepared.projection.params.items()]
    tags = [] if model_id is None else [RunTag(MODEL_ID, model_id)]
    is_one_request = len(params) <= BATCH_PARAMS and len(metrics) + len(params) + len(tags) <= BATCH_ITEMS - 2
    if not is_one_request:
        client.log_batch(run_id, metrics=metrics, params=params, tags=tags)
        metrics, params, tags = [], [], []
    marks = [RunTag(CHANGED_AT, written_at(prepared.tags[CHANGED_AT])), RunTag(COMPLETE, "true")]
    client.log_batch(run_id, metrics=metrics, params=params, tags=[*tags, *marks])
    finish(client, run_id, record)
    return answer


def finish(client: Any, run_id: str, record: RunRecord) -> None:
    """Mark the run as ended: at its start plus the time its measurements took, as far as they say."""
    walls = [cell.wall_s for cell in record.pooled() if cell.wall_s is not None]
    status = "FAILED" if record.provenance.command_exit_code else "FINISHED"
    client.set_terminated(run_id, status=status, end_time=started_ms(record) + round(1000 * sum(walls)))


def log_files(client: Any, run_id: str, files: dict[str, bytes]) -> None:
    """Upload files in one call."""
    with tempfile.TemporaryDirectory(prefix="tracker-") as name:
        folder = Path(name)
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        client.log_artifacts(run_id, str(folder))


def started_ms(record: RunRecord) -> int:
    """Return when the run was measured, in epoch milliseconds."""
    return round(1000 * record.measured_at.timestamp())


def metric_entity(value: MetricValue, timestamp_ms: int) -> Any:
    """Return MLflow's metric without links."""
    from mlflow.entities import Metric

    return Metric(value.key, value.value, timestamp_ms, value.step)


def _metric(value: MetricValue, record: RunRecord, model_id: str | None, dataset: Any | None) -> Any:
    from mlflow.entities import Metric

    # A drafter's page lists every linked number of every run: only those that compare drafters.
    linked = value.key.startswith("train/") or value.key.rpartition("/")[2] in SUMMARY
    return Metric(
        value.key,
        value.value,
        started_ms(record),
        value.step,
        model_id=model_id if linked else None,
        dataset_name=None if dataset is None or not linked else dataset.name,
        dataset_digest=None if dataset is None or not linked else dataset.digest,
    )


def dataset_of(record: RunRecord) -> Any | None:
    """Return the prompt or training set as MLflow's data set, with our own digest; None when it has no name."""
    from mlflow.entities import Dataset

    if record.kind == "training":
        name = None if record.training is None else record.training.data_name
        digest = None if record.training is None else record.training.data_digest
    else:
        name = None if record.workload is None else record.workload.prompt_set
        digest = None if record.workload is None else record.workload.prompt_set_digest
    if name is None and digest is None:
        return None
    shown = "not-recorded" if digest is None else f"sha256-{digest.removeprefix('sha256:')[:DATASET_DIGEST_CHARACTERS]}"
    source = shortened(name or f"unnamed-{shown}", MAX_DATASET_NAME, where=RECORD)
    return Dataset(name=source, digest=shown, source_type="tracker", source=f'{{"record": "{RECORD}"}}')


def link(client: Any, record: RunRecord, run_id: str, model_id: str | None, dataset: Any | None) -> None:
    """Name the run's data set as its input, and its drafter as what it served or made; again, nothing changes."""
    from mlflow.entities import DatasetInput, InputTag, LoggedModelInput, LoggedModelOutput

    is_training = record.kind == "training"
    context = "training" if is_training else "benchmark"
    datasets = [] if dataset is None else [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])]
    models = [] if model_id is None or is_training else [LoggedModelInput(model_id)]
    if datasets or models:
        client.log_inputs(run_id, datasets=datasets or None, models=models or None)
    if model_id is not None and is_training and not _has_made(client, run_id, model_id):
        steps = None if record.training is None else record.training.optimizer_steps
        client.log_outputs(run_id, [LoggedModelOutput(model_id, 0 if steps is None else steps)])


def _has_made(client: Any, run_id: str, model_id: str) -> bool:
    """Return whether a run names a model as its output already: MLflow refuses to be told so twice."""
    outputs = client.get_run(run_id).outputs
    return outputs is not None and any(output.model_id == model_id for output in outputs.model_outputs)
