"""A correction written into MLflow: the record first, then the tags that show it. Parameters stay as they were."""

from __future__ import annotations

import hashlib
from typing import Any

from tracker.domain.record import Amendment, RunRecord, StoredRun
from tracker.store.amending import apply_amendment
from tracker.store.codec import encode_record
from tracker.store.mlflow_artifacts import README, RECORD
from tracker.store.mlflow_note import note, readme
from tracker.store.mlflow_projection import MetricValue, project
from tracker.store.mlflow_write import NOTE, RECORD_SHA256, log_files, metric_entity

AMENDED_METRICS = ("train/",)


def amend(client: Any, stored: StoredRun, amendment: Amendment, *, decision_concurrency: int | None) -> None:
    """Write the amended record, its tags, its name and the metrics that an amendment can change.

    Raises:
        InputError: The amendment is not allowed.
    """
    from mlflow.entities import RunTag

    before, run_id = stored.record, stored.run_id
    after = apply_amendment(before, amendment)
    content = encode_record(after)
    log_files(
        client,
        run_id,
        {RECORD: content, README: readme(after, decision_concurrency=decision_concurrency).encode()},
    )
    projection = project(after, decision_concurrency=decision_concurrency)
    tags = {
        **projection.tags,
        NOTE: note(after, decision_concurrency=decision_concurrency),
        RECORD_SHA256: hashlib.sha256(content).hexdigest(),
    }
    outdated = project(before, decision_concurrency=decision_concurrency).tags.keys() - tags.keys()
    for key in sorted(outdated):
        client.delete_tag(run_id, key)
    if after.name != before.name:
        client.update_run(run_id, name=projection.run_name)
    client.log_batch(
        run_id,
        metrics=[metric_entity(value, _amended_ms(amendment)) for value in _changed(before, projection.metrics)],
        tags=[RunTag(key, value) for key, value in tags.items()],
    )


def _changed(before: RunRecord, metrics: tuple[MetricValue, ...]) -> list[MetricValue]:
    old = {value.key: value.value for value in project(before).metrics}
    return [value for value in metrics if value.key.startswith(AMENDED_METRICS) and old.get(value.key) != value.value]


def _amended_ms(amendment: Amendment) -> int:
    return round(1000 * amendment.at.timestamp())
