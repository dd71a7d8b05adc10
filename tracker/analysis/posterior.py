"""Posterior of the scaling curve by importance sampling: quasi-random draws from the prior, weighted by the likelihood.

Deterministic, without an optimiser that could get stuck, and right for any number of sizes (modelling notes, 3.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.stats import qmc

from tracker.analysis._forms import Chain, Form, forms_for
from tracker.analysis.priors import Priors
from tracker.analysis.uncertainty import FloatArray

LOG2_DRAWS = 14
LEAST_EFFECTIVE_DRAWS = 300
_REFINEMENTS = 3
# Proposals wider than the posterior keep the weights bounded.
_INFLATION = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeMeasurement:
    """One training size as the fit sees it."""

    samples: int
    """Training samples."""
    length: float
    """Served accept length."""
    se: float
    """Its standard error on the fixed prompt set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Equally weighted posterior draws of the curve."""

    priors: Priors
    """Priors behind it."""
    chain: Chain
    """What the configuration allows."""
    forms: tuple[Form, ...]
    """Forms averaged."""
    scores: tuple[FloatArray, ...]
    """Normal scores per form, shape (draws of that form, dimensions)."""
    discrepancy: FloatArray
    """Standard normal score of each draw's departure beyond the measured sizes, shape (n_draws,)."""
    largest: int | None
    """Largest measured size; None without one."""
    effective_draws: float
    """Effective sample size of the weights."""
    form_weights: tuple[float, ...]
    """Share of each form: by its marginal likelihood, or as held."""
    log_evidence: float
    """Logarithm of the mean likelihood over the priors of all forms, up to a constant of the data."""

    def lengths(self, samples: float) -> FloatArray:
        """Return accept length at a training size, shape (n_draws,); the curves may be wrong beyond the data."""
        x = math.log10(samples / self.priors.reference_samples)
        curve = np.concatenate(
            [form.lengths(part, x, self.priors, self.chain) for form, part in zip(self.forms, self.scores, strict=True)]
        )
        start = self.priors.reference_samples if self.largest is None else self.largest
        beyond = max(0.0, math.log10(samples / start))
        return np.clip(curve + self.priors.kappa * beyond * self.discrepancy, 1.0, self.chain.max_length)


def sample(
    measured: Sequence[SizeMeasurement],
    *,
    chain: Chain,
    priors: Priors,
    seed: int,
    draws: int | None = None,
    form_weights: Sequence[float] | None = None,
) -> Posterior:
    """Return posterior draws; refined around the mode while the effective sample size is below 300.

    Args:
        measured: Sizes; none gives the prior.
        chain: What the configuration allows.
        priors: Assumptions.
        seed: Seed of the scrambled Sobol sequence.
        draws: Draws returned; `priors.draws` by default.
        form_weights: Shares of the forms to hold, those of another fit of the same sizes; by likelihood when None.
    """
    forms = forms_for(len({item.samples for item in measured}))
    proposals = [_from_prior(form, seed + index) for index, form in enumerate(forms)]
    weights = [
        _log_weights(form, part, None, measured, chain, priors) for form, part in zip(forms, proposals, strict=True)
    ]
    for step in range(_REFINEMENTS):
        if _effective(_shared(weights, form_weights)) >= LEAST_EFFECTIVE_DRAWS:
            break
        for index, form in enumerate(forms):
            proposals[index], weights[index] = _refined(
                form, proposals[index], weights[index], measured, chain, priors, seed + 101 * (step + 1) + index
            )
    count = priors.draws if draws is None else draws
    log_evidence = _log_evidence(weights)
    weights = _shared(weights, form_weights)
    chosen = _resample(weights, count, seed)
    scores = tuple(part[index] for part, index in zip(proposals, chosen, strict=True))
    order = special.ndtri(qmc.Sobol(d=1, seed=seed + 7).random(_power_of_two(count))[:count, 0].clip(1e-9, 1 - 1e-9))
    shuffled = np.random.default_rng(seed).permutation(order)
    return Posterior(
        priors=priors,
        chain=chain,
        forms=forms,
        scores=scores,
        discrepancy=np.asarray(shuffled, dtype=np.float64),
        largest=max((item.samples for item in measured), default=None),
        effective_draws=_effective(weights),
        form_weights=_form_weights(weights),
        log_evidence=log_evidence,
    )


