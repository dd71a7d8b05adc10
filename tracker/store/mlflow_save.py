"""Storing a run once: what is there of it is found and completed, and a copy made at the same moment is settled."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tracker.domain.record import LoggedRun, StoredRun
from tracker.store import codec, mlflow_once, mlflow_write
from tracker.store.conflict import conflict
from tracker.store.failures import ContendedError
from tracker.store.mlflow_experiments import find_experiments, former_names, read_campaign


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunWriter:
    """Stores runs in one store; a second call finds and completes whatever the first one left."""

    where: str
    """The store, as errors name it."""
    make_experiment: Callable[[str], Any]
    """Makes the experiment of a campaign that has none."""
    stored: Callable[[str], StoredRun]
    """Reads a run that is stored, to say how another one differs."""

    def save(self, client: Any, run: LoggedRun, *, content_sha256: str) -> str:
        """Return the id of the run in MLflow.

        Args:
            client: MlflowClient.
            run: The run.
            content_sha256: Digest of what makes it this run.

        Raises:
            RecordConflictError: It is stored with other content.
            ContendedError: Somebody wrote or deleted it at the same moment; a second call finds what is left.
        """
        record = run.record
        experiments = find_experiments(client)
        ids = [item.experiment_id for item in experiments.values()]
        earlier = mlflow_once.runs_of(client, record.record_id, ids)
        complete = mlflow_once.whole(earlier)
        if complete:
            stored: Any | None = complete[0]
            if len(earlier) > 1:
                stored = mlflow_once.settle(client, record.record_id, ids, content_sha256=content_sha256)
            return self._confirmed(client, stored, run, content_sha256)
        experiment = experiments.get(record.experiment) or self.make_experiment(record.experiment)
        return self._write(client, run, content_sha256, experiment, half_written=earlier)

    def _write(
        self, client: Any, run: LoggedRun, content_sha256: str, experiment: Any, *, half_written: list[Any]
    ) -> str:
        record_id, number = run.record.record_id, experiment.experiment_id
        campaign = read_campaign(experiment)
        decision = None if campaign is None else campaign.decision_concurrency
        prepared = mlflow_write.prepare(run, content_sha256=content_sha256, decision_concurrency=decision)
        run_id = mlflow_once.resumable(
            client, half_written, record_sha256=prepared.tags[mlflow_write.RECORD_SHA256], experiment_id=number
        )
        artifact_uri = None
        if run_id is None:
            info = mlflow_write.create_run(client, prepared, number).info
            run_id, artifact_uri = str(info.run_id), str(info.artifact_uri)
        mlflow_write.write(client, prepared, run_id, experiment, artifact_uri=artifact_uri)
        if not mlflow_once.has_copies(client, record_id, run_id, [number]):
            return run_id
        stored = mlflow_once.settle(client, record_id, [number], content_sha256=content_sha256, own=run_id)
        return self._confirmed(client, stored, run, content_sha256)

    def _confirmed(self, client: Any, stored: Any | None, run: LoggedRun, content_sha256: str) -> str:
        """Return the id of a run that is stored already."""
        if stored is None:
            raise ContendedError(f"the run {run.record.name!r} was deleted while it was stored", where=self.where)
        run_id = str(stored.info.run_id)
        known = stored.data.tags.get(mlflow_write.CONTENT_SHA256)
        if known != content_sha256 and known not in _under_other_names(client, stored, run):
            raise conflict(self.stored(run_id), run.record, where=self.where)
        if stored.info.status == "RUNNING":  # killed between the last two calls
            mlflow_write.finish(client, run_id, run.record)
        return run_id


def _under_other_names(client: Any, stored: Any, run: LoggedRun) -> tuple[str, ...]:
    """Return the run's digests under the names that the stored run's campaign had: renaming changes no run."""
    experiment = client.get_experiment(stored.info.experiment_id)
    runs = (dataclasses.replace(run, record=run.record.replace(experiment=name)) for name in former_names(experiment))
    return tuple(codec.content_digest(other) for other in runs)
