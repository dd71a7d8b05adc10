"""The founding campaign, from literals: the table, the verdict, the cause, the forecast."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.analysis.campaigns import FOUNDING, WINDOW, founding_runs
from tracker import analysis as room
from tracker.analysis.campaign import analyse
from tracker.analysis.results import CampaignAnalysis, Point, Window


@pytest.fixture(scope="module")
def analysis() -> CampaignAnalysis:
    return analyse(founding_runs(), campaign=FOUNDING, window=WINDOW)


def row(analysis: CampaignAnalysis, name: str) -> Point:
    return next(point for point in analysis.points if point.name == name)


@pytest.mark.parametrize(
    ("name", "value", "low", "high", "needs"),
    [
        ("5 draft", 2.30, 2.27, 2.33, 0.094),
        ("16 draft", 2.65, 2.59, 2.71, 0.20),
        ("5 draft, 2 steps", 2.13, 2.12, 2.15, 0.10),
        ("16 draft, no graph", 3.50, 3.42, 3.58, 0.59),
        ("5 draft, no graph", 3.55, 3.50, 3.60, 0.69),
        ("AQ-MedAI, 16 draft, no graph", 3.39, 3.29, 3.48, 0.78),
    ],
)
def test_break_even_and_its_rounding_range_are_the_published_table(
    analysis: CampaignAnalysis, name: str, value: float, low: float, high: float, needs: float
) -> None:
    point = row(analysis, name)
    found = point.break_even

    assert found is not None
    assert value == pytest.approx(found.value, abs=0.0051)
    assert low == pytest.approx(found.rounding_low, abs=0.0051)
    assert high == pytest.approx(found.rounding_high, abs=0.0051)
    assert found.low < low
    assert found.high > high
    assert needs == pytest.approx(point.needs_fraction, abs=0.006)


def test_the_interval_carries_more_than_rounding(analysis: CampaignAnalysis) -> None:
    for point in analysis.points:
        found = point.break_even
        if found is not None and found.rounding_low is not None and found.rounding_high is not None:
            assert found.low < found.rounding_low < found.value < found.rounding_high < found.high


def test_reachability_is_unknown_without_steps_and_says_where_two_steps_would_not_do(
    analysis: CampaignAnalysis,
) -> None:
    known, unknown, far = (row(analysis, name) for name in ("5 draft, 2 steps", "5 draft", "5 draft, no graph"))

    assert known.reachable is True
    assert unknown.reachable is None
    assert unknown.reachable_note is None
    assert far.reachable is None
    assert far.reachable_note == "unreachable if it ran with 2 steps"


def test_the_verdict_is_slower_by_a_twelfth_with_its_interval(analysis: CampaignAnalysis) -> None:
    (load,) = analysis.verdict.by_concurrency

    assert analysis.verdict.status == load.status == "slower"
    assert load.best_run_id == row(analysis, "5 draft").run_id
    assert pytest.approx(load.speedup.value, abs=1e-3) == 1 - 0.0856
    assert pytest.approx(load.speedup.low, abs=0.01) == 0.88
    assert pytest.approx(load.speedup.high, abs=0.01) == 0.95
    assert analysis.verdict.scope == "these 5 prompts, 1 stream, 8 x RTX PRO 6000"


def test_the_statement_about_other_prompts_is_wider(analysis: CampaignAnalysis) -> None:
    (load,) = analysis.verdict.by_concurrency
    wider = analysis.verdict.population_speedup

    assert wider.value == load.speedup.value
    assert wider.low is not None
    assert load.speedup.low is not None
    assert wider.low < load.speedup.low
    assert wider.high is not None
    assert wider.high > 1
    assert analysis.verdict.population_note is not None
    assert "8.8 %" in analysis.verdict.population_note


def test_the_wrong_flag_is_the_root_cause_and_is_fixed(analysis: CampaignAnalysis) -> None:
    cause = analysis.root_cause

    assert cause is not None
    assert cause.finding.code == "ALGO_MISMATCH_EAGLE_FOR_EAGLE3"
    assert cause.fixed
    assert cause.fixed_run_id == row(analysis, "5 draft").run_id
    assert cause.accept_length_before.value == 1.0
    assert cause.accept_length_after.value == pytest.approx(2.1)


def test_the_affected_run_stays_in_the_table_and_leaves_every_fit(analysis: CampaignAnalysis) -> None:
    bad = row(analysis, "eagle wrong flag")

    assert bad.excluded_reason is not None
    assert analysis.points[-1] == bad
    assert all(bad.run_id not in cost.run_ids for cost in analysis.costs)
    assert bad.run_id not in analysis.step_time.run_ids
    assert all(bad.run_id != point.run_id for point in analysis.scaling.points)


def test_labels_use_the_words_of_the_people_who_ran_it(analysis: CampaignAnalysis) -> None:
    labels = {point.name: point.configuration.label for point in analysis.points}

    assert labels["5 draft"] == "EAGLE3, 5 draft tokens, CUDA graph"
    assert labels["5 draft, 2 steps"] == "EAGLE3, 5 draft tokens, 2 steps, CUDA graph"
    assert labels["baseline"] == "no speculation"
    assert labels["16 draft, no graph"] == labels["AQ-MedAI, 16 draft, no graph"]


def test_the_split_of_the_step_names_overhead_and_its_assumption(analysis: CampaignAnalysis) -> None:
    split = analysis.step_time

    assert split.status == "fitted"
    assert split.rank == 3
    assert split.assumed_num_steps == 3
    assert split.fixed_ms.value == pytest.approx(7.6, abs=0.05)
    assert split.per_verified_token_ms.value == pytest.approx(0.36, abs=0.005)
    assert split.per_draft_step_ms.value == pytest.approx(1.80, abs=0.005)
    assert [steps for steps, _, _, _ in split.alternatives] == [4, 5]
    assert [fixed for _, fixed, _, _ in split.alternatives] == pytest.approx([9.4, 10.0], abs=0.05)


def test_one_size_gives_an_interval_with_its_chance_of_never(analysis: CampaignAnalysis) -> None:
    fit = analysis.scaling
    at = {point.samples: point for point in fit.forecast}

    assert fit.status == "qualified"
    assert fit.reason is not None
    assert "0 % of the slope comes from these data" in fit.reason
    assert fit.data_share == 0
    assert pytest.approx((at[100_000].low, at[100_000].median, at[100_000].high), abs=0.02) == (2.17, 2.58, 3.05)
    assert pytest.approx((at[300_000].low, at[300_000].median, at[300_000].high), abs=0.02) == (2.19, 2.77, 3.41)
    assert at[300_000].p_break_even == pytest.approx(0.85, abs=0.02)
    assert not at[100_000].speculative
    assert at[300_000].speculative
    needed = fit.samples_to_break_even
    assert needed is not None
    assert needed.p_never == pytest.approx(0.11, abs=0.015)
    assert needed.high is None
    assert needed.median == pytest.approx(25_000, rel=0.1)
    assert needed.low == pytest.approx(15_000, rel=0.1)


def test_the_vocabulary_explains_four_per_cent_and_is_no_lever(analysis: CampaignAnalysis) -> None:
    ceiling = analysis.acceptance.vocabulary

    assert ceiling is not None
    assert ceiling.rejections_explained_fraction == pytest.approx(0.04, abs=0.002)
    assert ceiling.max_accept_length == pytest.approx(3.90, abs=0.005)
    assert ceiling.max_gain_tokens == pytest.approx(0.03, abs=0.005)
    assert not ceiling.is_lever


def test_the_authors_estimates_are_put_right_politely(analysis: CampaignAnalysis) -> None:
    middle, real = (claim.message for claim in analysis.claims)

    assert "2.13" in middle
    assert "2.65" in middle
    assert "98.0 tok/s" in middle
    assert "117.6 tok/s, 1.31 times" in real


def test_runs_of_another_week_are_evidence_but_no_news() -> None:
    later = Window(since=WINDOW.until, until=WINDOW.until + timedelta(days=7))

    found = analyse(founding_runs(), campaign=FOUNDING, window=later)

    assert found.verdict.status == "slower"
    assert not any(point.is_news for point in found.points)
    assert any(note.topic == "news" for note in found.data_quality)


def test_the_room_answers_by_its_short_names(analysis: CampaignAnalysis) -> None:
    found = room.analyse(founding_runs(), campaign=FOUNDING, window=WINDOW)

    assert found == analysis
    assert room.gather(found).baseline_tok_s == 90.0
