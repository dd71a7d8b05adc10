"""MLflow as the home of every run: embedded SQLite or a tracking server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tracker.domain.campaign import Campaign
from tracker.domain.measurement import RequestRow
from tracker.domain.record import Amendment, LoggedRun, StoredRun
from tracker.errors import RunNotFoundError
from tracker.store import (
    codec,
    mlflow_amend,
    mlflow_experiments,
    mlflow_find,
    mlflow_open,
    mlflow_read,
    mlflow_reports,
    mlflow_write,
)
from tracker.store.base import Query, ReportRun, StoredReport
from tracker.store.cached_campaigns import CachedCampaigns
from tracker.store.cached_rows import CachedRows
from tracker.store.failures import ContendedError
from tracker.store.matching import check_experiment_name, no_campaign, oldest_first, the_only_run
from tracker.store.mlflow_artifacts import REQUESTS, artifacts
from tracker.store.mlflow_errors import store_errors
from tracker.store.mlflow_fetch import artifact_root
from tracker.store.mlflow_save import RunWriter
from tracker.store.mlflow_view import house_view
from tracker.store.rows import decode_rows

ATTEMPTS = 4
CONTENDED_SECONDS = 0.1
# MLflow's pages open in a mode made for agents unless told otherwise: 3.18 was seen to read it before the `#`, 3.17
# reads it after the route (tried in Chromium), so that links say it in both places.
WORKFLOW = "workflowType=machine_learning"
UI = f"/?{WORKFLOW}#/experiments/"

T = TypeVar("T")


class MlflowStore:
    """A RunStore on MLflow. It connects at its first use and holds no state but what it read of experiments."""

    def __init__(self, uri: str, *, cache_dir: Path | None = None) -> None:
        """Use the store at `uri`.

        Args:
            uri: Tracking URI, as `resolve_uri` gives it.
            cache_dir: Folder for records read before; None keeps none.
        """
        self.uri = mlflow_open.without_credentials(uri)
        self._full_uri = uri
        self._cache = mlflow_read.RecordCache(cache_dir, self.uri)
        self._cached = CachedCampaigns(cache_dir, self.uri)
        self._rows = CachedRows(cache_dir, self.uri)
        self._writer = RunWriter(where=self.uri, make_experiment=self._make_experiment, stored=self._by_id)
        self._connected: Any = None

    def save(self, run: LoggedRun) -> str:
        """Store a run and return its id; see RunStore."""
        return self.save_as(run, content_sha256=codec.content_digest(run))

    def save_as(self, run: LoggedRun, *, content_sha256: str) -> str:
        """Store a run under the digest that another store has of what was logged; corrections have changed it since."""
        check_experiment_name(run.record.experiment)

        def save() -> str:
            with self._errors(f"the run {run.record.name!r} could not be stored"):
                return self._writer.save(self._client, run, content_sha256=content_sha256)

        return _persistently(save)

    def content_sha256(self, run_id: str) -> str:
        """Return the digest of what was logged as this run, before any correction."""
        with self._errors(f"the run {run_id} could not be read"):
            return str(self._client.get_run(run_id).data.tags[mlflow_write.CONTENT_SHA256])

    def whole_run(self, stored: StoredRun) -> LoggedRun:
        """Return a stored run with its per-request rows and the files that were logged with it."""
        run = LoggedRun(record=stored.record, requests=self.requests(stored.run_id))
        with self._errors(f"the files of run {stored.run_id} could not be read"):
            attachments = mlflow_read.read_attachments(self._client, stored.run_id, made=artifacts(run))
        return LoggedRun(record=run.record, requests=run.requests, attachments=attachments)

    def save_many(self, runs: Iterable[LoggedRun]) -> tuple[str, ...]:
        """Store several runs, in order."""
        return tuple(self.save(run) for run in runs)

    def query(self, query: Query) -> tuple[StoredRun, ...]:
        """Return matching runs, oldest first; see RunStore."""
        with self._errors("the runs could not be read"):
            experiments = self._campaigns()
            if query.experiment is not None:
                experiments = {name: item for name, item in experiments.items() if name == query.experiment}
            runs = [
                StoredRun(run_id=run_id, record=record, url=self._url(item.experiment_id, run_id), earlier_ids=ids)
                for item in experiments.values()
                for run_id, record, ids in self._cached.query(self._client, item, query)
            ]
        return oldest_first(runs)

    def load(self, run: str) -> StoredRun:
        """Return one run; see RunStore."""
        if mlflow_find.is_run_id(run):
            return self._with_id(run)
        with self._errors(f"the run {run!r} could not be read"):
            names = {item.experiment_id: name for name, item in self._campaigns().items()}
            found = {item.info.run_id: item for item in mlflow_find.called(self._client, run, list(names))}
            runs = oldest_first(self._stored(item, names[item.info.experiment_id]) for item in found.values())
        return the_only_run(runs, run, where=self.uri)

    def requests(self, run_id: str) -> tuple[RequestRow, ...]:
        """Return a run's per-request rows; empty when it has none."""
        with self._errors(f"the requests of run {run_id} could not be read"):
            run = self._client.get_run(run_id)
            if run.data.tags.get(mlflow_write.REQUEST_ROWS, "0") == "0":
                return ()
            content = mlflow_read.read_artifact(self._client, run, REQUESTS)
        return decode_rows(content, where=f"run {run_id}, {REQUESTS}")

    def requests_many(self, runs: Iterable[StoredRun]) -> dict[str, tuple[RequestRow, ...]]:
        """Return the per-request rows of several runs by run id; see RunStore."""
        wanted = tuple(runs)
        with self._errors("the requests of the runs could not be read"):
            experiments = self._campaigns()
            places = {
                run.run_id: artifact_root(experiments[run.record.experiment], run.run_id)
                for run in wanted
                if run.record.experiment in experiments
            }
            found = self._rows.read(self._client, places, self.requests)
        return {run.run_id: found[run.run_id] if run.run_id in found else self.requests(run.run_id) for run in wanted}

    def amend(self, run_id: str, amendment: Amendment) -> StoredRun:
        """Apply a correction; see RunStore. `run_id` may be anything that `load` takes."""
        stored = self.load(run_id)
        _persistently(lambda: self._amend(stored, amendment))
        return self.load(stored.run_id)

    def _amend(self, stored: StoredRun, amendment: Amendment) -> None:
        name = stored.record.experiment
        with self._errors(f"the run {stored.run_id} could not be amended"):
            campaign = self.load_campaign(name)
            run = self._client.get_run(stored.run_id)
            mlflow_amend.amend(
                self._client,
                stored.run_id,
                mlflow_read.read_logged(self._client, run, self._cache, experiment=name),
                amendment,
                decision_concurrency=None if campaign is None else campaign.decision_concurrency,
            )

    def experiments(self) -> tuple[str, ...]:
        """Return the names of all campaigns, sorted."""
        with self._errors("the campaigns could not be read"):
            return tuple(sorted(self._campaigns()))

    def save_campaign(self, campaign: Campaign) -> None:
        """Create the campaign's experiment if need be and keep its facts with it."""
        check_experiment_name(campaign.name)
        with self._errors(f"the campaign {campaign.name!r} could not be stored"):
            found = mlflow_experiments.find_experiments(self._client).get(campaign.name)
            experiment = found or self._make_experiment(campaign.name)
            self._writer.forget()
            mlflow_experiments.keep_campaign(self._client, experiment, campaign)

    def load_campaign(self, experiment: str) -> Campaign | None:
        """Return the facts kept for an experiment; None when there are none."""
        with self._errors(f"the campaign {experiment!r} could not be read"):
            found = self._campaigns().get(experiment)
            return None if found is None else mlflow_experiments.read_campaign(found)

    def experiment_id(self, experiment: str) -> str:
        """Return MLflow's id of a campaign's experiment; see RunStore."""
        with self._errors(f"the campaign {experiment!r} could not be read"):
            found = self._campaigns()
        if experiment not in found:
            raise no_campaign(experiment, found, where=self.uri)
        return str(found[experiment].experiment_id)

    def experiment_url(self, experiment: str) -> str | None:
        """Return a link to the campaign in the MLflow UI; None for an embedded store or an unknown campaign."""
        if not mlflow_open.is_server(self._full_uri):
            return None
        with self._errors(f"the campaign {experiment!r} could not be read"):
            found = self._campaigns().get(experiment)
        return None if found is None else f"{self.uri}{UI}{found.experiment_id}/runs?{WORKFLOW}"

    def save_report(self, experiment: str, memo: ReportRun) -> StoredReport:
        """Store a memo with its campaign; see RunStore."""
        number = self.experiment_id(experiment)
        with self._errors(f"the memo {memo.key!r} could not be stored"):
            run_id = mlflow_reports.save(self._client, number, memo)
        return self.report(run_id)

    def save_decision(self, report_id: str, decision: bytes) -> None:
        """Keep the decision taken on a memo with it; see RunStore."""
        with self._errors(f"the decision on the memo {report_id} could not be stored"):
            run = self._memo_run(report_id)
            mlflow_reports.keep_decision(self._client, run.info.run_id, decision)

    def report(self, report_id: str) -> StoredReport:
        """Return one memo by the id of its run; see RunStore."""
        with self._errors(f"the memo {report_id} could not be read"):
            run = self._memo_run(report_id)
            return self._report(run, self._client.get_experiment(run.info.experiment_id).name)

    def reports(self, experiment: str) -> tuple[StoredReport, ...]:
        """Return the memos of a campaign, oldest first; see RunStore."""
        with self._errors(f"the memos of {experiment!r} could not be read"):
            campaign = self._campaigns().get(experiment)
            if campaign is None:
                return ()
            runs = mlflow_reports.find_all(self._client, campaign.experiment_id)
            found = [self._report(run, experiment) for run in runs]
        return tuple(sorted(found, key=lambda memo: (memo.generated_at, memo.run_id)))

    def _memo_run(self, report_id: str) -> Any:
        """Return the run of a memo by its id here or where it was copied from."""
        try:
            with self._errors(f"the memo {report_id} could not be read"):
                return mlflow_reports.find(self._client, report_id, where=self.uri)
        except RunNotFoundError:
            here = self._copied_from(report_id)
            if here is None:
                raise
            return mlflow_reports.find(self._client, here, where=self.uri)

    def _report(self, run: Any, experiment: str) -> StoredReport:
        return mlflow_reports.stored(self._client, run, experiment=experiment, url=self._run_url(run))

    @property
    def client(self) -> Any:
        """MLflow's client, connected at its first use.

        Raises:
            StoreError: The store does not answer or is unsuitable.
        """
        self._writer.forget()  # whoever asks for it may change a campaign
        return self._client

    def stored(self, run: Any, experiment: str) -> StoredRun:
        """Return one of MLflow's runs as we read it."""
        return self._stored(run, experiment)

    @property
    def _client(self) -> Any:
        if self._connected is None:
            self._connected = mlflow_open.connect(self._full_uri)
        return self._connected

    @contextmanager
    def speaking(self, doing: str) -> Iterator[Any]:
        """Yield MLflow's client; what it raises is told as StoreError, with what was being done."""
        with self._errors(doing):
            yield self.client

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        _ = self._client  # connected first: importing MLflow with its defaults would be too late to correct
        return store_errors(doing, where=self.uri)

    def _campaigns(self) -> dict[str, Any]:
        found = mlflow_experiments.find_experiments(self._client)
        return {name: item for name, item in found.items() if mlflow_experiments.is_campaign(item)}

    def _make_experiment(self, name: str) -> Any:
        root = mlflow_open.artifact_root(self._full_uri)
        return mlflow_experiments.make_experiment(self._client, name, root=root, view=house_view())

    def _by_id(self, run_id: str) -> StoredRun:
        run = mlflow_find.whole_run(self._client, run_id, where=self.uri)
        return self._stored(run, self._client.get_experiment(run.info.experiment_id).name)

    def _with_id(self, run_id: str) -> StoredRun:
        """Return the run with this id, which may be the one it had in a store it was copied from."""
        try:
            with self._errors(f"the run {run_id!r} could not be read"):
                return self._by_id(run_id)
        except RunNotFoundError:
            with self._errors(f"the run {run_id!r} could not be read"):
                here = self._copied_from(run_id)
                if here is None:
                    raise
                return self._by_id(here)

    def _copied_from(self, run_id: str) -> str | None:
        ids = [item.experiment_id for item in self._campaigns().values()]
        return mlflow_find.copied_from(self._client, run_id, ids)

    def _stored(self, run: Any, experiment: str) -> StoredRun:
        record = mlflow_read.read_record(self._client, run, self._cache, experiment=experiment)
        return StoredRun(
            run_id=run.info.run_id, record=record, url=self._run_url(run), earlier_ids=mlflow_read.earlier_ids(run)
        )

    def _run_url(self, run: Any) -> str | None:
        return self._url(run.info.experiment_id, run.info.run_id)

    def _url(self, experiment_id: str, run_id: str) -> str | None:
        if not mlflow_open.is_server(self._full_uri):
            return None
        return f"{self.uri}{UI}{experiment_id}/runs/{run_id}?{WORKFLOW}"


def _persistently(action: Callable[[], T]) -> T:
    """Return what an action gives, tried again while others write the same thing at the same moment.

    Raises:
        ContendedError: They did so every time.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return action()
        except ContendedError:
            time.sleep(CONTENDED_SECONDS * attempt)
    return action()
