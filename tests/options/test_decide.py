"""Options, priced and ranked, on both real campaigns and on campaigns that lack something."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.analysis.builders import BASE, chain
from tests.analysis.campaigns import FOUNDING, H200, WINDOW, founding_runs, h200_runs
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import Evidence, gather
from tracker.analysis.results import DecisionSet, OptionAssessment
from tracker.domain.campaign import Campaign, Costs, Reference
from tracker.domain.record import StoredRun
from tracker.options import decide
from tracker.plugins import discover


def evidence(runs: tuple[StoredRun, ...] | None = None, campaign: Campaign = FOUNDING) -> Evidence:
    return gather(analyse(founding_runs() if runs is None else runs, campaign=campaign, window=WINDOW))


@pytest.fixture(scope="module")
def founding() -> DecisionSet:
    return decide(evidence())


@pytest.fixture(scope="module")
def h200(shared_data: Path) -> DecisionSet:
    if not (shared_data / "h200-tiny-llama").is_dir():
        pytest.skip("the H200 recordings are not here")
    return decide(evidence(h200_runs(shared_data), H200))


def option(decision: DecisionSet, key: str) -> OptionAssessment:
    return next(item for item in decision.options if item.key == key)


@pytest.mark.parametrize("name", sorted(discover("tracker.options", "OPTION")))
def test_every_option_keeps_the_contract(name: str) -> None:
    plugin = discover("tracker.options", "OPTION")[name]

    for item in plugin.assess(evidence()):
        assert item.key.startswith(plugin.key)
        assert item.rank is None
        assert item.title
        assert item.would_change
        assert (item.net_gpu_hours.value is None) == (item.unvalued_reason is not None)
        assert item.unvalued_reason != ""


@pytest.mark.parametrize(
    ("key", "chance", "speed", "cost", "net"),
    [
        ("more_data_30000", 0.60, 92.2, 75, 616),
        ("more_data_100000", 0.80, 101.8, 250, 1751),
        ("more_data_300000", 0.85, 109.4, 750, 2160),
        ("more_data_600000", 0.86, 113.5, 1500, 1852),
        ("reduce_overhead_and_more_data_100000", 0.94, 114.0, 290, 3118),
        ("reduce_overhead_and_more_data_300000", 0.94, 122.5, 790, 3454),
        ("reduce_overhead", 0.58, 92.2, 40, 624),
        ("deploy_best", 0.00, 82.3, 0, -1617),
    ],
)
def test_the_founding_options_are_worth_what_the_worked_example_says(
    founding: DecisionSet, key: str, chance: float, speed: float, cost: float, net: float
) -> None:
    found = option(founding, key)

    assert chance == pytest.approx(found.p_beats_baseline, abs=0.03)
    assert speed == pytest.approx(found.expected_tok_s.value, abs=1.0)
    assert cost == found.cost_gpu_hours
    assert net == pytest.approx(found.net_gpu_hours.value, abs=90)


def test_ranks_follow_the_mean_net_value_and_the_rest_says_why_it_has_none(founding: DecisionSet) -> None:
    priced = [item for item in founding.options if item.rank is not None]
    values = [item.net_gpu_hours.value for item in priced]

    assert [item.rank for item in priced] == list(range(1, len(priced) + 1))
    assert values == sorted(values, key=lambda value: -1e9 if value is None else -value)
    assert founding.options[: len(priced)] == tuple(priced)
    assert all(item.unvalued_reason for item in founding.options[len(priced) :])


def test_the_baseline_is_worth_exactly_nothing(founding: DecisionSet) -> None:
    found = option(founding, "keep_baseline")

    assert (found.net_gpu_hours.value, found.net_gpu_hours.low, found.net_gpu_hours.high) == (0, 0, 0)
    assert found.expected_tok_s.value == 90.0
    assert found.cost_gpu_hours == 0


def test_the_horizon_decides_how_much_data_to_buy(founding: DecisionSet) -> None:
    best = {choice.days: choice.option_key for choice in founding.horizons}

    assert best[7] == "reduce_overhead_and_more_data_30000"
    assert best[14] == best[30] == "reduce_overhead_and_more_data_100000"
    assert best[90] == "reduce_overhead_and_more_data_300000"


def test_the_ranking_is_shown_again_under_other_priors(founding: DecisionSet) -> None:
    assert [item.label for item in founding.sensitivity] == ["slope prior halved", "slope prior doubled"]
    for item in founding.sensitivity:
        assert item.changes == (item.option_key != founding.options[0].key)


def test_eight_and_ten_draft_tokens_are_not_worth_a_test(founding: DecisionSet) -> None:
    assert founding.next_experiment is not None
    (sentence,) = founding.next_experiment.do_not_test

    assert sentence.startswith("8, 10 or 12 draft tokens: predicted 80.6, 79.")
    assert "no chance to beat 90.0" in sentence


def test_the_next_experiment_is_the_cheap_chain_and_its_chance_is_a_judgement(founding: DecisionSet) -> None:
    found = founding.next_experiment

    assert found is not None
    assert "3 steps, top-k 1, 4 draft tokens" in found.title
    assert "--speculative-eagle-topk 1" in found.flags
    assert found.p_is_judgement
    assert found.p_success == pytest.approx(0.4, abs=0.1)
    assert found.cost_gpu_hours == 1.0
    assert found.net_value_gpu_hours is not None
    assert found.net_value_gpu_hours > 0


def test_training_longer_costs_and_gains_nothing(founding: DecisionSet) -> None:
    found = option(founding, "train_longer")

    assert found.net_gpu_hours.value is not None
    assert found.net_gpu_hours.value < 0
    assert found.evidence is not None
    assert "more passes" in found.evidence


def test_without_a_horizon_options_carry_speed_and_no_invented_value() -> None:
    decision = decide(evidence(campaign=dataclasses.replace(FOUNDING, costs=Costs())))

    assert all(item.rank is None for item in decision.options)
    assert decision.evpi_gpu_hours is None
    assert decision.horizons == ()
    found = option(decision, "more_data_100000")
    assert found.expected_tok_s.value is not None
    assert found.unvalued_reason is not None
    assert "campaign.toml" in found.unvalued_reason


def test_money_and_days_follow_from_the_campaign() -> None:
    costs = Costs(gpus=8, horizon_days=90, price_per_gpu_hour=2.5, generation_tok_s=830, tokens_per_sample=1400)
    decision = decide(evidence(campaign=dataclasses.replace(FOUNDING, costs=costs)))
    found = option(decision, "more_data_100000")

    # 100,000 samples of 1,400 tokens at 830 tok/s are 1.95 days of 8 GPUs, which is more than the published price of
    # all phases scaled by tokens (0.0025 * 0.14 a sample): no training costs less than generating its data.
    assert found.cost_gpu_hours == pytest.approx(374.8, abs=0.1)
    assert found.cost_days == pytest.approx(1.95, abs=0.01)
    assert found.cost_money == pytest.approx(937.1, abs=0.1)


def test_a_public_drafter_is_cited_and_not_valued() -> None:
    cited = Reference(text="public drafter", source="model card", samples=300_000, accept_length=2.62)
    found = option(decide(evidence(campaign=dataclasses.replace(FOUNDING, references=(cited,)))), "public_drafter")

    assert found.rank is None
    assert found.evidence is not None
    assert "2.62" in found.evidence
    assert "2.30" in found.evidence


def test_the_fix_is_an_option_only_while_nobody_made_it(founding: DecisionSet) -> None:
    unfixed = decide(evidence(founding_runs()[:2]))

    assert "fix_misconfiguration" not in {item.key for item in founding.options}
    assert "--speculative-algorithm EAGLE3" in option(unfixed, "fix_misconfiguration").title
    assert unfixed.next_experiment is not None
    assert "corrected flag" in unfixed.next_experiment.title


@pytest.mark.parametrize(
    ("fix", "title"),
    [
        (
            "Load the real weights: remove the dummy load format.",
            "Load the real weights: remove the dummy load format; then measure again",
        ),
        ("Stop the server. Start it with the map.", "Correct what voids the results and measure again"),
        (None, "Correct what voids the results and measure again"),
    ],
)
def test_a_fix_without_a_flag_is_told_as_an_order(fix: str | None, title: str) -> None:
    base, wrong = founding_runs()[:2]
    void = dataclasses.replace(wrong.record.findings[0], fix=fix, flag_before=None, flag_after=None)
    bad = dataclasses.replace(wrong, record=wrong.record.replace(findings=(void,)))

    found = option(decide(evidence((base, bad))), "fix_misconfiguration")

    assert found.title == title
    assert fix is None or fix in str(found.evidence)


def test_the_next_experiment_tells_most_per_gpu_hour(founding: DecisionSet) -> None:
    rates = [
        (item.net_value_gpu_hours + item.cost_gpu_hours) / item.cost_gpu_hours
        for item in founding.experiments
        if item.net_value_gpu_hours is not None and item.cost_gpu_hours
    ]

    assert len(rates) == len(founding.experiments) >= 3
    assert rates == sorted(rates, reverse=True)
    assert founding.next_experiment == founding.experiments[0]


@pytest.mark.parametrize("costs", [Costs(gpus=8, horizon_days=90), Costs()])
def test_repeats_of_an_undecided_load_stand_among_new_configurations_by_what_they_tell(costs: Costs) -> None:
    plan = dataclasses.replace(FOUNDING, costs=costs, claims=(), deployed_run=None)
    undecided = (BASE, chain("three", 3, speed="92.0", length="2.40"), chain("five", 5, speed="91.0", length="2.70"))
    found = decide(evidence(undecided, plan))
    titles = [item.title for item in found.experiments]
    rates = [
        (item.net_value_gpu_hours + item.cost_gpu_hours) / item.cost_gpu_hours
        for item in found.experiments
        if item.net_value_gpu_hours is not None and item.cost_gpu_hours
    ]

    assert {title.split()[0] for title in titles} >= {"Repeat", "Benchmark"}
    assert found.next_experiment == found.experiments[0]
    assert rates == sorted(rates, reverse=True)
    assert len(rates) == (0 if costs.horizon_gpu_hours is None else len(titles))


def test_a_missing_baseline_is_the_first_thing_to_measure() -> None:
    decision = decide(evidence(founding_runs()[1:]))

    assert option(decision, "measure_missing_baseline").cost_gpu_hours == 1.0
    assert "keep_baseline" not in {item.key for item in decision.options}
    assert all(item.rank is None for item in decision.options)


def test_no_runs_give_no_options_but_what_to_measure() -> None:
    decision = decide(evidence(()))

    assert {item.key for item in decision.options} == {"measure_missing_baseline"}


def test_loads_that_differ_offer_a_split_by_load(h200: DecisionSet) -> None:
    found = option(h200, "speculate_below_load")

    assert found.title == "Speculate at up to 1 stream, plain server above"
    assert found.rank is None


def test_a_refused_curve_leaves_more_data_unvalued_with_the_cure(h200: DecisionSet) -> None:
    found = option(h200, "more_data")

    assert found.rank is None
    assert found.unvalued_reason is not None
    assert "cannot be told apart" in found.unvalued_reason
    assert found.would_change is not None
    assert "Retrain" in found.would_change


def test_a_lever_in_the_vocabulary_becomes_an_option(h200: DecisionSet, founding: DecisionSet) -> None:
    assert option(h200, "enlarge_vocabulary").rank is not None
    assert "enlarge_vocabulary" not in {item.key for item in founding.options}


def test_undecided_loads_ask_for_repeats(h200: DecisionSet) -> None:
    assert {"measure_missing_repeats_8", "measure_missing_repeats_32"} <= {item.key for item in h200.options}


def test_the_same_seed_gives_the_same_decision(founding: DecisionSet) -> None:
    assert decide(evidence()) == founding
