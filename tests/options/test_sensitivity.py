"""Another slope prior: what it does to the ranking and the forecast, and whether the data bear it."""

from __future__ import annotations

import dataclasses

import pytest

from tests.analysis.builders import BASE, analysed, drafter
from tests.analysis.campaigns import FOUNDING, WINDOW, founding_runs
from tests.report.founding import context
from tracker import options
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.analysis.results import CampaignAnalysis, PriorSensitivity
from tracker.report import build, render_text

# A steep climb that levels off, seven sizes over two decades: what one drafter of a small model did.
LEVELLING = (
    (1_000, "1.28"),
    (2_000, "1.50"),
    (5_000, "1.96"),
    (10_000, "2.76"),
    (20_000, "2.98"),
    (50_000, "3.08"),
    (100_000, "3.14"),
)


def under_other_priors(found: CampaignAnalysis) -> tuple[PriorSensitivity, PriorSensitivity]:
    halved, doubled = options.decide(gather(found)).sensitivity
    return halved, doubled


@pytest.fixture(scope="module")
def levelling() -> CampaignAnalysis:
    return analysed(BASE, *(drafter(samples, length, mix="code", epochs=3) for samples, length in LEVELLING))


def test_one_size_lets_the_prior_decide_the_forecast_and_cannot_contradict_it() -> None:
    halved, doubled = under_other_priors(analyse(founding_runs(), campaign=FOUNDING, window=WINDOW))

    assert halved.samples == doubled.samples == 100_000
    assert halved.reweighted.value is not None
    assert halved.stated.value is not None
    assert doubled.reweighted.value is not None
    assert halved.reweighted.value < halved.stated.value < doubled.reweighted.value
    assert halved.held == halved.reweighted
    assert halved.likelihood_ratio == pytest.approx(1.0, abs=0.01)
    assert not halved.contradicted


def test_sizes_that_refuse_a_gentler_slope_rule_it_out_instead_of_forecasting_more(levelling: CampaignAnalysis) -> None:
    halved, doubled = under_other_priors(levelling)

    # Halving the slope lets another form take over, and that one forecasts more.
    assert halved.reweighted.value is not None
    assert halved.stated.value is not None
    assert halved.reweighted.value > halved.stated.value
    assert halved.held.value is None
    assert halved.held.reason is not None
    assert "too few to tell" in halved.held.reason
    assert halved.contradicted
    assert doubled.held.value == pytest.approx(doubled.reweighted.value, abs=0.03)
    assert not doubled.contradicted


def test_a_prior_that_the_data_rule_out_makes_no_ranking_sensitive(levelling: CampaignAnalysis) -> None:
    decision = options.decide(gather(levelling))
    first = decision.options[0].key
    ruled_out, borne = (
        dataclasses.replace(item, changes=True, option_key="keep_baseline", title="Keep the baseline")
        for item in decision.sensitivity
    )
    assert first != "keep_baseline"

    def text(*items: PriorSensitivity) -> str:
        view = build(levelling, dataclasses.replace(decision, sensitivity=items), context(run_urls={}))
        return " ".join(render_text(view).split())

    quiet, loud = text(ruled_out), text(borne)
    assert "(Keep the baseline) would overtake." in quiet
    assert "times less likely under it: they rule it out." in quiet
    assert "assumed slope" not in quiet
    assert "(Keep the baseline) overtakes." in loud
    assert "the assumed slope" in loud
