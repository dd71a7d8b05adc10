"""Splits by category, other algorithms, costs by phase, regret, exact flips and all experiments considered."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.builders import BASE, analysed, chain, drafter, run
from tests.analysis.campaigns import FOUNDING, H200, WINDOW, founding_runs, h200_runs, pooled_cell
from tests.analysis.test_targets import training_run
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import Evidence, gather
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.results import CampaignAnalysis, DecisionSet, OptionAssessment
from tracker.domain.campaign import Campaign, Costs
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Measurement, RequestRow
from tracker.domain.record import StoredRun
from tracker.domain.server import ServerConfig, Speculation
from tracker.domain.training import TrainingCost
from tracker.domain.workload import Hardware
from tracker.options import decide
from tracker.options._pricing import benchmark_gpu_hours


def decided(*runs: StoredRun, **options: Any) -> DecisionSet:
    return decide(gather(analysed(*runs, **options)))


def founding(costs: Costs = FOUNDING.costs) -> DecisionSet:
    campaign = dataclasses.replace(FOUNDING, costs=costs)
    return decide(gather(analyse(founding_runs(), campaign=campaign, window=WINDOW)))


def find(decision: DecisionSet, key: str) -> OptionAssessment | None:
    return next((item for item in decision.options if item.key == key), None)


def known(decision: DecisionSet, key: str) -> OptionAssessment:
    found = find(decision, key)
    assert found is not None
    return found


def by_category(name: str, lengths: dict[str, float], *, speed: float) -> StoredRun:
    """Return a run with twelve prompts a category that differ a little around the category's accept length."""
    rows = []
    for category, length in lengths.items():
        for number in range(12):
            tokens = 240
            steps = round(tokens / (length * (1 + 0.02 * (number % 3 - 1))))
            rows.append(
                RequestRow(
                    prompt_key=f"{category}-{number}",
                    category=category,
                    concurrency=1,
                    output_tokens=tokens,
                    latency_s=tokens / speed,
                    verify_steps=steps,
                    accepted_drafts=tokens - steps,
                )
            )
    whole = sum(row.output_tokens or 0 for row in rows)
    cell = dataclasses.replace(
        pooled_cell(rows, 1, whole / speed),
        verify_steps=sum(row.verify_steps or 0 for row in rows),
        accepted_drafts=sum(row.accepted_drafts or 0 for row in rows),
    )
    made = run(name, speed="1.0", length="2.0", measurements=(cell,))
    return StoredRun(run_id=name, record=made.record, requests=tuple(rows))


def test_categories_on_both_sides_of_break_even_offer_a_split_by_category() -> None:
    decision = decided(BASE, by_category("spec", {"code": 3.2, "chat": 2.4, "news": 1.5}, speed=92.0))
    found = known(decision, "speculate_for_categories")

    assert found.title == "Speculate only for code and chat"
    assert found.p_beats_baseline is not None
    assert found.p_beats_baseline > 0.9
    assert found.expected_tok_s.value is not None
    assert found.expected_tok_s.value > 90
    assert found.rank is None
    assert found.unvalued_reason is not None
    assert found.evidence is not None
    assert "above it code 3.19 and chat 2.40, below it news 1.50" in found.evidence
    assert "67 % of this benchmark's tokens" in found.evidence


def test_categories_on_one_side_offer_no_split() -> None:
    decision = decided(BASE, by_category("spec", {"code": 3.2, "chat": 3.1}, speed=120.0))

    assert find(decision, "speculate_for_categories") is None


def engine(name: str) -> dict[str, Any]:
    return {"server": ServerConfig(engine=name, version="1")}


@pytest.mark.parametrize(("name", "flag"), [("sglang", "NGRAM (--speculative-algorithm NGRAM)"), ("vllm", "ngram")])
def test_while_nothing_is_faster_an_algorithm_without_a_drafter_is_named(name: str, flag: str) -> None:
    decision = decided(
        run("base", speed="90.0", **engine(name)), run("spec", speed="80.0", length="2.40", **engine(name))
    )
    found = known(decision, "other_algorithm")

    assert found.title == "Try another algorithm: NGRAM"
    assert found.evidence is not None
    assert "EAGLE3 0.89 times the baseline" in found.evidence
    assert flag in found.evidence
    assert found.rank is None


def test_a_target_with_its_own_draft_layers_is_asked_first() -> None:
    target = {"target": Checkpoint(name="target", config={"num_nextn_predict_layers": 1}), **engine("sglang")}
    decision = decided(run("base", speed="90.0", **target), run("spec", speed="80.0", length="2.40", **target))

    assert known(decision, "other_algorithm").title == "Try another algorithm: NEXTN or NGRAM"


def test_no_other_algorithm_is_proposed_beside_a_faster_one_or_when_it_was_tried() -> None:
    sglang = engine("sglang")
    base = run("base", speed="90.0", **sglang)
    ngram = Speculation(enabled=True, algorithm="NGRAM", num_draft_tokens=8)
    tried = run("ngram", speed="70.0", length="1.50", speculation=ngram, **sglang)

    assert find(decided(base, run("spec", speed="130.0", length="2.40", **sglang)), "other_algorithm") is None
    assert find(decided(base, run("spec", speed="80.0", length="2.40", **sglang), tried), "other_algorithm") is None


