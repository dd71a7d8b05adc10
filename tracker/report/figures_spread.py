"""What the figure of an interval's parts shows."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.report.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadRow:
    """One independent source of an interval."""

    label: str
    """What it is."""
    sd: float
    """Relative standard deviation."""
    text: Span
    """As shown."""
    assumed: bool
    """Whether it is an assumption rather than something these runs show."""
    largest: bool
    """Whether it is the part to work on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadGroup:
    """One interval."""

    title: str
    """Which number it belongs to."""
    rows: tuple[SpreadRow, ...]
    """Its parts, largest first."""
    total: float
    """All of them together: the root of the sum of their squares."""
    total_text: Span
    """As shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadData:
    """What intervals are made of."""

    groups: tuple[SpreadGroup, ...]
    """One an interval."""
