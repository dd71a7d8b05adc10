"""The ranking and the forecast again, under a slope prior half and twice as steep.

Another prior also shifts weight between the forms of the curve: where the data refuse a gentler slope, the forms it
governs lose their weight, and one that forecasts more may take over. So the forecast is given both ways, with forms
weighed anew and with their shares held, beside how likely the data are under that prior at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tracker.analysis.decision import Evidence, Valued, gather
from tracker.analysis.posterior import LEAST_EFFECTIVE_DRAWS, Posterior
from tracker.analysis.refits import refit_curve
from tracker.analysis.results import PriorSensitivity
from tracker.analysis.uncertainty import HIGH_QUANTILE, LOW_QUANTILE
from tracker.domain.estimate import Estimate

# Shares of forms that moved by less leave the curve as it is.
_SHIFTED = 0.01
_SLOPES = ((0.5, "slope prior halved"), (2.0, "slope prior doubled"))


def prior_sensitivity(
    evidence: Evidence, best: Valued | None, rank: Callable[[Evidence], Sequence[Valued]]
) -> tuple[PriorSensitivity, ...]:
    """Return the best option and the forecast under each other slope prior; empty where nothing rests on a curve.

    Args:
        evidence: What the ranking rests on.
        best: Its best option.
        rank: Ranks the options of other evidence.
    """
    if best is None or not evidence.sizes:
        return ()
    found = []
    for factor, label in _SLOPES:
        other = gather(evidence.analysis, priors=evidence.priors.scale_slope(factor), seed=evidence.seed)
        first = next((option for option in rank(other) if option.rank == 1), None)
        if first is not None:
            found.append(_compared(evidence, other, label, first, changes=first.key != best.key))
    return tuple(found)


def _compared(evidence: Evidence, other: Evidence, label: str, first: Valued, *, changes: bool) -> PriorSensitivity:
    found = PriorSensitivity(label=label, option_key=first.key, title=first.title, changes=changes)
    fit, stated, anew = evidence.analysis.scaling, evidence.curve, other.curve
    samples = max((point.samples for point in fit.forecast if not point.speculative), default=None)
    if stated is None or anew is None or samples is None:
        return found
    held: Posterior | None = anew
    if np.abs(np.subtract(anew.form_weights, stated.form_weights)).max() > _SHIFTED:
        held = refit_curve(fit, priors=other.priors, seed=other.seed, form_weights=stated.form_weights)
    return replace(
        found,
        samples=samples,
        stated=_forecast(stated, samples),
        reweighted=_forecast(anew, samples),
        held=_forecast(held, samples),
        likelihood_ratio=math.exp(anew.log_evidence - stated.log_evidence),
    )


def _forecast(posterior: Posterior | None, samples: int) -> Estimate:
    if posterior is None:
        return Estimate(reason="the fit is refused")
    if posterior.effective_draws < LEAST_EFFECTIVE_DRAWS:
        return Estimate(reason=f"{posterior.effective_draws:.0f} effective draws meet the data, too few to tell")
    low, median, high = (
        float(part) for part in np.quantile(posterior.lengths(samples), (LOW_QUANTILE, 0.5, HIGH_QUANTILE))
    )
    return Estimate(value=median, low=low, high=high)