def test_an_unknown_engine_still_gets_the_option_without_a_flag() -> None:
    assert (
        known(decided(BASE, run("spec", speed="80.0", length="2.40")), "other_algorithm").title
        == "Try another algorithm"
    )


def test_generation_is_split_off_where_its_speed_was_measured() -> None:
    costs = Costs(
        gpus=8,
        horizon_days=90,
        gpu_hours_per_sample=0.01,
        generation_tok_s=830,
        tokens_per_sample=1400,
        price_per_gpu_hour=2,
    )
    option = known(founding(costs), "more_data_100000")
    parts = {part.phase: part for part in option.cost_split}

    assert parts.keys() == {"data generation", "not split"}
    generation = parts["data generation"]
    assert generation.gpu_hours == pytest.approx(100_000 * 1400 / 830 * 8 / 3600)
    assert generation.days == pytest.approx(100_000 * 1400 / 830 / 86_400)
    assert generation.money == pytest.approx(2 * 100_000 * 1400 / 830 * 8 / 3600)
    assert sum(part.gpu_hours or 0 for part in option.cost_split) == pytest.approx(option.cost_gpu_hours)


def test_a_stated_price_below_measured_generation_is_kept_and_shown_against_it() -> None:
    costs = dataclasses.replace(
        FOUNDING.costs, gpu_hours_per_sample=0.0025, generation_tok_s=830, tokens_per_sample=1400
    )
    option = known(founding(costs), "more_data_100000")

    assert option.cost_gpu_hours == 250
    assert [part.phase for part in option.cost_split] == ["data generation"]
    assert option.cost_split[0].gpu_hours == pytest.approx(374.8, abs=0.1)


def test_phases_recorded_with_a_training_price_the_next_one() -> None:
    cost = TrainingCost(generation_gpu_hours=4.0, extraction_gpu_hours=2.0, training_gpu_hours=6.0)
    sizes = ((1_000, "1.60"), (3_000, "1.80"), (10_000, "2.05"))
    runs = [
        drafter(size, length, mix="chat", epochs=3, cost=cost if size == 10_000 else None) for size, length in sizes
    ]
    option = known(decided(BASE, *runs), "more_data_100000")
    parts = {part.phase: part.gpu_hours for part in option.cost_split}

    assert parts == {
        "data generation": pytest.approx(40),
        "extraction": pytest.approx(20),
        "training": pytest.approx(60),
    }
    assert option.cost_gpu_hours == pytest.approx(120)


def test_engineering_is_a_phase_of_the_combined_option() -> None:
    option = known(founding(), "reduce_overhead_and_more_data_100000")

    assert [(part.phase, part.gpu_hours) for part in option.cost_split] == [("engineering", 40), ("not split", 250)]


def test_regret_is_least_for_the_best_mean_and_never_negative() -> None:
    decision = founding()
    priced = [item for item in decision.options if item.rank is not None]
    regrets = [item.regret_gpu_hours for item in priced]

    assert all(part is not None and part >= 0 for part in regrets)
    assert regrets[0] == min(part for part in regrets if part is not None)
    assert regrets[0] == pytest.approx(decision.evpi_gpu_hours)
    assert all(item.regret_gpu_hours is None for item in decision.options if item.rank is None)


@pytest.mark.parametrize(
    ("key", "chance"),
    [
        ("more_data_100000", 0.77),
        ("more_data_300000", 0.78),
        ("reduce_overhead_and_more_data_300000", 0.91),
        ("deploy_best", 0),
    ],
)
def test_the_chance_of_a_gain_is_that_of_the_worked_example(key: str, chance: float) -> None:
    assert known(founding(), key).p_net_positive == pytest.approx(chance, abs=0.03)


def test_the_first_rank_changes_where_the_flips_say() -> None:
    decision = founding()
    best = {choice.days: choice.option_key for choice in decision.horizons}
    keys = [decision.flips[0].from_key, *(flip.to_key for flip in decision.flips)]

    assert [flip.days for flip in decision.flips] == sorted(flip.days for flip in decision.flips)
    assert keys[0] == "keep_baseline"
    for before, after in zip(decision.flips, decision.flips[1:], strict=False):
        assert before.to_key == after.from_key
    for days, key in best.items():
        passed = [flip for flip in decision.flips if flip.days < days]
        assert key == (passed[-1].to_key if passed else keys[0])
    for flip in decision.flips:
        assert "0.0 days" not in flip.message
        assert "hour" in flip.message if flip.days < 1 else "days of use" in flip.message


def test_no_gpus_means_no_flips() -> None:
    assert founding(Costs()).flips == ()


def test_every_experiment_considered_is_listed_with_its_value() -> None:
    decision = founding()
    titles = [item.title for item in decision.experiments]

    assert decision.next_experiment in decision.experiments
    assert any("1,000 and 3,000" in title for title in titles)
    for item in decision.experiments:
        assert item.cost_gpu_hours is not None
        assert item.net_value_gpu_hours is not None
        assert -item.cost_gpu_hours <= item.net_value_gpu_hours
        assert decision.evpi_gpu_hours is not None


