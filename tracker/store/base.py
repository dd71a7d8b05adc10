"""What a store promises. The same contract tests run on every implementation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
