"""The H200 campaign as recorded: contaminated, and found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.campaigns import H200, WINDOW, h200_runs
from tracker.analysis.campaign import analyse
from tracker.analysis.results import CampaignAnalysis

WRONG = "eagle-wrong-flag-d100000-3-1-4"


@pytest.fixture(scope="module")
def analysis(shared_data: Path) -> CampaignAnalysis:
    if not (shared_data / "h200-tiny-llama").is_dir():
        pytest.skip("the H200 recordings are not here")
    return analyse(h200_runs(shared_data), campaign=H200, window=WINDOW)


def test_noise_between_servers_is_found_from_one_configuration(analysis: CampaignAnalysis) -> None:
    found = {
        cost.concurrency: cost.between_run_fraction
        for cost in analysis.costs
        if cost.configuration.label == "EAGLE3 3-1-4"
    }

    assert found == {
        1: pytest.approx(0.105, abs=0.002),
        8: pytest.approx(0.052, abs=0.002),
        32: pytest.approx(0.21, abs=0.005),
    }
    (note,) = (note for note in analysis.data_quality if note.topic == "noise between runs")
    assert "3.6 to 4.7 ms at 1 stream" in note.message


def test_the_noise_reaches_every_interval_the_baselines_included(analysis: CampaignAnalysis) -> None:
    for point in analysis.points:
        speed = point.throughput_tok_s
        assert speed.value is not None
        assert speed.low is not None
        assert speed.low < 0.95 * speed.value


def test_verdicts_follow_from_the_intervals(analysis: CampaignAnalysis) -> None:
    for load in analysis.verdict.by_concurrency:
        assert load.speedup.low is not None
        assert load.speedup.high is not None
        expected = "faster" if load.speedup.low > 1 else "slower" if load.speedup.high < 1 else "undecided"
        assert load.status == expected
    assert {load.concurrency: load.status for load in analysis.verdict.by_concurrency}[8] == "undecided"


def test_one_stream_is_compared_on_the_prompts_in_common(analysis: CampaignAnalysis) -> None:
    loads = {load.concurrency: load for load in analysis.verdict.by_concurrency}

    assert loads[1].prompts_in_common == 14
    assert loads[8].prompts_in_common == loads[32].prompts_in_common == 52
    assert any(note.topic == "prompts in common" and "1 stream" in note.message for note in analysis.data_quality)


def test_the_split_of_the_step_is_refused_because_two_steps_cost_more_than_three(analysis: CampaignAnalysis) -> None:
    assert analysis.step_time.status == "refused"
    assert analysis.step_time.reason is not None
    assert analysis.step_time.reason.startswith("2 draft steps cost more than 3")


def test_no_curve_is_drawn_through_sizes_with_growing_budgets(analysis: CampaignAnalysis) -> None:
    fit = analysis.scaling

    assert fit.status == "refused"
    assert fit.forecast == ()
    assert fit.reason is not None
    assert "120, 156, 1,200 and 1,200" in fit.reason
    assert fit.cure is not None
    assert "1,200 steps" in fit.cure
    assert [point.samples for point in fit.points] == [100, 1000, 10_000, 100_000]


def test_the_vocabulary_is_a_lever(analysis: CampaignAnalysis) -> None:
    ceiling = analysis.acceptance.vocabulary

    assert ceiling is not None
    assert ceiling.is_lever
    assert ceiling.rejections_explained_fraction == pytest.approx(1 / 3, abs=0.03)


def test_acceptance_may_rise_along_the_chain(analysis: CampaignAnalysis) -> None:
    rates = [item.conditional.value for item in analysis.acceptance.per_position]

    assert rates == pytest.approx([0.82, 0.82, 0.87], abs=0.01)


def test_the_wrong_flag_is_named_and_in_no_fit(analysis: CampaignAnalysis) -> None:
    cause = analysis.root_cause

    assert cause is not None
    assert cause.run_ids == (WRONG,)
    assert cause.accept_length_before.value == pytest.approx(1.0, abs=0.01)
    assert all(WRONG not in cost.run_ids for cost in analysis.costs)
    assert WRONG not in analysis.step_time.run_ids
    assert all(point.excluded_reason for point in analysis.points if point.run_id == WRONG)


def test_speculation_is_attributed_to_the_baseline_with_the_same_graphs(analysis: CampaignAnalysis) -> None:
    assert {cost.attribution_run_id for cost in analysis.costs} == {"baseline"}


def test_every_category_has_a_length_and_an_interval(analysis: CampaignAnalysis) -> None:
    categories = analysis.acceptance.per_category

    assert len(categories) == 7
    assert categories[-1].category == "jax"
    assert categories[-1].accept_length.value == pytest.approx(2.76, abs=0.01)
    assert all(item.accept_length.low is not None for item in categories)
