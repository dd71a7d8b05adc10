"""Pure numbers: same input, same output; time and randomness are arguments.

`analyse` and `gather` load numpy and scipy when called, so that importing the results contract stays cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracker.analysis.decision import Evidence
    from tracker.analysis.priors import Priors
    from tracker.analysis.results import CampaignAnalysis, Window
    from tracker.domain.campaign import Campaign
    from tracker.domain.record import StoredRun

__all__ = ["analyse", "gather"]


def analyse(
    runs: Sequence[StoredRun],
    *,
    campaign: Campaign,
    window: Window,
    baseline_run: str | None = None,
    priors: Priors | None = None,
    seed: int = 0,
) -> CampaignAnalysis:
    """Return what the data of a campaign carry, see `tracker.analysis.campaign.analyse`; packaged priors by default."""
    from tracker.analysis.campaign import analyse as run
    from tracker.analysis.priors import DEFAULT_PRIORS

    return run(
        runs,
        campaign=campaign,
        window=window,
        baseline_run=baseline_run,
        priors=DEFAULT_PRIORS if priors is None else priors,
        seed=seed,
    )


def gather(analysis: CampaignAnalysis, *, priors: Priors | None = None, seed: int = 0) -> Evidence:
    """Return the evidence that options rest on, see `tracker.analysis.decision.gather`; packaged priors by default."""
    from tracker.analysis.decision import gather as collect
    from tracker.analysis.priors import DEFAULT_PRIORS

    return collect(analysis, priors=DEFAULT_PRIORS if priors is None else priors, seed=seed)
