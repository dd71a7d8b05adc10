"""Shares of traffic: what splits by load and by category are worth, and what deploying is worth over all loads."""

from __future__ import annotations

import dataclasses

import pytest

from tests.analysis.builders import BASE, run
from tests.analysis.campaigns import FOUNDING, WINDOW, printed
from tests.options.test_more_options import by_category, known
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.analysis.results import CampaignAnalysis, DecisionSet
from tracker.domain.campaign import Traffic
from tracker.domain.measurement import Measurement
from tracker.domain.record import StoredRun
from tracker.options import decide

HOURS = 8 * 90 * 24


def several_loads(name: str, speeds: dict[int, str], length: str | None = None) -> StoredRun:
    cells = tuple(
        Measurement(
            concurrency=load,
            prompts=200,
            reported_throughput_tok_s=printed(speed),
            reported_accept_length=printed(length),
        )
        for load, speed in speeds.items()
    )
    return run(name, speed="1.0", length=length, measurements=cells)


BOTH = (
    several_loads("base", {1: "100.0", 32: "1000.0"}),
    several_loads("spec", {1: "150.0", 32: "800.0"}, length="2.50"),
)


def analysed(*runs: StoredRun, traffic: Traffic, decision: int | None = 1) -> CampaignAnalysis:
    campaign = dataclasses.replace(
        FOUNDING, claims=(), deployed_run=None, traffic=traffic, decision_concurrency=decision
    )
    return analyse(runs, campaign=campaign, window=WINDOW)


def decided(*runs: StoredRun, traffic: Traffic, decision: int | None = 1) -> DecisionSet:
    return decide(gather(analysed(*runs, traffic=traffic, decision=decision)))


def notes(analysis: CampaignAnalysis) -> dict[str, str]:
    return {note.topic: note.message for note in analysis.assumptions}


def test_without_shares_the_split_by_load_says_what_is_missing_and_the_memo_what_is_assumed() -> None:
    analysis = analysed(*BOTH, traffic=Traffic())
    split = known(decide(gather(analysis)), "speculate_below_load")

    assert split.rank is None
    assert split.unvalued_reason is not None
    assert "[traffic] by_concurrency of campaign.toml" in split.unvalued_reason
    assert "as if all of it ran at 1 stream" in notes(analysis)["traffic by load"]
    assert "a split by load is not valued" in notes(analysis)["traffic by load"]


def test_the_split_by_load_is_worth_the_share_of_time_at_the_faster_load() -> None:
    decision = decided(*BOTH, traffic=Traffic(by_concurrency={1: 0.4, 32: 0.6}))
    split = known(decision, "speculate_below_load")

    assert split.net_gpu_hours.value == pytest.approx(HOURS * 0.4 * (1 - 1 / 1.5), rel=0.03)
    assert split.pay_back_days == 0
    assert split.regret_gpu_hours is not None
    assert split.evidence is not None
    assert "40 % of the serving time is routed to the drafter" in split.evidence


def test_deploying_everywhere_loses_at_the_load_where_it_is_slower_and_ranks_below_the_split() -> None:
    decision = decided(*BOTH, traffic=Traffic(by_concurrency={1: 0.4, 32: 0.6}))
    deploy, split = known(decision, "deploy_best"), known(decision, "speculate_below_load")

    assert deploy.net_gpu_hours.value == pytest.approx(HOURS * (0.4 * (1 - 1 / 1.5) + 0.6 * (1 - 1 / 0.8)), rel=0.06)
    assert deploy.evidence is not None
    assert "1.50 at 1 stream (40 % of the time) and 0.80 at 32 streams (60 % of the time)" in deploy.evidence
    assert split.rank is not None
    assert deploy.rank is not None
    assert split.rank < deploy.rank


def test_time_at_a_load_nobody_measured_is_neither_gained_nor_lost_and_is_named() -> None:
    traffic = Traffic(by_concurrency={1: 0.5, 8: 0.5})
    decision = decided(*BOTH, traffic=traffic)

    deploy = known(decision, "deploy_best").net_gpu_hours.value
    assert deploy == pytest.approx(HOURS * 0.5 * (1 - 1 / 1.5), rel=0.03)
    assert (
        "50 % of the time, at 8 streams, was not measured" in notes(analysed(*BOTH, traffic=traffic))["traffic by load"]
    )


def test_every_other_option_is_worth_its_gain_at_the_decision_load_alone() -> None:
    whole = decided(BASE, run("spec", speed="130.0", length="2.60"), traffic=Traffic())
    half = decided(BASE, run("spec", speed="130.0", length="2.60"), traffic=Traffic(by_concurrency={1: 0.5, 64: 0.5}))
    tuned = next(option.key for option in whole.options if option.key.startswith("tune_configuration"))
    cost = known(whole, tuned).cost_gpu_hours
    values = [known(decision, tuned).net_gpu_hours.value for decision in (whole, half)]

    assert cost is not None
    assert values[0] is not None
    assert values[1] is not None
    assert values[1] + cost == pytest.approx((values[0] + cost) / 2)


def test_the_load_with_most_traffic_decides_where_campaign_toml_names_none() -> None:
    traffic = Traffic(by_concurrency={1: 0.2, 32: 0.8})

    assert analysed(*BOTH, traffic=traffic, decision=None).verdict.decision_concurrency == 32
    assert analysed(*BOTH, traffic=Traffic(), decision=None).verdict.decision_concurrency == 1


