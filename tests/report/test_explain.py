"""Every equation of the explanation is redone here, as a reader would with a calculator."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import pytest

from tests.analysis.builders import BASE, analysed, chain, drafter, run
from tests.analysis.campaigns import FOUNDING, H200, WINDOW, founding_runs, h200_runs
from tests.analysis.test_prefill import CURVE, served
from tests.options.test_traffic import BOTH
from tests.options.test_traffic import analysed as over_traffic
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.campaign import Campaign, Traffic
from tracker.domain.server import Speculation
from tracker.options import decide
from tracker.report.explain import explain

NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")
NAMES = {"exp": math.exp, "sqrt": math.sqrt, "ln": math.log, "max": max}


def explained(analysis: CampaignAnalysis) -> str:
    return explain(analysis, decide(gather(analysis)))


def equations(text: str) -> list[tuple[str, float, float]]:
    """Return (line, its right-hand side redone, the value printed) of every equation."""
    found = []
    for line in text.splitlines():
        parts = line.split(" = ")
        value = NUMBER.match(parts[-1])
        if len(parts) < 3 or value is None:
            continue
        expression = parts[-2].replace("^", "**")
        assert re.fullmatch(r"[\d\s.+*/(),e-]*", re.sub(r"exp|sqrt|ln|max", "", expression)), line
        found.append((line, float(eval(expression, {"__builtins__": {}}, NAMES)), float(value.group())))
    return found


def check(text: str, *, least: int) -> None:
    found = equations(text)
    assert len(found) >= least
    for line, redone, printed in found:
        assert redone == pytest.approx(printed, rel=2e-4, abs=2e-2 if "GPU-hours" in line else 2e-5), line


def test_every_equation_of_the_founding_campaign_holds() -> None:
    check(explained(analyse(founding_runs(), campaign=FOUNDING, window=WINDOW)), least=90)


def test_every_equation_of_the_recorded_campaign_holds(shared_data: Path) -> None:
    if not (shared_data / "h200-tiny-llama").is_dir():
        pytest.skip("the H200 recordings are not here")
    text = explained(analyse(h200_runs(shared_data), campaign=H200, window=WINDOW))

    check(text, least=150)
    assert "degrees of freedom" in text
    assert "14 prompts in common" in text
    assert "L over categories, so that time adds up" in text


def test_figures_of_the_founding_campaign_are_filled_in() -> None:
    text = explained(analyse(founding_runs(), campaign=FOUNDING, window=WINDOW))

    assert "T = 1000 * 1 * 2.1 / 82.3 = 25.5164 ms" in text
    assert "r = 25.5164 / 11.1111 = 2.29648" in text
    assert "S = 82.3 / 90 = 0.914444" in text
    assert "H = 8 * 90 * 24 = 17280 GPU-hours" in text
    assert "first rejections it explains at most = (1 - 0.983) / (1 - 0.576" in text


def test_money_is_redone_too() -> None:
    costs = dataclasses.replace(FOUNDING.costs, price_per_gpu_hour=2.5, currency="EUR")
    campaign = dataclasses.replace(FOUNDING, costs=costs)
    text = explained(analyse(founding_runs(), campaign=campaign, window=WINDOW))

    check(text, least=90)
    assert "money = 250 * 2.5 = 625 EUR" in text


def test_what_is_refused_or_missing_is_said_instead_of_computed() -> None:
    text = explained(analyse(founding_runs()[1:], campaign=Campaign(name="bare"), window=WINDOW))

    assert "Not computed: no baseline with a step time at any load." in text
    assert "Not computed. No baseline at 1 stream" in text
    assert "Not computed: campaign.toml states no number of GPUs" in text


def test_no_runs_at_all_leave_nothing_to_redo_but_the_length_of_use() -> None:
    ((line, redone, printed),) = equations(explained(analysed()))

    assert line.strip().startswith("H = 8 * 90 * 24")
    assert redone == printed


def test_a_forecast_names_its_forms_targets_and_the_held_out_size() -> None:
    sizes = ((1_000, "1.60"), (3_000, "1.80"), (10_000, "2.05"), (30_000, "2.30"), (100_000, "2.52"))
    text = explained(analysed(BASE, *(drafter(size, length, mix="chat", epochs=3) for size, length in sizes)))

    check(text, least=40)
    assert "u ~ N(0, 0.6)" in text
    assert "L for 1.3 times the baseline" in text
    assert "largest size predicted from the others" in text


def test_with_prefill_the_targets_of_a_forecast_hold_for_whole_requests() -> None:
    text = explained(analysed(served("base", length=None), *CURVE))

    check(text, least=10)
    assert "L for 1.3 times the baseline = 1.50005 * (1 - 0.2) / (1 / 1.3 - 0.2)" in text
    assert "a = top / (1 + exp(-(u' + b' * x)))" in text


def test_with_shares_of_traffic_an_option_is_worth_its_gain_at_the_decision_load() -> None:
    text = explained(over_traffic(*BOTH, traffic=Traffic(by_concurrency={1: 0.4, 32: 0.6})))

    check(text, least=10)
    assert "H at 1 stream = 17280 * 0.4 = 6912 GPU-hours" in text
    assert "Valued over the loads and categories that campaign.toml gives shares of" in text


def test_runs_of_one_configuration_are_pooled_by_their_geometric_mean() -> None:
    text = explained(analysed(BASE, run("a", speed="100.0", length="2.40"), run("b", speed="97.0", length="2.40")))

    check(text, least=20)
    assert "r = exp((ln(24) + ln(24.7423)) / 2) / 11.1111" in text


def test_the_same_analysis_gives_the_same_text() -> None:
    analysis = analysed(BASE, run("a", speed="100.0", length="2.40"))

    assert explained(analysis) == explained(analysis)


def test_chains_alone_add_up_with_their_combined_cost() -> None:
    text = explained(
        analysed(
            BASE,
            chain("three", 3, speed="100.0", length="2.40"),
            chain("five", 5, speed="103.0", length="2.80"),
        )
    )

    check(text, least=20)
    assert "T of EAGLE3 5-1-6 = 11.1111 + " in text or "T of EAGLE3 3-1-4 = 11.1111 + " in text


def test_simulated_acceptance_shows_its_step_time_and_a_void_run_its_counts() -> None:
    forced = Speculation(
        enabled=True, algorithm="EAGLE3", num_steps=3, eagle_topk=1, num_draft_tokens=4, simulated_accept_length=3.5
    )
    text = explained(analysed(BASE, run("forced", speed="140.0", length="3.50", speculation=forced)))

    check(text, least=5)
    assert "ms, with simulated acceptance" in text


def test_prefill_is_named_where_it_was_taken_out() -> None:
    text = explained(analysed(served("base", length=None), served("spec", length=2.5)))

    check(text, least=10)
    assert "r, decoding only (T without the time to the first token, on both sides): 1.5" in text
    assert "L for whole requests 1.1 times as fast" in text


def test_what_a_target_takes_is_said_with_whether_a_step_can_yield_it() -> None:
    text = explained(analysed(BASE, chain("three", 3, speed="100.0", length="3.20")))

    check(text, least=15)
    # r = 2.88: 1.3 times the baseline takes 3.74 of at most 4, 1.5 times takes 4.32
    assert "L for 1.3 times the baseline = 1.3 * 2.88 = 3.744\n  L for 1.5" in text
    assert "L for 1.5 times the baseline = 1.5 * 2.88 = 4.32\n    out of reach" in text
    assert "of every position is accepted = 1 + " in text


def test_cheap_experiments_are_redone_with_their_price() -> None:
    text = explained(analyse(founding_runs(), campaign=FOUNDING, window=WINDOW))

    assert "net = " in text
    assert "share of draws in which it pays" in text


def test_a_low_end_that_lies_lower_for_the_choice_among_candidates_is_explained() -> None:
    speeds = ("90.5", "91.0", "91.5", "91.8", "92.2", "92.8")
    runs = [chain(f"chain-{steps}", steps, speed=speed, length="1.9") for steps, speed in enumerate(speeds, 1)]
    words = "less what the fastest of several owes to having been picked"

    assert words in explained(analysed(BASE, *runs))
    assert words not in explained(analysed(BASE, *runs[-1:]))
