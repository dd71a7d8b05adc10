"""Leave the largest size out, predict it from the others, and keep where the measurement fell."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracker.analysis._forms import Chain
from tracker.analysis.posterior import SizeMeasurement, sample
from tracker.analysis.priors import Priors
from tracker.analysis.results import HoldOut
from tracker.analysis.uncertainty import HIGH_QUANTILE, LOW_QUANTILE


def hold_out(measured: Sequence[SizeMeasurement], *, chain: Chain, priors: Priors, seed: int) -> HoldOut | None:
    """Return the largest size as the smaller ones predict it; None below two sizes.

    The prediction is of a measurement: one trained drafter (tau) read with its standard error. Several measurements of
    the largest size are predicted as their mean.

    Args:
        measured: Sizes of one configuration.
        chain: What the configuration allows.
        priors: Assumptions.
        seed: Seed of the draws.
    """
    largest = max((item.samples for item in measured), default=0)
    others = [item for item in measured if item.samples < largest]
    held = [item for item in measured if item.samples == largest]
    if not others:
        return None
    value = math.fsum(item.length for item in held) / len(held)
    se = math.sqrt(math.fsum(item.se**2 + priors.tau**2 for item in held)) / len(held)
    curve = sample(others, chain=chain, priors=priors, seed=seed).lengths(largest)
    noise = np.random.default_rng(seed + 71).standard_normal(len(curve))
    draws = curve + se * noise
    low, median, high = (float(part) for part in np.quantile(draws, (LOW_QUANTILE, 0.5, HIGH_QUANTILE)))
    return HoldOut(
        samples=largest, measured=value, low=low, median=median, high=high, pit=float((draws <= value).mean())
    )