def _power_of_two(count: int) -> int:
    return 1 << max(0, (count - 1).bit_length())


def _from_prior(form: Form, seed: int) -> FloatArray:
    uniform = qmc.Sobol(d=form.dimensions, seed=seed).random_base2(LOG2_DRAWS)
    return np.asarray(special.ndtri(uniform.clip(1e-9, 1 - 1e-9)), dtype=np.float64)


def _log_weights(
    form: Form,
    scores: FloatArray,
    log_proposal: FloatArray | None,
    measured: Sequence[SizeMeasurement],
    chain: Chain,
    priors: Priors,
) -> FloatArray:
    result = np.zeros(len(scores))
    curve = form.curve(scores, priors, chain)
    for item in measured:
        sd = math.hypot(item.se, priors.tau)
        x = math.log10(item.samples / priors.reference_samples)
        result -= 0.5 * ((item.length - curve(x)) / sd) ** 2
    if log_proposal is not None:
        result += -0.5 * np.sum(scores**2, axis=1) - log_proposal
    return result


def _refined(
    form: Form,
    scores: FloatArray,
    log_weights: FloatArray,
    measured: Sequence[SizeMeasurement],
    chain: Chain,
    priors: Priors,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Return draws from a normal around the weighted mode, with weights that undo the change of proposal."""
    weights = np.exp(log_weights - log_weights.max())
    mean = np.average(scores, axis=0, weights=weights)
    centred = scores - mean
    covariance = _INFLATION * (centred * weights[:, None]).T @ centred / weights.sum() + 1e-3 * np.eye(form.dimensions)
    root = np.linalg.cholesky(covariance)
    standard = _from_prior(form, seed)
    moved = mean + standard @ root.T
    log_proposal = -0.5 * np.sum(standard**2, axis=1) - float(np.log(np.diag(root)).sum())
    return moved, _log_weights(form, moved, log_proposal, measured, chain, priors)


def _shared(log_weights: list[FloatArray], shares: Sequence[float] | None) -> list[FloatArray]:
    """Return log weights in which each form has its share; unchanged without shares."""
    if shares is None:
        return log_weights
    return [
        part - special.logsumexp(part) + (math.log(share) if share > 0 else -math.inf)
        for part, share in zip(log_weights, shares, strict=True)
    ]


def _log_evidence(log_weights: Sequence[FloatArray]) -> float:
    return float(special.logsumexp(np.concatenate(log_weights)) - math.log(sum(map(len, log_weights))))


def _normalised(log_weights: Sequence[FloatArray]) -> list[FloatArray]:
    top = max(float(part.max()) for part in log_weights)
    weights = [np.exp(part - top) for part in log_weights]
    total = sum(float(part.sum()) for part in weights)
    return [part / total for part in weights]


def _effective(log_weights: Sequence[FloatArray]) -> float:
    weights = np.concatenate(_normalised(log_weights))
    return float(1 / np.sum(weights**2))


def _form_weights(log_weights: Sequence[FloatArray]) -> tuple[float, ...]:
    return tuple(float(part.sum()) for part in _normalised(log_weights))


def _resample(log_weights: Sequence[FloatArray], count: int, seed: int) -> list[npt.NDArray[np.intp]]:
    """Return, per form, the indices of an equally weighted subset (systematic resampling)."""
    weights = _normalised(log_weights)
    edges = np.cumsum(np.concatenate(weights))
    start = np.random.default_rng(seed).random()
    picked = np.searchsorted(edges, (np.arange(count) + start) / count * edges[-1])
    picked = np.minimum(picked, len(edges) - 1)
    result, offset = [], 0
    for part in weights:
        inside = picked[(picked >= offset) & (picked < offset + len(part))] - offset
        result.append(inside)
        offset += len(part)
    return result
