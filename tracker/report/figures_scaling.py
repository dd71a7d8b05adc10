"""What the figure of accept length against training samples shows."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.report.spans import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """One measured training size."""

    samples: int
    """Training samples."""
    value: float
    """Accept length."""
    low: float | None
    """80 %."""
    high: float | None
    """80 %."""
    text: Span
    """As shown."""
    note: Span | None = None
    """Optimizer steps, where sizes were not trained alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FanPoint:
    """Forecast at one size."""

    samples: int
    """Training samples."""
    low: float
    """10th percentile."""
    quartile_low: float
    """25th."""
    median: float
    """50th."""
    quartile_high: float
    """75th."""
    high: float
    """90th."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesRange:
    """Samples to reach break-even; None is an open end."""

    low: float | None
    """10th percentile."""
    median: float | None
    """50th."""
    high: float | None
    """90th."""
    low_text: Span | None
    """As shown."""
    median_text: Span | None
    """As shown."""
    high_text: tuple[Span, ...]
    """As shown, with the share of draws that never reach it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPoint:
    """A published figure or an excluded run, shown beside the data."""

    samples: int
    """Training samples."""
    value: float
    """Accept length."""
    label: str
    """Words beside it."""
    size_text: Span
    """Training samples as shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingData:
    """Accept length against training samples; an empty fan is a refused fit."""

    points: tuple[SizePoint, ...]
    """Measured."""
    fan: tuple[FanPoint, ...]
    """Forecast."""
    bar: float | None
    """Break-even."""
    bar_text: tuple[Span, ...]
    """Words at it."""
    ceiling: float | None
    """Ceiling on the accept length."""
    ceiling_text: tuple[Span, ...]
    """Words at it."""
    needed: SamplesRange | None
    """Samples to break even."""
    references: tuple[OtherPoint, ...]
    """Published figures."""
    excluded: tuple[OtherPoint, ...]
    """Runs left out."""
    fade_from: int | None
    """Largest size within one decade of the data, where the fan starts to fade."""