def evidence_h200(shared_data: Path) -> Evidence:
    if not (shared_data / "h200-tiny-llama").is_dir():
        pytest.skip("the H200 recordings are not here")
    return gather(analyse(h200_runs(shared_data), campaign=H200, window=WINDOW))


def test_chances_on_noisy_servers_say_what_noise_they_carry(shared_data: Path) -> None:
    evidence = evidence_h200(shared_data)
    option = known(decide(evidence), "tune_configuration_5_1_6")

    assert option.p_beats_baseline is not None
    assert option.p_beats_baseline < 0.995
    assert option.evidence is not None
    assert "servers of one configuration differ by: 10 %, measured" in option.evidence
    assert evidence.new_server is not None
    assert evidence.new_server.std() > 0.1


def test_simulated_acceptance_asks_for_the_real_one() -> None:
    forced = Speculation(
        enabled=True, algorithm="EAGLE3", num_steps=3, eagle_topk=1, num_draft_tokens=4, simulated_accept_length=3.5
    )
    decision = decided(BASE, run("forced", speed="140.0", length="3.50", speculation=forced))

    assert (
        known(decision, "measure_missing_real_acceptance").title == "Measure EAGLE3 3-1-4 without simulated acceptance"
    )


def test_trained_and_unserved_sizes_ask_to_be_served() -> None:
    decision = decided(BASE, drafter(10_000, "2.05"), training_run(30_000))

    assert known(decision, "measure_missing_unserved").title == "Serve the drafters trained on 30,000 samples"


def test_an_analysis_without_noise_falls_back_to_the_prior() -> None:
    bare: CampaignAnalysis = dataclasses.replace(analysed(BASE, run("spec", speed="80.0", length="2.40")), noise=())
    found = gather(bare)

    assert found.new_server is not None
    assert float(found.new_server.std()) == pytest.approx(DEFAULT_PRIORS.between_run_fraction, rel=0.1)


def test_a_campaign_without_costs_still_splits_a_price() -> None:
    campaign = Campaign(name="test", decision_concurrency=1)
    decision = decide(gather(analyse((BASE, drafter(10_000, "2.05")), campaign=campaign, window=WINDOW)))
    (part,) = known(decision, "more_data_100000").cost_split

    assert (part.phase, part.gpu_hours, part.days, part.money) == ("not split", 250, None, None)


def test_a_drafter_kept_for_experiments_is_worth_the_one_that_comes_next() -> None:
    decision = founding()
    upcoming, found = decision.next_experiment, known(decision, "keep_for_experiments")

    assert upcoming is not None
    assert upcoming.net_value_gpu_hours is not None
    assert found.title == "Keep the drafter for experiments"
    assert found.rank is None
    assert found.unvalued_reason is not None
    assert f"{round(upcoming.net_value_gpu_hours)} GPU-hours net of its price" in found.unvalued_reason


def test_a_drafter_that_nothing_cheap_could_save_is_archived() -> None:
    decision = decided(BASE, run("spec", speed="30.0", length="1.30"))
    found = known(decision, "keep_for_experiments")

    assert decision.next_experiment is None
    assert found.title == "Archive the drafter"
    assert found.unvalued_reason is not None
    assert "no cheap experiment is known that is worth its price" in found.unvalued_reason


def test_a_drafter_that_the_leading_option_needs_is_not_archived() -> None:
    decision = decided(
        BASE, chain("three", 3, speed="92.0", length="2.40"), chain("five", 5, speed="91.0", length="2.70")
    )
    found = known(decision, "keep_for_experiments")

    assert decision.next_experiment is None
    assert decision.options[0].key == "reduce_overhead"
    assert found.title == "Keep the drafter for experiments"
    assert found.unvalued_reason == '"Cut overhead only" leads and no cheap experiment would change that'


def test_without_a_price_the_drafter_is_kept_for_what_comes_next() -> None:
    costs = dataclasses.replace(FOUNDING.costs, horizon_days=None)
    found = known(founding(costs), "keep_for_experiments")

    assert found.unvalued_reason == "it is worth what the next experiment is worth, and costs only attention"


@pytest.mark.parametrize(("measured_on", "price"), [(8, 8.0), (None, 64.0)])
def test_a_benchmark_is_priced_by_the_gpus_it_runs_on(measured_on: int | None, price: float) -> None:
    """One hour on one of eight replicas is no hour of all of them."""
    hardware = Hardware(gpu="H200", gpu_count=measured_on)
    hour = Measurement(concurrency=1, prompts=20, output_tokens=360_000, wall_s=3600.0)
    runs = (
        run("base", speed="1.0", hardware=hardware, measurements=(hour,)),
        chain("spec", 3, speed="95.0", length="2.0"),
    )
    campaign = dataclasses.replace(FOUNDING, claims=(), deployed_run=None, costs=Costs(gpus=64, horizon_days=30))

    evidence = gather(analyse(runs, campaign=campaign, window=WINDOW))

    assert benchmark_gpu_hours(evidence) == pytest.approx(price)
