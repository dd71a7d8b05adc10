"""What each figure shows: values and words, without a drawing. Page, mail and explorer draw the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tracker.report.figures_history import HistoryData
from tracker.report.figures_scaling import ScalingData
from tracker.report.figures_spread import SpreadData
from tracker.report.spans import Span

Mark = Literal["faster", "slower", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StripRow:
    """One load on the verdict strip."""

    label: str
    """Load in words."""
    mark: Mark
    """Verdict."""
    speedup: float
    """Best candidate over baseline."""
    low: float | None
    """80 %."""
    high: float | None
    """80 %."""
    text: Span
    """Value beside the mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StripData:
    """Speed-up against the bar at 1.0; no rows: there is no baseline."""

    rows: tuple[StripRow, ...]
    """One a load."""
    bar_text: Span
    """Words at the bar: the baseline's speed, or that there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One configuration's throughput."""

    label: str
    """Configuration."""
    value: float
    """Output tok/s."""
    low: float | None
    """80 %; None when a single run carries none."""
    high: float | None
    """80 %."""
    text: Span
    """Value as shown."""
    against: Span
    """Difference to the baseline."""
    best: bool
    """Whether it is the best contender."""
    filled: bool
    """Filled or outlined, by the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarGroup:
    """Rows that share what differs most."""

    title: str | None
    """What they share."""
    rows: tuple[BarRow, ...]
    """Fastest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputData:
    """Throughput of every configuration, the baseline as a line."""

    baseline: float
    """Output tok/s."""
    baseline_text: Span
    """As shown."""
    groups: tuple[BarGroup, ...]
    """Rows by group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRow:
    """What a configuration yields against what it must yield."""

    label: str
    """Configuration."""
    yields: float | None
    """Accept length; None where no drafter was served."""
    low: float | None
    """Lower end of its interval."""
    high: float | None
    """Upper end."""
    yields_text: Span
    """As shown."""
    must: float
    """Break-even."""
    must_text: Span
    """As shown."""
    gap_text: Span
    """`needs +9.4 %`, or `clears by 32 %`."""
    ceiling: float | None
    """Most it can yield, where that is known or assumed and cuts the bar off; else None."""
    ceiling_steps: int | None
    """Draft steps behind the ceiling."""
    ceiling_assumed: bool
    """Whether the steps are assumed rather than recorded."""
    best: bool
    """Best contender."""
    in_noise: bool = False
    """Whether the interval of its speed-up holds 1.0, so that the distance shows no direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapGroup:
    """Rows that share what differs most."""

    title: str | None
    """What they share."""
    rows: tuple[GapRow, ...]
    """Rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapData:
    """Accept length against break-even per configuration."""

    groups: tuple[GapGroup, ...]
    """Rows by group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPart:
    """One part of a speculative step."""

    label: str
    """What it is."""
    length_ms: float
    """Its time."""
    low_ms: float | None
    """80 %."""
    high_ms: float | None
    """80 %."""
    text: Span
    """Time as shown."""
    range_text: Span | None
    """Interval as shown."""
    role: Literal["plain", "attack", "other"]
    """plain: the step without speculation; attack: the part to work on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeData:
    """Where the time of one step goes."""

    parts: tuple[StepPart, ...]
    """In order, they add up to the total."""
    total_ms: float
    """Whole step."""
    total_text: Span
    """As shown."""
    allowed_ms: float | None
    """Time a step may take at today's accept length."""
    allowed_text: tuple[Span, ...]
    """Words at the line."""
    excess_text: tuple[Span, ...]
    """What is too much, or to spare."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareData:
    """What the reduced vocabulary explains."""

    inside_text: tuple[Span, ...]
    """Words for the rest."""
    outside_fraction: float
    """Share of rejections that it explains."""
    outside_text: tuple[Span, ...]
    """Words for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DotRow:
    """One category or position."""

    label: str
    """Name."""
    value: float
    """Value."""
    low: float | None
    """80 %."""
    high: float | None
    """80 %."""
    text: Span
    """As shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DotRowsData:
    """Values by category or by position against one bar."""

    rows: tuple[DotRow, ...]
    """Rows."""
    bar: float | None
    """Bar to clear."""
    bar_text: tuple[Span, ...]
    """Words at the bar."""
    low_axis: float
    """Left end of the axis."""
    high_axis: float
    """Right end."""
    unit: str
    """Words at the axis."""
    as_percent: bool = False
    """Whether ticks are per cent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRow:
    """Net value of one option."""

    letter: str
    """As in the table."""
    label: str
    """Title."""
    mean: float
    """GPU-hours."""
    low: float | None
    """80 %."""
    high: float | None
    """80 %."""
    text: Span
    """As shown."""
    lead: bool
    """Whether its interval lies above zero."""
    known: bool
    """Filled mark: nothing is spent or the speed is measured."""
    cost: float | None = None
    """GPU-hours that are lost where it fails; None where not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsData:
    """Net value of the options against zero, which is keeping the baseline."""

    rows: tuple[OptionRow, ...]
    """By rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """Speed-up of one series at one load."""

    concurrency: int
    """Streams."""
    speedup: float
    """Over the baseline of that load."""
    low: float | None
    """80 %."""
    high: float | None
    """80 %."""
    text: Span
    """As shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSeries:
    """One configuration and drafter over load."""

    label: str
    """Name at the line's end."""
    name: str
    """The same in full."""
    points: tuple[LoadPoint, ...]
    """Ascending load."""
    lead: bool
    """Whether it is the best contender at the lowest load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadData:
    """Speed-up over load."""

    series: tuple[LoadSeries, ...]
    """Best first."""
    crossing: tuple[int, int] | None
    """Two measured loads that hold the crossing of 1.0."""


FigureData = (
    StripData
    | ThroughputData
    | GapData
    | StepTimeData
    | ShareData
    | DotRowsData
    | ScalingData
    | OptionsData
    | LoadData
    | HistoryData
    | SpreadData
)
