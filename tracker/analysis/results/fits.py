"""Fitted models: step time, acceptance, scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tracker.analysis.results.evidence import BreakEven, Configuration
from tracker.domain.estimate import Estimate
from tracker.domain.training import TrainingCost

ScalingStatus = Literal["forecast", "qualified", "refused"]
StepTimeStatus = Literal["fitted", "combined", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimeFit:
    """Step time split into fixed overhead, verification and drafting: T = T_base + f + v (n - 1) + d s."""

    status: StepTimeStatus
    """combined: rank-deficient, only v + d is known."""
    rank: int
    """Rank of the design."""
    concurrency: int | None
    """Streams."""
    fixed_ms: Estimate = Estimate()
    """f."""
    per_verified_token_ms: Estimate = Estimate()
    """v."""
    per_draft_step_ms: Estimate = Estimate()
    """d."""
    combined_ms: Estimate = Estimate()
    """v + d for chains."""
    baseline_ms: float | None = None
    """T_base."""
    example: Configuration | None = None
    """Configuration whose step the memo draws."""
    example_step_ms: float | None = None
    """Its measured step time."""
    assumed_num_steps: int | None = None
    """Where num_steps was not recorded, the value assumed."""
    alternatives: tuple[tuple[int, float, float, float], ...] = ()
    """(assumed num_steps, fixed, low, high) for other assumptions."""
    reason: str | None = None
    """Why refused or combined."""
    cure: str | None = None
    """The one run that would make it identifiable."""
    run_ids: tuple[str, ...] = ()
    """Runs in the fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionAcceptance:
    """Acceptance at one draft position, 1-based."""

    position: int
    """Draft position."""
    unconditional: Estimate
    """Share of verify steps that reach and accept it."""
    conditional: Estimate
    """Given that all earlier positions were accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryAcceptance:
    """Acceptance of one category of prompts."""

    category: str
    """Category."""
    accept_length: Estimate
    """Tokens over verify steps."""
    requests: int
    """Requests behind it."""
    token_share: float | None = None
    """Share of the generated tokens, on this benchmark's mix; None where tokens were not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyCeiling:
    """What the reduced draft vocabulary can explain at most."""

    coverage_fraction: float
    """Share of tokens inside the draft vocabulary."""
    max_accept_length: float | None
    """Ceiling sum of coverage powers, for `assumed_num_steps` where num_steps was not recorded."""
    rejections_explained_fraction: float | None
    """(1 - coverage) / (1 - acceptance)."""
    max_gain_tokens: float | None
    """Most that full coverage could add to the accept length."""
    is_lever: bool
    """Explains more than 15 % of rejections."""
    assumed_num_steps: int | None = None
    """Where num_steps was not recorded, the value assumed; None when it was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceProfile:
    """Acceptance of the best drafter."""

    run_id: str | None = None
    """Run it was read from."""
    configuration: Configuration | None = None
    """Its configuration."""
    per_position: tuple[PositionAcceptance, ...] = ()
    """By draft position."""
    per_category: tuple[CategoryAcceptance, ...] = ()
    """By category, best first."""
    vocabulary: VocabularyCeiling | None = None
    """Vocabulary ceiling; None when coverage is not known."""
    reason: str | None = None
    """Why positions or categories are missing."""
    mix_accept_length: float | None = None
    """Accept length of all categories together, each weighted by its share of tokens so that time adds up
    (harmonic); None without categories."""
    training_note: str | None = None
    """What the trainer's own metric says beside the served accept length; it informs and is in no fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingPoint:
    """One training size."""

    samples: int
    """Training samples."""
    accept_length: Estimate
    """Served accept length."""
    run_id: str
    """Run that served it."""
    optimizer_steps: int | None = None
    """Optimizer steps."""
    epochs: float | None = None
    """Epochs."""
    repeated_fraction: float | None = None
    """Share of the training set that repeats other samples; `samples` counts distinct ones. None when not recorded."""
    cost: TrainingCost | None = None
    """GPU-hours of its training by phase, as recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastPoint:
    """Forecast accept length at one training size."""

    samples: int
    """Training samples."""
    low: float
    """10th percentile."""
    median: float
    """Median."""
    high: float
    """90th percentile."""
    quartile_low: float
    """25th percentile."""
    quartile_high: float
    """75th percentile."""
    p_break_even: float | None
    """Chance of reaching break-even at this size."""
    speculative: bool
    """More than one decade beyond the largest measured size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplesNeeded:
    """Training samples to reach break-even; None is an open end: not by `max_samples`."""

    low: float | None
    """10th percentile."""
    median: float | None
    """Median."""
    high: float | None
    """90th percentile."""
    p_never: float
    """Share of draws that do not reach it by `max_samples`."""
    max_samples: int = 10_000_000
    """Search limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSamples:
    """Training samples for one speed-up."""

    speedup: float
    """Wanted speed over the baseline; 1 is break-even."""
    accept_length: float
    """Accept length it takes."""
    reachable: bool | None
    """Whether a perfect drafter yields so much; None where the number of steps is assumed."""
    needed: SamplesNeeded | None
    """Samples with their open ends; None where it is out of reach."""
    note: str
    """The same in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOut:
    """The largest size predicted from the smaller ones: how far the curve can be trusted."""

    samples: int
    """Largest size, left out of the fit."""
    measured: float
    """Its served accept length."""
    low: float
    """10th percentile of what was predicted, measurement noise included."""
    median: float
    """Median."""
    high: float
    """90th percentile."""
    pit: float
    """Share of the prediction at or below what was measured; uniform over many series when intervals are right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingFit:
    """Accept length against training data."""

    status: ScalingStatus
    """refused: no curve is drawn."""
    reason: str | None
    """Why qualified or refused; for one size, where the slope comes from."""
    cure: str | None = None
    """What would lift the refusal, with its cost where known."""
    configuration: Configuration | None = None
    """One configuration only."""
    concurrency: int | None = None
    """Load the accept lengths were measured at."""
    points: tuple[ScalingPoint, ...] = ()
    """Measured sizes, ascending."""
    forecast: tuple[ForecastPoint, ...] = ()
    """Empty when refused."""
    samples_to_break_even: SamplesNeeded | None = None
    """None when refused or without a break-even."""
    break_even: BreakEven | None = None
    """The bar: of whole requests at any accept length where prefill is known, else the configuration's as measured."""
    prefill_fraction: float = 0.0
    """Share of a baseline request's time that prefill takes with speculation; 0 where the bar knows nothing of it."""
    ceiling: float | None = None
    """Vocabulary or chain ceiling on the accept length."""
    data_share: float | None = None
    """1 - var(slope | data) / var(slope | prior); 0 with one size."""
    effective_sample_size: float | None = None
    """Of the importance weights."""
    worst_residual_se: float | None = None
    """Largest residual in standard errors."""
    max_acceptance: float | None = None
    """Highest first-position acceptance the fit allowed: vocabulary coverage or the prior's ceiling."""
    assumed_num_steps: int | None = None
    """Where num_steps was not recorded, the value assumed."""
    targets: tuple[TargetSamples, ...] = ()
    """Samples for break-even and for target speed-ups; empty when refused or without a break-even."""
    hold_out: HoldOut | None = None
    """Largest size predicted from the others, refused fits included; None below two sizes."""
    unserved: tuple[int, ...] = ()
    """Sizes that were trained, some with a training metric, and never served in this configuration: not in the fit."""
    beside: tuple[ScalingPoint, ...] = ()
    """Drafters of this configuration trained on another mix or budget than `points`: in no fit, ascending."""
    budget_note: str | None = None
    """What `beside` shows, each against the fitted drafter of its size; None without any."""
