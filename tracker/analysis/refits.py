"""The curve of an analysis fitted again: under other priors, with forms held, or read at other sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracker.analysis._forms import Chain
from tracker.analysis.posterior import Posterior, SizeMeasurement, sample
from tracker.analysis.priors import Priors
from tracker.analysis.results import ScalingFit
from tracker.analysis.uncertainty import Z80, FloatArray
from tracker.domain.estimate import Estimate


def refit_curve(
    fit: ScalingFit, *, priors: Priors, seed: int, form_weights: Sequence[float] | None = None
) -> Posterior | None:
    """Return the posterior of the sizes that were fitted; None when the fit was refused.

    Args:
        fit: What the analysis fitted.
        priors: Assumptions.
        seed: Seed of the draws.
        form_weights: Shares of the forms to hold; by likelihood when None.
    """
    chain = _chain(fit, priors)
    if fit.status == "refused" or chain is None:
        return None
    measured = [
        SizeMeasurement(samples=point.samples, length=point.accept_length.value, se=_se(point.accept_length))
        for point in fit.points
        if point.accept_length.value is not None
    ]
    return sample(measured, chain=chain, priors=priors, seed=seed, form_weights=form_weights)


def lengths_at(curve: Posterior | None, samples: Sequence[int], seed: int) -> dict[int, FloatArray]:
    """Return draws of accept length at each of `samples`, shape (n_draws,); empty without a curve."""
    if curve is None:
        return {}
    # Draws come out ordered by form; shuffled they are independent of every other quantity.
    order = np.random.default_rng(seed + 5).permutation(curve.priors.draws)
    return {size: curve.lengths(size)[order] for size in samples}


def _chain(fit: ScalingFit, priors: Priors) -> Chain | None:
    if fit.configuration is None or fit.ceiling is None or fit.max_acceptance is None:
        return None
    recorded = fit.configuration.num_steps
    return Chain(
        num_steps=priors.assumed_num_steps if recorded is None else recorded,
        max_acceptance=fit.max_acceptance,
        max_length=fit.ceiling,
    )


def _se(estimate: Estimate) -> float:
    half = estimate.half_width
    return 0.0 if half is None else half / Z80
