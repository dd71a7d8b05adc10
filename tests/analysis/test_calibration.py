"""Simulated coverage of the scaling forecast: at least nominal, also where no form is right; it is conservative."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tracker.analysis._forms import FORMS, Chain
from tracker.analysis.acceptance import decaying_length
from tracker.analysis.posterior import SizeMeasurement, sample
from tracker.analysis.priors import DEFAULT_PRIORS

CHAIN = Chain(num_steps=3, max_acceptance=0.97, max_length=3.82)
SIZES = (1_000, 3_000, 10_000)
WANTED, RUNS, SD = 300_000, 120, 0.05


def from_the_forms(rng: np.random.Generator) -> dict[int, float]:
    """Return true accept lengths of a curve that one of the forms describes."""
    form = FORMS[int(rng.integers(len(FORMS)))]
    scores = rng.standard_normal((1, form.dimensions))
    return {size: float(form.lengths(scores, position(size), DEFAULT_PRIORS, CHAIN)[0]) for size in (*SIZES, WANTED)}


def position(samples: int) -> float:
    """Return decades above the reference size."""
    return math.log10(samples / DEFAULT_PRIORS.reference_samples)


def from_a_hill_curve(rng: np.random.Generator) -> dict[int, float]:
    """Return true accept lengths of a curve that none of the forms describes."""
    top, half, power = rng.uniform(0.7, 0.95), 10 ** rng.uniform(3, 4.5), rng.uniform(0.3, 0.8)
    first = {size: top * size**power / (size**power + half**power) for size in (*SIZES, WANTED)}
    return {size: float(decaying_length(np.asarray(rate), 0.965, 3)) for size, rate in first.items()}


@pytest.mark.parametrize("truth", [from_the_forms, from_a_hill_curve])
def test_eighty_per_cent_forecasts_cover_at_least_eighty_per_cent(
    truth: Callable[[np.random.Generator], dict[int, float]],
) -> None:
    rng = np.random.default_rng(7)
    inside = 0
    for index in range(RUNS):
        lengths = truth(rng)
        noise = SD * rng.standard_normal(len(SIZES))
        measured = [
            SizeMeasurement(samples=size, length=max(1.0, lengths[size] + error), se=SD)
            for size, error in zip(SIZES, noise, strict=True)
        ]
        draws = sample(measured, chain=CHAIN, priors=DEFAULT_PRIORS, seed=index, draws=1000).lengths(WANTED)
        low, high = np.quantile(draws, (0.1, 0.9))
        inside += bool(low <= lengths[WANTED] <= high)

    # 120 runs have a standard error of 0.04 at 0.8; the modelling notes found 0.93 and 0.95.
    assert inside / RUNS >= 0.76
