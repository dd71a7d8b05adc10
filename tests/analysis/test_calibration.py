"""Simulated coverage of the scaling forecast: at least nominal, also where no form is right; it is conservative.

The Hill curve is the form that joins from three sizes on; the stretched exponential and the Gompertz curve are none of
the forms. Gompertz was added after that form, so that the table is no proof of what it was built on.
"""

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
    """Return true accept lengths of a curve that none of the published forms describes."""
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


def from_a_stretched_exponential(rng: np.random.Generator) -> dict[int, float]:
    """Return true accept lengths of another curve that none of the forms describes."""
    top, scale, power = rng.uniform(0.7, 0.95), 10 ** rng.uniform(3, 4.5), rng.uniform(0.2, 0.5)
    return {
        size: float(decaying_length(np.asarray(top * (1 - math.exp(-((size / scale) ** power)))), 0.965, 3))
        for size in EVERY_SIZE
    }


def from_a_gompertz_curve(rng: np.random.Generator) -> dict[int, float]:
    """Return true accept lengths of a third curve that none of the forms describes: late, then steep, then flat."""
    top, scale, power = rng.uniform(0.7, 0.95), 10 ** rng.uniform(3, 4.5), rng.uniform(0.3, 0.8)
    return {
        size: float(decaying_length(np.asarray(top * math.exp(-((scale / size) ** power))), 0.965, 3))
        for size in EVERY_SIZE
    }


def any_size(truth: str, rng: np.random.Generator) -> dict[int, float]:
    """Return true accept lengths at every size of the table."""
    if truth == "stretched exponential":
        return from_a_stretched_exponential(rng)
    if truth == "Gompertz":
        return from_a_gompertz_curve(rng)
    if truth == "Hill":
        top, half, power = rng.uniform(0.7, 0.95), 10 ** rng.uniform(3, 4.5), rng.uniform(0.3, 0.8)
        first = {size: top * size**power / (size**power + half**power) for size in EVERY_SIZE}
        return {size: float(decaying_length(np.asarray(rate), 0.965, 3)) for size, rate in first.items()}
    form = FORMS[int(rng.integers(len(FORMS)))]
    scores = rng.standard_normal((1, form.dimensions))
    return {size: float(form.lengths(scores, position(size), DEFAULT_PRIORS, CHAIN)[0]) for size in EVERY_SIZE}


EVERY_SIZE = (500, 1_000, 1_800, 3_000, 5_500, 10_000, 30_000, 100_000, WANTED)
TABLE = {
    "1": (10_000,),
    "2": (3_000, 10_000),
    "3": (1_000, 3_000, 10_000),
    "5": (1_000, 1_800, 3_000, 5_500, 10_000),
    "3 wide": (1_000, 10_000, 100_000),
    "5 wide": (1_000, 3_000, 10_000, 30_000, 100_000),
}

# 200 runs have a standard error of 0.03 at 0.8. Measured over 400 runs with another seed: 0.81 for five wide sizes on a
# stretched exponential, which goes flat the most abruptly, and 0.85 to 1.00 in the other 23 cells: conservative.
RUNS_A_CELL = 200
LEAST = 0.75


@pytest.mark.slow
@pytest.mark.parametrize("sizes", sorted(TABLE))
@pytest.mark.parametrize("truth", ["the forms", "Hill", "stretched exponential", "Gompertz"])
def test_the_whole_table_covers_at_least_its_nominal_share(truth: str, sizes: str) -> None:
    inside = 0
    rng = np.random.default_rng(11)
    for index in range(RUNS_A_CELL):
        lengths = any_size(truth, rng)
        measured = [
            SizeMeasurement(samples=size, length=max(1.0, lengths[size] + SD * float(rng.standard_normal())), se=SD)
            for size in TABLE[sizes]
        ]
        draws = sample(measured, chain=CHAIN, priors=DEFAULT_PRIORS, seed=index, draws=1000).lengths(WANTED)
        low, high = np.quantile(draws, (0.1, 0.9))
        inside += bool(low <= lengths[WANTED] <= high)

    assert inside / RUNS_A_CELL >= LEAST
