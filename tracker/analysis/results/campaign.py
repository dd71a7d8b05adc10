"""Everything the analysis says about one campaign."""

from __future__ import annotations

from dataclasses import dataclass

from tracker.analysis.results.evidence import (
    ChainBar,
    CheckedClaim,
    ConfigurationCost,
    Note,
    Point,
    RootCause,
    SharedFinding,
    Verdict,
    Window,
)
from tracker.analysis.results.fits import AcceptanceProfile, ScalingFit, StepTimeFit
from tracker.analysis.results.history import Diagnosis, LoadNoise, StepChange
from tracker.domain.campaign import Campaign
from tracker.domain.workload import Hardware


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignAnalysis:
    """Everything the analysis says about one campaign in one window."""

    campaign: Campaign
    """What the campaign is about."""
    window: Window
    """Reporting window."""
    hardware: Hardware | None
    """Of the comparison group shown."""
    points: tuple[Point, ...]
    """Every run at every concurrency, best first inside a concurrency, baselines before candidates, excluded last."""
    rejected: tuple[Note, ...]
    """Runs outside the comparison group, each with its reason."""
    costs: tuple[ConfigurationCost, ...]
    """Break-even per configuration and concurrency."""
    verdict: Verdict
    """The verdict."""
    root_cause: RootCause | None
    """None when no finding explains void results."""
    findings: tuple[SharedFinding, ...]
    """All findings, errors first, grouped."""
    step_time: StepTimeFit
    """Decomposition at the decision concurrency."""
    acceptance: AcceptanceProfile
    """Of the best drafter."""
    scaling: ScalingFit
    """Accept length against data."""
    claims: tuple[CheckedClaim, ...] = ()
    """Numbers stated before, checked."""
    assumptions: tuple[Note, ...] = ()
    """Inputs nobody measured."""
    data_quality: tuple[Note, ...] = ()
    """What a reader must know about the data."""
    target: str | None = None
    """Name of the model served, in the comparison group shown; None when not recorded."""
    engine: str | None = None
    """Engine of the comparison group shown, e.g. `sglang`; None when not recorded."""
    target_drafts_itself: bool | None = None
    """Whether the target carries its own draft layers (MTP, NextN); None when its configuration was not read."""
    noise: tuple[LoadNoise, ...] = ()
    """Noise between servers by load; every prediction of a server nobody started carries it."""
    changes: tuple[StepChange, ...] = ()
    """Jumps over the history of the campaign, alarms first."""
    diagnoses: tuple[Diagnosis, ...] = ()
    """Slow runs told apart: acceptance or the time of a step."""
    chain_bars: tuple[ChainBar, ...] = ()
    """What a drafter must yield with every chain length at every load, ascending; from step times alone."""
