"""A chain length nobody measured, from those that were: accept length by decaying acceptance, break-even on a line.

Between two measured chains the line is trusted. Beyond them it would carry their noise on, twice as far two steps out:
its slope is drawn towards the growth of published chains, the more the noisier the measured ones are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tracker.analysis.acceptance import decaying_fit, decaying_length
from tracker.analysis.priors import Priors
from tracker.analysis.words import percent

# A share of the growth below this is not worth a word.
_SAID = 0.05


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
    growth_measured_fraction: float
    """How much of the growth per step comes from the measured chains, the rest from published ones."""


def predict_chain(
    measured: Mapping[int, MeasuredChain], num_steps: int, priors: Priors, *, noise_log_sd: float | None = None
) -> ChainPrediction:
    """Return the prediction for `num_steps` from the two measured chains nearest to it, or one and the priors.

    Args:
        measured: Chains by number of draft steps, at least one.
        num_steps: Draft steps wanted.
        priors: Decay and growth where only one chain was measured, and errors of the back-test.
        noise_log_sd: Relative standard deviation of each measured break-even; the default noise of one run when None.
    """
    nearest = sorted(measured, key=lambda steps: (abs(steps - num_steps), steps))[:2]
    low, high = min(nearest), max(nearest)
    first, last = measured[low], measured[high]
    acceptance, rho = _acceptance(low, first.length, high, last.length, priors)
    near = first if num_steps <= low else last
    beyond = num_steps - (low if num_steps <= low else high)
    slope, share = priors.extra_step_fraction, 0.0
    if low < high:
        noise = math.hypot(priors.between_run_fraction, priors.baseline_drift_fraction)
        slope = (last.break_even / first.break_even - 1) / (high - low)
        share = 1.0
        if not low < num_steps < high:
            share = _trusted(noise if noise_log_sd is None else noise_log_sd, high - low, priors)
    growth = share * slope + (1 - share) * priors.extra_step_fraction
    break_even = near.break_even + first.break_even * growth * beyond
    return ChainPrediction(
        length=float(decaying_length(np.asarray(acceptance), rho, num_steps)),
        break_even=break_even,
        length_log_sd=priors.chain_length_log_sd,
        break_even_log_sd=priors.chain_break_even_log_sd,
        growth_measured_fraction=share,
    )


def _trusted(noise_log_sd: float, steps_apart: int, priors: Priors) -> float:
    """Return the weight of a measured growth per step against the published one, both normal."""
    measured = 2 * (noise_log_sd / steps_apart) ** 2
    published = priors.extra_step_sd**2
    return published / (published + measured) if measured else 1.0


def published_share(growth_measured_fraction: float) -> str:
    """Return which part of a line's slope is that of published chains, after a comma; empty where next to none is."""
    published = 1 - growth_measured_fraction
    return "" if published < _SAID else f", {percent(published)} of its slope as in published chains"


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
