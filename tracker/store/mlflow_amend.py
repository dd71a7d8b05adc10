"""A correction written into MLflow: added to the run in one batch with the tags that show it.

Parameters and `record.json` stay as they were logged. Whoever adds a correction reads the run again afterwards: where
somebody else has added one meanwhile, what MLflow shows is written once more from both, so that whoever comes last
shows all of them (see mlflow_amendments).
"""

from __future__ import annotations

from typing import Any

from tracker.domain.record import Amendment, RunRecord
from tracker.errors import StoreError
from tracker.store.amending import apply_amendment
from tracker.store.mlflow_adopt import allowed_tags, is_adopted, theirs
from tracker.store.mlflow_amendments import amended, amendment_tags, touched_tags
from tracker.store.mlflow_artifacts import README
from tracker.store.mlflow_note import note, readme
from tracker.store.mlflow_open import quiet
from tracker.store.mlflow_projection import CHANGED_AT, MetricValue, changed_at, project, written_at
from tracker.store.mlflow_write import NOTE, log_files, metric_entity

AMENDED_METRICS = ("train/",)
ATTEMPTS = 20
NOT_FOUND = "RESOURCE_DOES_NOT_EXIST"


def amend(
    client: Any, run_id: str, logged: RunRecord, amendment: Amendment, *, decision_concurrency: int | None
) -> None:
    """Add a correction to a run, and show it in tags, name, description and the metrics that it can change.

    Args:
        client: MlflowClient.
        run_id: The run.
        logged: Its record without the corrections that its tags hold.
        amendment: The correction.
        decision_concurrency: The campaign's.

    Raises:
        InputError: The amendment is not allowed.
        StoreError: Others correct the run faster than it can be shown; the correction itself is kept.
    """
    run = client.get_run(run_id)
    before = amended(logged, run.data.tags)
    added = amendment_tags(amendment, run.data.tags)
    after = apply_amendment(before, amendment) if added else before
    for _ in range(ATTEMPTS):
        _show(client, run, before, after, added, decision_concurrency)
        run = client.get_run(run_id)
        before, after, added = after, amended(logged, run.data.tags), {}
        if before == after:
            return
    raise StoreError(
        f"the run {run_id} is being corrected by others all the time",
        where=run_id,
        hint="The correction is kept; `tracker amend` once more shows it in MLflow's columns too",
    )


def _show(
    client: Any, run: Any, before: RunRecord, after: RunRecord, added: dict[str, str], decision_concurrency: int | None
) -> None:
    from mlflow.entities import RunTag

    added |= {CHANGED_AT: written_at(changed_at(after))}
    if is_adopted(run):
        _show_adopted(client, run, after, added)
        return
    run_id = run.info.run_id
    projection = project(after, decision_concurrency=decision_concurrency)
    tags = {**projection.tags, NOTE: note(after, decision_concurrency=decision_concurrency), **added}
    moment_ms = round(1000 * after.amendments[-1].at.timestamp())
    client.log_batch(
        run_id,
        metrics=[metric_entity(value, moment_ms) for value in _changed(before, projection.metrics)],
        tags=[RunTag(key, value) for key, value in tags.items()],
    )
    for key in sorted((touched_tags(after) & run.data.tags.keys()) - tags.keys()):
        _delete_tag(client, run_id, key)
    if run.info.run_name != projection.run_name:
        client.update_run(run_id, name=projection.run_name)
    log_files(client, run_id, {README: readme(after, decision_concurrency=decision_concurrency).encode()})


def _show_adopted(client: Any, run: Any, after: RunRecord, added: dict[str, str]) -> None:
    """Show a correction of a run that another program wrote: in tags of ours, and in nothing that is the program's."""
    from mlflow.entities import RunTag

    tags = allowed_tags(project(after).tags, run) | added
    client.log_batch(run.info.run_id, tags=[RunTag(key, value) for key, value in tags.items()])
    for key in sorted((touched_tags(after) & run.data.tags.keys()) - tags.keys() - theirs(run)):
        _delete_tag(client, run.info.run_id, key)


def _delete_tag(client: Any, run_id: str, key: str) -> None:
    from mlflow.exceptions import MlflowException

    try:
        with quiet():  # SQLAlchemy warns where another process was faster by a hair
            client.delete_tag(run_id, key)
    except MlflowException as error:
        if error.error_code != NOT_FOUND:
            raise


def _changed(before: RunRecord, metrics: tuple[MetricValue, ...]) -> list[MetricValue]:
    old = {value.key: value.value for value in project(before).metrics}
    return [value for value in metrics if value.key.startswith(AMENDED_METRICS) and old.get(value.key) != value.value]
