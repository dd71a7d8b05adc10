"""A chain from its neighbours: exact between them, drawn towards published growth beyond, the more the noisier."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.analysis.chains import MeasuredChain, predict_chain, published_share
from tracker.analysis.priors import DEFAULT_PRIORS

STEEP = {3: MeasuredChain(length=2.4, break_even=1.5), 5: MeasuredChain(length=2.8, break_even=1.9)}
ON_THE_LINE = 1.5 + 0.2 * 4
AS_PUBLISHED = 1.9 + 1.5 * DEFAULT_PRIORS.extra_step_fraction * 2


def test_without_noise_the_line_goes_on() -> None:
    found = predict_chain(STEEP, 7, DEFAULT_PRIORS, noise_log_sd=0.0)

    assert found.break_even == pytest.approx(ON_THE_LINE)
    assert found.growth_measured_fraction == 1.0


def test_much_noise_leaves_the_growth_of_published_chains() -> None:
    found = predict_chain(STEEP, 7, DEFAULT_PRIORS, noise_log_sd=5.0)

    assert found.break_even == pytest.approx(AS_PUBLISHED, abs=1e-3)
    assert found.growth_measured_fraction < 1e-3


@given(noise=st.floats(0.0, 0.5), more=st.floats(1.0, 10.0))
def test_more_noise_never_trusts_the_measured_growth_more(noise: float, more: float) -> None:
    less, much = (predict_chain(STEEP, 7, DEFAULT_PRIORS, noise_log_sd=sd) for sd in (noise, noise * more))

    assert much.growth_measured_fraction <= less.growth_measured_fraction
    assert AS_PUBLISHED - 1e-9 <= much.break_even <= less.break_even + 1e-9 <= ON_THE_LINE + 2e-9


@pytest.mark.parametrize("noise", [0.0, 0.018, 0.5])
def test_between_measured_chains_the_line_passes_through_both(noise: float) -> None:
    wide = {3: STEEP[3], 7: MeasuredChain(length=3.0, break_even=2.5)}

    assert predict_chain(wide, 5, DEFAULT_PRIORS, noise_log_sd=noise).break_even == pytest.approx(2.0)


def test_chains_further_apart_tell_more_of_the_growth() -> None:
    wide = {2: STEEP[3], 5: STEEP[5]}
    near, far = (predict_chain(chains, 7, DEFAULT_PRIORS) for chains in (STEEP, wide))

    assert near.growth_measured_fraction < far.growth_measured_fraction < 1


def test_a_shorter_chain_than_all_measured_shrinks_in_the_same_way() -> None:
    found = predict_chain(STEEP, 2, DEFAULT_PRIORS, noise_log_sd=5.0)

    assert found.break_even == pytest.approx(1.5 * (1 - DEFAULT_PRIORS.extra_step_fraction), abs=1e-3)


def test_what_is_published_is_said_where_it_is_worth_a_word() -> None:
    assert published_share(0.64) == ", 36 % of its slope as in published chains"
    assert published_share(0.97) == ""
