"""Storing a run once: what is there of it is found and completed, and a copy made at the same moment is settled."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from tracker.domain.record import LoggedRun, StoredRun
from tracker.store import codec, mlflow_once, mlflow_write
from tracker.store.conflict import conflict
from tracker.store.failures import ContendedError
from tracker.store.mlflow_drafters import is_known
from tracker.store.mlflow_experiments import find_experiments, former_names, read_campaign

REMEMBERED_SECONDS = 5.0


@dataclasses.dataclass(slots=True, kw_only=True)
class RunWriter:
    """Stores runs in one store; a second call finds and completes whatever the first one left.

    What was read of the experiments serves the runs that are stored right after, for as long as the writing of one run
    may take on a busy server: by then it is as old as that for one run alone. It is forgotten as soon as anything
    fails or is changed, so that the next attempt begins with what the store holds.
    """

    where: str
    """The store, as errors name it."""
    make_experiment: Callable[[str], Any]
    """Makes the experiment of a campaign that has none."""
    stored: Callable[[str], StoredRun]
    """Reads a run that is stored, to say how another one differs."""
    _experiments: dict[str, Any] = dataclasses.field(default_factory=dict, init=False)
    _read_at: float = dataclasses.field(default=-math.inf, init=False)

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
        experiments, read_at = self._experiments, self._read_at
        self.forget()
        if time.monotonic() - read_at > REMEMBERED_SECONDS:
            read_at, experiments = time.monotonic(), find_experiments(client)
        run_id = self._save(client, run, content_sha256, experiments)
        campaign = experiments.get(run.record.experiment)
        if campaign is not None and is_known(run.record, campaign):
            self._experiments, self._read_at = experiments, read_at
        return run_id

    def forget(self) -> None:
        """Ask for the experiments at the next run: somebody may have changed one."""
        self._experiments, self._read_at = {}, -math.inf

    def _save(self, client: Any, run: LoggedRun, content_sha256: str, experiments: Mapping[str, Any]) -> str:
        record = run.record
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
        begun = mlflow_once.resumable(
            client, half_written, record_sha256=prepared.tags[mlflow_write.RECORD_SHA256], experiment_id=number
        ) or mlflow_write.create_run(client, prepared, number)
        run_id = str(begun.info.run_id)
        is_copied = mlflow_write.write(
            client, prepared, begun, experiment,
            meanwhile=lambda: mlflow_once.has_copies(client, record_id, run_id, [number]),
        )  # fmt: skip
        if not is_copied:
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
