"""Forms of accept length against training data, each a function of standard normal scores.

F1 logit-linear, F2 power law to a ceiling, F3 log-linear in accept length; x = log10(samples / reference). Writing the
priors as transforms of normal scores makes the prior a product of standard normals, whatever the form.

From three sizes on a fourth stands beside them, logistic to a ceiling of its own. None of the three both climbs from a
low start and goes flat inside the data: on such curves their forecast lay 0.1 tokens too high, and 80 % intervals
covered 67 %. Fewer sizes cannot show a ceiling and leave the published forms as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from tracker.analysis.acceptance import decaying_length
from tracker.analysis.priors import Priors
from tracker.analysis.uncertainty import FloatArray

# A ceiling lies at least so far above the start, as a share: logits stay finite.
_BELOW = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """What the served configuration allows."""

    num_steps: int
    """Draft steps."""
    max_acceptance: float
    """Highest first-position acceptance: the vocabulary's coverage, or the prior's ceiling."""
    max_length: float
    """Highest accept length."""


Curve = Callable[[float], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form of the curve."""

    name: str
    """Its name."""
    dimensions: int
    """Number of normal scores."""
    curve: Callable[[FloatArray, Priors, Chain], Curve]
    """Accept length (n_draws,) by x, at scores (n_draws, dimensions): what no size changes is computed once."""

    def lengths(self, scores: FloatArray, x: float, priors: Priors, chain: Chain) -> FloatArray:
        """Return accept length (n_draws,) at scores (n_draws, dimensions) and x."""
        return self.curve(scores, priors, chain)(x)


def _positive_normal(score: FloatArray, mean: float, sd: float) -> FloatArray:
    """Return normal(mean, sd) truncated below at 0, from a standard normal score."""
    below = special.ndtr(-mean / sd)
    upper = special.ndtr(-score) * (1 - below)
    return np.asarray(mean - sd * special.ndtri(np.clip(upper, 1e-300, 1.0)), dtype=np.float64)


def _rho(score: FloatArray, priors: Priors) -> FloatArray:
    return priors.rho_mean + priors.rho_sd * score


def _level(score: FloatArray, priors: Priors) -> FloatArray:
    return np.asarray(special.expit(priors.level_mean + priors.level_sd * score), dtype=np.float64)


def _served(first: FloatArray, rho: FloatArray, chain: Chain) -> FloatArray:
    rates = np.clip(first, 0.0, chain.max_acceptance)
    return np.clip(decaying_length(rates, rho, chain.num_steps), 1.0, chain.max_length)


def _logit_linear(scores: FloatArray, priors: Priors, chain: Chain) -> Curve:
    level = priors.level_mean + priors.level_sd * scores[:, 0]
    slope = _positive_normal(scores[:, 1], priors.slope_mean, priors.slope_sd)
    rho = _rho(scores[:, 2], priors)
    return lambda x: _served(special.expit(level + slope * x), rho, chain)


def _power_to_ceiling(scores: FloatArray, priors: Priors, chain: Chain) -> Curve:
    start = np.minimum(_level(scores[:, 0], priors), chain.max_acceptance)
    ceiling = start + (chain.max_acceptance - start) * special.ndtr(scores[:, 1])
    exponent = priors.power_median * np.exp(priors.power_log_sd * scores[:, 2])
    rho = _rho(scores[:, 3], priors)

    def lengths(x: float) -> FloatArray:
        return _served(ceiling - (ceiling - start) * 10.0 ** np.clip(-exponent * x, -50.0, 50.0), rho, chain)

    return lengths


def _log_linear(scores: FloatArray, priors: Priors, chain: Chain) -> Curve:
    start = decaying_length(_level(scores[:, 0], priors), _rho(scores[:, 2], priors), chain.num_steps)
    slope = _positive_normal(scores[:, 1], priors.linear_mean, priors.linear_sd)
    return lambda x: np.clip(start + slope * x, 1.0, chain.max_length)


def _logistic_to_a_ceiling(scores: FloatArray, priors: Priors, chain: Chain) -> Curve:
    highest = chain.max_acceptance
    start = np.minimum(_level(scores[:, 0], priors), highest * (1 - _BELOW))
    slope = _positive_normal(scores[:, 1], priors.slope_mean, priors.slope_sd)
    ceiling = start + (highest - start) * np.maximum(special.ndtr(scores[:, 3]), _BELOW)
    # Slopes were published as logits of acceptance itself: the ceiling leaves the slope at the reference size alone.
    steepness = slope * (1 - start) / (1 - start / ceiling)
    position, rho = special.logit(start / ceiling), _rho(scores[:, 2], priors)

    def lengths(x: float) -> FloatArray:
        return _served(ceiling * special.expit(position + np.clip(steepness * x, -50.0, 50.0)), rho, chain)

    return lengths


FORMS = (
    Form(name="logit-linear", dimensions=3, curve=_logit_linear),
    Form(name="power law to a ceiling", dimensions=4, curve=_power_to_ceiling),
    Form(name="log-linear", dimensions=3, curve=_log_linear),
)
LEVELLING = Form(name="logistic to a ceiling", dimensions=4, curve=_logistic_to_a_ceiling)
_LEAST_SIZES_TO_LEVEL = 3


def forms_for(sizes: int) -> tuple[Form, ...]:
    """Return the forms that so many distinct training sizes can tell from one another."""
    return (*FORMS, LEVELLING) if sizes >= _LEAST_SIZES_TO_LEVEL else FORMS
