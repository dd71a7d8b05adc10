"""The memo, display-ready: every renderer reads this and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.analysis.results import CampaignAnalysis, DecisionSet
from tracker.report.context import MemoContext
from tracker.report.figures import StripData
from tracker.report.spans import Rich, Span
from tracker.report.view_parts import (
    BriefItem,
    CauseView,
    FigureView,
    Section,
    State,
    TableView,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run in the provenance table and in the explorer."""

    run_id: str
    """Store id."""
    short: str
    """Label in the memo, e.g. `r5`."""
    name: str
    """Run name."""
    url: str | None
    """Link in the MLflow UI."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoSource:
    """What the view was built from, for memo.json."""

    analysis: CampaignAnalysis
    """The numbers."""
    decision: DecisionSet
    """The options."""
    context: MemoContext
    """Clock, links, memo before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailView:
    """The part of the memo that is small enough for a mail body."""

    subject: str
    """State, key numbers, ask."""
    preheader: Rich
    """Shown by mailboxes beside the subject."""
    gap: FigureView | None
    """The figure below the verdict."""
    evidence: TableView | None
    """Short evidence."""
    options: TableView | None
    """Short options."""
    change: Rich
    """What would change this."""
    footer: Rich
    """Why it was sent, and what is attached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoView:
    """One memo."""

    title: str
    """Title of the page and of the mail."""
    campaign: Span
    """What the memo is about."""
    period: Rich
    """Window, runs, which memo."""
    state: State
    """Verdict in a word."""
    headline: Rich
    """What to do, colon, reason with one number."""
    lede: Rich
    """Both numbers and the interval."""
    strip: StripData | None
    """Verdict strip."""
    strip_title: str
    """For screen readers."""
    strip_description: Rich
    """For screen readers."""
    cause: CauseView | None
    """Root cause, directly beneath the verdict."""
    brief: tuple[BriefItem, ...]
    """Asked of you, Why, Do next, Least certain."""
    sections: tuple[Section, ...]
    """In reading order."""
    footer: Rich
    """Window, comparison group, versions."""
    runs: tuple[RunRow, ...]
    """Every run, by label."""
    mail: MailView
    """The mail's part."""
    mail_wanted: bool
    """False when nothing is new."""
    source: MemoSource
    """What it was built from."""
