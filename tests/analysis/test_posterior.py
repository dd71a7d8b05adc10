"""The posterior of the curve: shares of its forms, held or by likelihood, and how likely the data are."""

from __future__ import annotations

import numpy as np
import pytest

from tracker.analysis._forms import Chain
from tracker.analysis.posterior import Posterior, SizeMeasurement, sample
from tracker.analysis.priors import DEFAULT_PRIORS, Priors

CHAIN = Chain(num_steps=3, max_acceptance=0.97, max_length=4.0)
SIZES = tuple(SizeMeasurement(samples=10**power, length=1.3 + 0.4 * power - 1.2, se=0.05) for power in (3, 4, 5))


def fitted(
    *sizes: SizeMeasurement, priors: Priors = DEFAULT_PRIORS, shares: tuple[float, ...] | None = None
) -> Posterior:
    return sample(sizes, chain=CHAIN, priors=priors, seed=3, form_weights=shares)


def test_forms_held_at_their_own_shares_change_nothing() -> None:
    free = fitted(*SIZES)
    held = fitted(*SIZES, shares=free.form_weights)

    np.testing.assert_array_equal(free.lengths(1e6), held.lengths(1e6))
    assert held.log_evidence == free.log_evidence


def test_held_shares_are_those_of_the_draws() -> None:
    shares = (0.5, 0.0, 0.25, 0.25)
    held = fitted(*SIZES, priors=DEFAULT_PRIORS.scale_slope(0.5), shares=shares)

    assert held.form_weights == pytest.approx(shares)
    count = DEFAULT_PRIORS.draws
    assert [len(part) for part in held.scores] == pytest.approx([share * count for share in shares], abs=1)


def test_data_far_from_the_prior_are_less_likely() -> None:
    expected, odd = (SizeMeasurement(samples=10_000, length=length, se=0.05) for length in (2.1, 3.8))

    assert fitted(expected).log_evidence > fitted(odd).log_evidence + 2


def test_data_that_nothing_needs_to_explain_have_a_likelihood_of_one() -> None:
    assert fitted().log_evidence == pytest.approx(0.0, abs=1e-9)
