"""What a campaign is made of when it travels: facts, runs and memos, whether from a store or from a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tracker.domain.campaign import Campaign
from tracker.domain.record import LoggedRun, RunRecord
from tracker.store.base import ReportRun


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignFacts:
    """A campaign as a whole."""

    campaign: Campaign | None = None
    """What its campaign.toml says; None when it was never logged."""
    former_names: tuple[str, ...] = ()
    """Names under which its runs were logged before, oldest first."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags that people gave the experiment in MLflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """A run without what travels beside its record."""

    place: str
    """Where the source keeps it: run id or folder."""
    record: RunRecord
    """Its record, corrections applied."""
    content_sha256: str
    """Digest of what was logged, before any correction."""
    run_ids: tuple[str, ...]
    """Ids it has or had in stores, the first one first; memos name it by one of them."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Tags that people gave it in MLflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeMemo:
    """A memo with its files and the decision taken on it."""

    place: str
    """Where the source keeps it: run id or folder."""
    memo: ReportRun
    """The memo; its `run_ids` are those that the memo itself names."""
    record_ids: Mapping[str, str]
    """Record ids of the runs it rests on, by the id that it names them by."""
    run_ids: tuple[str, ...]
    """Ids the memo's own run has or had in stores, the first one first."""
    decision: bytes | None = None
    """decision.json."""


class CampaignSource(Protocol):
    """One campaign, to be read. All methods raise StoreError for what is missing or damaged."""

    experiment: str
    """Its name."""

    def facts(self) -> CampaignFacts:
        """Return what concerns the campaign as a whole."""
        ...

    def heads(self) -> Iterator[RunHead]:
        """Yield its runs, oldest first."""
        ...

    def whole(self, head: RunHead) -> LoggedRun:
        """Return a run with its per-request rows and files."""
        ...

    def memos(self) -> Iterator[WholeMemo]:
        """Yield its memos, oldest first."""
        ...