MIXED = by_category("spec", {"code": 3.2, "chat": 2.4, "news": 1.5}, speed=92.0)


def test_the_split_by_category_is_worth_the_tokens_of_the_faster_ones() -> None:
    shares = {"code": 0.5, "chat": 0.1, "news": 0.4}
    analysis = analysed(BASE, MIXED, traffic=Traffic(by_category=shares))
    split = known(decide(gather(analysis)), "speculate_for_categories")
    (cost,) = analysis.costs
    bar = cost.break_even.value

    expected = HOURS * (0.5 * (1 - bar / 3.19) + 0.1 * (1 - bar / 2.40))
    assert split.net_gpu_hours.value == pytest.approx(expected, rel=0.03)
    assert split.evidence is not None
    assert "By campaign.toml they are 60 % of the traffic's tokens" in split.evidence


def test_deploying_is_valued_on_the_traffics_mix_and_says_so() -> None:
    even, code = (
        decided(BASE, MIXED, traffic=Traffic(by_category=shares))
        for shares in ({"code": 1 / 3, "chat": 1 / 3, "news": 1 / 3}, {"code": 1.0})
    )
    plain = decided(BASE, MIXED, traffic=Traffic())
    speeds = [known(item, "deploy_best").expected_tok_s.value for item in (plain, even, code)]

    assert speeds[1] == pytest.approx(speeds[0], rel=0.01)
    assert speeds[0] is not None
    assert speeds[2] is not None
    assert speeds[2] / speeds[0] == pytest.approx(3.19 / 2.14, rel=0.03)
    words = notes(analysed(BASE, MIXED, traffic=Traffic(by_category={"code": 1.0})))["traffic by category"]
    assert "accept length there is 1.4" in words


def test_a_category_nobody_measured_leaves_the_benchmarks_mix_and_is_named() -> None:
    traffic = Traffic(by_category={"code": 0.5, "poems": 0.5})

    words = notes(analysed(BASE, MIXED, traffic=traffic))["traffic by category"]
    assert "poems was not measured, so options are valued on the benchmark's mix" in words
    plain, stated = (decided(BASE, MIXED, traffic=item) for item in (Traffic(), traffic))
    assert known(plain, "deploy_best").net_gpu_hours == known(stated, "deploy_best").net_gpu_hours


def test_categories_without_any_share_are_not_valued_with_the_reason() -> None:
    split = known(decided(BASE, MIXED, traffic=Traffic(by_category={"news": 1.0})), "speculate_for_categories")

    assert split.unvalued_reason is not None
    assert "gives the categories where speculation pays no share" in split.unvalued_reason


def repeats(decision: DecisionSet) -> dict[str, float | None]:
    """What repeating each undecided load is worth, by its streams."""
    return {item.title.split()[1]: item.net_value_gpu_hours for item in decision.experiments if "Repeat" in item.title}


OPEN = (
    several_loads("base", {1: "100.0", 8: "500.0", 32: "1000.0"}),
    several_loads("spec", {1: "150.0", 8: "504.0", 32: "1001.0"}, length="2.50"),
)


def test_a_repeat_at_another_load_is_worth_its_share_of_the_time() -> None:
    little, much = (
        repeats(decided(*OPEN, traffic=Traffic(by_concurrency={1: 0.5, 8: share, 32: 0.5 - share})))
        for share in (0.1, 0.4)
    )

    assert little.keys() == much.keys() == {"8", "32"}
    assert little["8"] is not None
    assert much["8"] is not None
    assert little["32"] is not None
    assert much["32"] is not None
    cost = 10.0
    # Beyond their price both are worth their share of the time alone.
    assert (much["8"] + cost) == pytest.approx(4 * (little["8"] + cost), rel=1e-6)
    assert (little["32"] + cost) == pytest.approx(4 * (much["32"] + cost), rel=1e-6)
    # What is closest to the bar is what an answer could change most.
    assert (little["32"] + cost) / 0.4 > (little["8"] + cost) / 0.1


def test_an_undecided_load_without_traffic_is_not_repeated() -> None:
    decision = decided(*OPEN, traffic=Traffic(by_concurrency={1: 0.5, 8: 0.5}))

    assert repeats(decision).keys() == {"8"}
    (why,) = (item.why for item in decision.experiments if "Repeat" in item.title)
    assert why.startswith("The data do not decide at 8 streams: ")
    assert why.endswith("Whether to speculate there is a choice of its own.")


def test_without_shares_one_undecided_load_is_asked_for_without_a_value() -> None:
    found = repeats(decided(*OPEN, traffic=Traffic()))

    assert found == {"8": None}


def test_a_repeat_is_never_worth_more_than_serving_the_better_side_for_certain() -> None:
    share = 0.5
    found = repeats(decided(*OPEN, traffic=Traffic(by_concurrency={1: 0.5, 8: share})))
    load = next(item for item in analysed(*OPEN, traffic=Traffic()).verdict.by_concurrency if item.concurrency == 8)

    assert found["8"] is not None
    assert load.speedup.low is not None
    assert 0 < found["8"] + 10.0 < HOURS * share * (1 / load.speedup.low - 1)
