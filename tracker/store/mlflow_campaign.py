"""A campaign in MLflow, read whole: everything that an export or a copy must carry."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tracker.domain.record import LoggedRun, StoredRun
from tracker.store import mlflow_adopt, mlflow_experiments, mlflow_read, mlflow_reports, mlflow_write
from tracker.store.base import ReportRun
from tracker.store.campaign_parts import CampaignFacts, RunHead, WholeMemo
from tracker.store.matching import no_campaign, oldest_first
from tracker.store.mlflow_errors import store_errors
from tracker.store.mlflow_projection import project
from tracker.store.mlflow_store import MlflowStore

OWN_PREFIXES = ("mlflow.", "tracker.", "finding.", "user.")
OWN_TAGS = frozenset({"validity", "validity_reason", mlflow_write.MODEL_ID})


class MlflowCampaign:
    """A CampaignSource on MLflow."""

    def __init__(self, store: MlflowStore, experiment: str) -> None:
        """Read the campaign `experiment` of `store`.

        Raises:
            StoreError: There is none of this name.
        """
        self.experiment = experiment
        self._store = store
        self._shown: dict[str, Any] = {}
        self._heads: tuple[RunHead, ...] | None = None
        with store_errors(f"the campaign {experiment!r} could not be read", where=store.uri):
            found = mlflow_experiments.find_experiments(store.client)
        if experiment not in found:
            raise no_campaign(experiment, found, where=store.uri)
        self._made_as = found[experiment]

    def facts(self) -> CampaignFacts:
        """Return what concerns the campaign as a whole; see CampaignSource."""
        tags = self._made_as.tags
        return CampaignFacts(
            campaign=mlflow_experiments.read_campaign(self._made_as),
            former_names=mlflow_experiments.former_names(self._made_as),
            tags={key: value for key, value in sorted(tags.items()) if not key.startswith(OWN_PREFIXES)},
        )

    def heads(self) -> Iterator[RunHead]:
        """Yield its runs, oldest first; see CampaignSource."""
        if self._heads is None:
            self._heads = self._read_heads()
        yield from self._heads

    def _read_heads(self) -> tuple[RunHead, ...]:
        condition = f"tags.`{mlflow_write.COMPLETE}` = 'true'"
        with store_errors(f"the runs of {self.experiment!r} could not be read", where=self._store.uri):
            runs = list(mlflow_read.search(self._store.client, [self._made_as.experiment_id], condition))
            self._shown = {run.info.run_id: run for run in runs}
            stored = [self._store.stored(run, self.experiment) for run in runs]
        return tuple(self._head(run) for run in oldest_first(stored))

    def whole(self, head: RunHead) -> LoggedRun:
        """Return a run with its per-request rows and files; see CampaignSource."""
        shown = self._shown.get(head.place)
        if shown is not None and mlflow_adopt.is_adopted(shown):
            # What a trainer put beside it is the trainer's: gigabytes of checkpoints, and settings nobody redacted.
            return LoggedRun(record=head.record)
        return self._store.whole_run(StoredRun(run_id=head.place, record=head.record))

    def memos(self) -> Iterator[WholeMemo]:
        """Yield its memos, oldest first; see CampaignSource."""
        doing = f"the memos of {self.experiment!r} could not be read"
        by_id = {known: head for head in self.heads() for known in (*head.run_ids, head.place)}
        with store_errors(doing, where=self._store.uri):
            runs = list(mlflow_reports.find_all(self._store.client, self._made_as.experiment_id))
        # One at a time: a memo with its explorer is megabytes.
        for run in sorted(runs, key=lambda run: (_generated_at(run), run.data.tags[mlflow_reports.KEY])):
            with store_errors(doing, where=self._store.uri):
                memo = self._memo(run, by_id)
            yield memo

    def _head(self, run: StoredRun) -> RunHead:
        shown = self._shown[run.run_id]
        tags = shown.data.tags
        ours = project(run.record).tags.keys() | (mlflow_adopt.theirs(shown) if mlflow_adopt.is_adopted(shown) else ())
        return RunHead(
            place=run.run_id,
            record=run.record,
            content_sha256=tags[mlflow_write.CONTENT_SHA256],
            run_ids=(*run.earlier_ids, run.run_id),
            tags={key: tags[key] for key in sorted(tags) if _is_foreign(key) and key not in ours},
        )

    def _memo(self, run: Any, by_id: Mapping[str, RunHead]) -> WholeMemo:
        client, run_id, tags = self._store.client, run.info.run_id, run.data.tags
        attached = mlflow_read.read_attachments(client, run_id, made=())
        files = {file.name: file.content for file in attached}
        decision = files.pop(mlflow_reports.DECISION_JSON, None)
        named = [known for known in _named(files[mlflow_reports.MEMO_JSON]) if known in by_id]
        linked = [
            by_id[key].run_ids[0]
            for key, shown in self._shown.items()
            if shown.data.tags.get(mlflow_reports.OF_RUN) == run_id
        ]
        ids = sorted({*named, *(() if named else linked)})
        return WholeMemo(
            place=run_id,
            memo=ReportRun(
                key=tags[mlflow_reports.KEY],
                generated_at=_generated_at(run),
                verdict=tags.get("verdict", ""),
                headline=mlflow_reports.headline_of(tags),
                files=dict(sorted(files.items())),
                run_ids=tuple(ids),
                params=mlflow_reports.params_of(tags),
                metrics=dict(sorted(run.data.metrics.items())),
            ),
            record_ids={known: by_id[known].record.record_id for known in ids},
            run_ids=(*mlflow_read.earlier_ids(run), run_id),
            decision=decision,
        )


def _is_foreign(key: str) -> bool:
    return key not in OWN_TAGS and not key.startswith(OWN_PREFIXES)


def _generated_at(run: Any) -> datetime:
    return datetime.fromisoformat(run.data.tags[mlflow_reports.GENERATED_AT]).astimezone(UTC)


def _named(memo_json: bytes) -> list[str]:
    """Return the ids of the runs that a memo lists; none for one that lists no runs."""
    try:
        runs = json.loads(memo_json).get("runs", [])
    except (ValueError, AttributeError):
        return []
    return [str(row["run_id"]) for row in runs if isinstance(row, Mapping) and row.get("run_id")]
