"""A store that forgets: for `--dry-run` and tests. Keeps the same promises as the others, through the same bytes."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from tracker.domain.campaign import Campaign
from tracker.domain.measurement import RequestRow
from tracker.domain.record import Amendment, LoggedRun, StoredRun
from tracker.errors import RunNotFoundError
from tracker.store import codec
from tracker.store.amending import apply_amendment
from tracker.store.base import Query, ReportRun, StoredReport
from tracker.store.conflict import conflict
from tracker.store.matching import MIN_PREFIX, check_experiment_name, matches, no_campaign, oldest_first, the_only_run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """One stored run."""

    record: bytes
    """Encoded record, amendments applied."""
    run: bytes
    """Encoded run as it was logged."""
    content: str
    """Digest of the content as it was logged."""


class MemoryStore:
    """Runs in a dictionary, through the same bytes as elsewhere: nothing works here that would not work there."""

    uri = "memory:"

    def __init__(self) -> None:
        """Start empty."""
        self._runs: dict[str, _Kept] = {}
        self._campaigns: dict[str, bytes | None] = {}
        self._reports: dict[str, StoredReport] = {}

    def save(self, run: LoggedRun) -> str:
        """Store a run and return its id; see RunStore."""
        check_experiment_name(run.record.experiment)
        content = codec.content_digest(run)
        run_id = hashlib.sha256(run.record.record_id.encode("utf-8", "backslashreplace")).hexdigest()[:32]
        kept = self._runs.get(run_id)
        if kept is None:
            encoded = codec.encode_logged_run(run)
            self._runs[run_id] = _Kept(record=codec.encode_record(run.record), run=encoded, content=content)
            self._campaigns.setdefault(run.record.experiment, None)
        elif kept.content != content:
            raise conflict(self._stored(run_id), run.record, where=self.uri)
        return run_id

    def save_many(self, runs: Iterable[LoggedRun]) -> tuple[str, ...]:
        """Store several runs, in order."""
        return tuple(self.save(run) for run in runs)

    def query(self, query: Query) -> tuple[StoredRun, ...]:
        """Return matching runs, oldest first; see RunStore."""
        runs = (self._stored(run_id) for run_id in self._runs)
        return oldest_first(run for run in runs if matches(run.record, query))

    def load(self, run: str) -> StoredRun:
        """Return one run; see RunStore."""
        if run in self._runs:
            return self._stored(run)
        found = [stored for stored in map(self._stored, self._runs) if _is_called(stored, run)]
        return the_only_run(oldest_first(found), run, where=self.uri)

    def requests(self, run_id: str) -> tuple[RequestRow, ...]:
        """Return a run's per-request rows."""
        return codec.decode_logged_run(self._kept(run_id).run, where=run_id).requests

    def requests_many(self, runs: Iterable[StoredRun]) -> dict[str, tuple[RequestRow, ...]]:
        """Return the per-request rows of several runs by run id."""
        return {run.run_id: self.requests(run.run_id) for run in runs}

    def amend(self, run_id: str, amendment: Amendment) -> StoredRun:
        """Apply a correction; see RunStore."""
        kept = self._kept(run_id)
        record = apply_amendment(codec.decode_record(kept.record, where=run_id), amendment)
        self._runs[run_id] = _Kept(record=codec.encode_record(record), run=kept.run, content=kept.content)
        return self._stored(run_id)

    def experiments(self) -> tuple[str, ...]:
        """Return the names of all campaigns, sorted."""
        return tuple(sorted({*self._campaigns, *(self._stored(run_id).record.experiment for run_id in self._runs)}))

    def save_campaign(self, campaign: Campaign) -> None:
        """Keep a campaign's facts."""
        check_experiment_name(campaign.name)
        self._campaigns[campaign.name] = codec.encode_campaign(campaign)

    def load_campaign(self, experiment: str) -> Campaign | None:
        """Return a campaign's facts; None when there are none."""
        content = self._campaigns.get(experiment)
        return None if content is None else codec.decode_campaign(content, where=experiment)

    def experiment_id(self, experiment: str) -> str:
        """Return the campaign's name, which is its id here; see RunStore."""
        if experiment not in self._campaigns:
            raise no_campaign(experiment, self._campaigns, where=self.uri)
        return experiment

    def experiment_url(self, experiment: str) -> str | None:
        """Return None: there is no page to link to."""
        return None

    def save_report(self, experiment: str, memo: ReportRun) -> StoredReport:
        """Keep a memo; see RunStore. Runs carry no tags of the store's own here, so none links back."""
        self.experiment_id(experiment)
        report_id = hashlib.sha256(f"{experiment}\n{memo.key}".encode()).hexdigest()[:32]
        earlier = self._reports.get(report_id)
        self._reports[report_id] = StoredReport(
            run_id=report_id,
            experiment=experiment,
            key=memo.key,
            generated_at=memo.generated_at,
            memo_json=memo.files["memo.json"],
            decision_json=None if earlier is None else earlier.decision_json,
        )
        return self._reports[report_id]

    def save_decision(self, report_id: str, decision: bytes) -> None:
        """Keep the decision taken on a memo; see RunStore."""
        self._reports[report_id] = dataclasses.replace(self.report(report_id), decision_json=decision)

    def report(self, report_id: str) -> StoredReport:
        """Return one memo by its id; see RunStore."""
        if report_id not in self._reports:
            raise RunNotFoundError(
                f"the run {report_id} is no memo", where=self.uri, hint="`tracker report` writes memos"
            )
        return self._reports[report_id]

    def reports(self, experiment: str) -> tuple[StoredReport, ...]:
        """Return the memos of a campaign, oldest first; see RunStore."""
        found = [memo for memo in self._reports.values() if memo.experiment == experiment]
        return tuple(sorted(found, key=lambda memo: (memo.generated_at, memo.run_id)))

    def _kept(self, run_id: str) -> _Kept:
        if run_id not in self._runs:
            raise RunNotFoundError(
                f"no run has the id {run_id!r}", where=self.uri, hint="`tracker runs` lists the runs"
            )
        return self._runs[run_id]

    def _stored(self, run_id: str) -> StoredRun:
        return StoredRun(run_id=run_id, record=codec.decode_record(self._kept(run_id).record, where=run_id))


def _is_called(run: StoredRun, wanted: str) -> bool:
    is_prefix = len(wanted) >= MIN_PREFIX and run.run_id.startswith(wanted)
    return is_prefix or wanted in (run.record.record_id, run.record.name)
