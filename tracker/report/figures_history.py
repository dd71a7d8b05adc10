"""What the history figure shows: runs, or memos, over time against one bar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tracker.report.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPoint:
    """One run, or one memo, at its moment."""

    at: datetime
    """When, in the reader's zone."""
    value: float
    """tok/s, or a speed-up."""
    label: str
    """Short name beside the mark; empty where marks stand too close for names."""
    name: str
    """Name in full."""
    text: Span
    """Value as shown."""
    kind: Literal["baseline", "contender", "best", "excluded"]
    """Which mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryChange:
    """A moment at which a series jumped."""

    at: datetime
    """When the first run after the jump was measured."""
    letter: str
    """Letter at the line, explained below the chart."""
    annotated: bool
    """Whether somebody said what changed then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryData:
    """Values over time against one bar."""

    points: tuple[HistoryPoint, ...]
    """Oldest first."""
    bar: float
    """The baseline to beat, or 1.0."""
    bar_text: Span
    """Words at the bar."""
    unit: str
    """Words at the axis."""
    changes: tuple[HistoryChange, ...] = ()
    """Jumps."""
