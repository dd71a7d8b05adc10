"""A chain length nobody measured, from those that were: accept length by decaying acceptance, break-even on a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracker.analysis.acceptance import decaying_fit, decaying_length
from tracker.analysis.priors import Priors


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredChain:
    """One measured chain."""

    length: float
    """Accept length."""
    break_even: float
    """Break-even accept length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPrediction:
    """One predicted chain; standard deviations are of the model alone, relative."""

    length: float
    """Accept length."""
    break_even: float
    """Break-even accept length."""
    length_log_sd: float
    """Of the accept length."""
    break_even_log_sd: float
    """Of the break-even."""


def predict_chain(measured: Mapping[int, MeasuredChain], num_steps: int, priors: Priors) -> ChainPrediction:
    """Return the prediction for `num_steps` from the two measured chains nearest to it, or one and the priors.

    Args:
        measured: Chains by number of draft steps, at least one.
        num_steps: Draft steps wanted.
        priors: Decay and growth where only one chain was measured, and errors of the back-test.
    """
    nearest = sorted(measured, key=lambda steps: (abs(steps - num_steps), steps))[:2]
    low, high = min(nearest), max(nearest)
    first, last = measured[low], measured[high]
    acceptance, rho = _acceptance(low, first.length, high, last.length, priors)
    if low == high:
        break_even = first.break_even * (1 + priors.extra_step_fraction * (num_steps - low))
    else:
        slope = (last.break_even - first.break_even) / (high - low)
        break_even = first.break_even + slope * (num_steps - low)
    return ChainPrediction(
        length=float(decaying_length(np.asarray(acceptance), rho, num_steps)),
        break_even=break_even,
        length_log_sd=priors.chain_length_log_sd,
        break_even_log_sd=priors.chain_break_even_log_sd,
    )


def first_acceptance(length: float, rho: float, num_steps: int) -> float:
    """Return the first-position acceptance of a decaying chain that yields `length`; 1 when no chain yields so much."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        short = float(decaying_length(np.asarray(middle), rho, num_steps)) < length
        low, high = (middle, high) if short else (low, middle)
    return (low + high) / 2


def _acceptance(low: int, first: float, high: int, last: float, priors: Priors) -> tuple[float, float]:
    if low != high:
        try:
            return decaying_fit(first, low, last, high)
        except ValueError:
            # Two lengths that no decaying chain joins: the longer chain with the usual decay.
            return first_acceptance(last, priors.rho_mean, high), priors.rho_mean
    return first_acceptance(first, priors.rho_mean, low), priors.rho_mean
