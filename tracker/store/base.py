"""What a store promises. The same contract tests run on every implementation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from tracker.domain.campaign import Campaign
from tracker.domain.measurement import RequestRow
from tracker.domain.record import Amendment, LoggedRun, RunKind, StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which runs to read; None means no restriction."""

    experiment: str | None = None
    """Campaign name."""
    kind: RunKind | None = None
    """benchmark or training."""
    logged_since: datetime | None = None
    """Logged at or after, UTC."""
    logged_until: datetime | None = None
    """Logged before, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRun:
    """A memo to be kept in the store as a run of kind `report`."""

    key: str
    """Names the memo within its campaign; the same key again replaces the memo, e.g. `2026-11-30-campaign`."""
    generated_at: datetime
    """When the memo was made, UTC."""
    verdict: str
    """faster, slower, undecided or mixed; or the state of a memo that compares nothing."""
    headline: str
    """What the memo says in a sentence."""
    files: Mapping[str, bytes]
    """Artifacts by name: memo.html, memo.txt, memo.json, explore.html."""
    run_ids: tuple[str, ...] = ()
    """Runs the memo rests on; each gets the memo's id as its tag `tracker.report`."""
    named: Mapping[str, str] = field(default_factory=dict)
    """Ids that runs have here, by those that the memo names them by; only for a memo made in another store."""
    params: Mapping[str, str] = field(default_factory=dict)
    """Window, memo number, what it was made with."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Numbers worth a column, e.g. `report/speedup`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport:
    """A memo as read back from a store."""

    run_id: str
    """Id of its run."""
    experiment: str
    """Campaign."""
    key: str
    """Name of the memo within its campaign."""
    generated_at: datetime
    """When it was made, UTC."""
    url: str | None = None
    """Link to it in the MLflow UI; None for an embedded store without a server."""
    memo_json: bytes
    """Its memo.json."""
    decision_json: bytes | None = None
    """The decision taken on it; None while there is none."""


class RunStore(Protocol):
    """A place where records live. All methods raise StoreError when the store is unreachable or refuses."""

    uri: str
    """Tracking URI, credentials removed."""

    def save(self, run: LoggedRun) -> str:
        """Store a run and return its id; the same record again returns the same id.

        Raises:
            RecordConflictError: The record id is stored with other content; the message names `tracker amend`.
        """
        ...

    def query(self, query: Query) -> tuple[StoredRun, ...]:
        """Return matching runs, oldest first, without per-request rows."""
        ...

    def load(self, run: str) -> StoredRun:
        """Return one run by run id, unique run-id prefix, record id or unique name.

        Raises:
            RunNotFoundError: None, or more than one, matches; says which.
        """
        ...

    def requests(self, run_id: str) -> tuple[RequestRow, ...]:
        """Return a run's per-request rows; empty when it has none."""
        ...

    def requests_many(self, runs: Iterable[StoredRun]) -> dict[str, tuple[RequestRow, ...]]:
        """Return the per-request rows of several runs by run id, with far fewer questions than one by one."""
        ...

    def amend(self, run_id: str, amendment: Amendment) -> StoredRun:
        """Apply a correction to the stored record, keep it in `amendments`, and return the run."""
        ...

    def experiments(self) -> tuple[str, ...]:
        """Return the names of all campaigns, sorted."""
        ...

    def save_campaign(self, campaign: Campaign) -> None:
        """Create the campaign's experiment if need be and keep its facts with it."""
        ...

    def load_campaign(self, experiment: str) -> Campaign | None:
        """Return the facts kept for an experiment; None when there are none."""
        ...

    def experiment_id(self, experiment: str) -> str:
        """Return the store's own id of a campaign's experiment.

        Raises:
            StoreError: There is no such campaign; lists those there are.
        """
        ...

    def experiment_url(self, experiment: str) -> str | None:
        """Return a link to the campaign in the MLflow UI; None when no server is known."""
        ...

    def save_many(self, runs: Iterable[LoggedRun]) -> tuple[str, ...]:
        """Store several runs, in order."""
        ...

    def save_report(self, experiment: str, memo: ReportRun) -> StoredReport:
        """Store a memo with its campaign and link the runs it rests on to it; the same key again replaces it.

        Reports are no runs: `query` and `load` do not see them.

        Raises:
            StoreError: There is no such campaign.
        """
        ...

    def save_decision(self, report_id: str, decision: bytes) -> None:
        """Keep the decision taken on a memo with it.

        Raises:
            RunNotFoundError: No memo has this id.
        """
        ...

    def report(self, report_id: str) -> StoredReport:
        """Return one memo by the id of its run.

        Raises:
            RunNotFoundError: No memo has this id.
        """
        ...

    def reports(self, experiment: str) -> tuple[StoredReport, ...]:
        """Return the memos of a campaign, oldest first; an unknown campaign has none."""
        ...
