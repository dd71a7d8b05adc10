"""The split of a step, the curve over sizes, claims, predictions: what small campaigns allow to say."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.analysis.builders import BASE, analysed, chain, drafter, run, tree
from tests.analysis.campaigns import FOUNDING, WINDOW, WRONG_FLAG, provenance
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.domain.campaign import Claim
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.finding import Finding
from tracker.domain.measurement import Measurement
from tracker.domain.record import RunRecord, StoredRun
from tracker.domain.training import Training


def test_chains_alone_give_only_the_sum_of_drafting_and_checking() -> None:
    # Steps of 15.8 and 18.2 ms on a plain one of 11.1: 1.2 ms a draft step with its token, 1.1 ms fixed.
    found = analysed(
        run("base", speed="90.00"),
        chain("three", 3, speed="151.90", length="2.400"),
        chain("five", 5, speed="153.85", length="2.800"),
    ).step_time

    assert found.status == "combined"
    assert found.rank == 2
    assert found.combined_ms.value == pytest.approx(1.2, abs=0.02)
    assert found.fixed_ms.value == pytest.approx(1.1, abs=0.05)
    assert found.per_draft_step_ms.value is None
    assert found.cure is not None
    assert "top-k above 1" in found.cure


def test_equal_depth_separates_checking_and_nothing_else() -> None:
    found = analysed(
        run("base", speed="90.00"),
        tree("small", 3, 5, speed="120.00", length="2.400"),
        tree("large", 3, 16, speed="105.00", length="2.500"),
    ).step_time

    assert found.status == "combined"
    assert found.per_verified_token_ms.value == pytest.approx((2500 / 105 - 2400 / 120) / 11, abs=0.01)
    assert found.fixed_ms.value is None
    assert found.reason is not None
    assert "equally many steps" in found.reason


def test_equal_size_separates_drafting_and_nothing_else() -> None:
    found = analysed(
        run("base", speed="90.00"),
        tree("short", 3, 16, speed="120.00", length="2.400"),
        tree("deep", 5, 16, speed="115.00", length="2.600"),
    ).step_time

    assert found.per_draft_step_ms.value is not None
    assert found.reason is not None
    assert "equally many tokens" in found.reason


def test_one_configuration_alone_is_not_split() -> None:
    found = analysed(BASE, chain("three", 3, speed="100.0", length="2.40")).step_time

    assert found.status == "refused"
    assert found.reason is not None
    assert found.reason.startswith("One configuration")


def test_a_step_that_is_no_sum_of_parts_is_refused() -> None:
    shapes = ((3, 5, "120.00"), (3, 16, "100.00"), (5, 5, "110.00"), (5, 16, "40.00"), (3, 32, "98.00"))
    found = analysed(
        run("base", speed="90.00"),
        *(tree(f"{steps}-{tokens}", steps, tokens, speed=speed, length="2.400") for steps, tokens, speed in shapes),
    ).step_time

    assert found.status == "refused"
    assert found.reason is not None
    assert "standard errors" in found.reason


@pytest.mark.parametrize(
    ("budgets", "status"),
    [
        # Passes equal: data and steps grow in proportion, which is what buying data means.
        ([{"epochs": 3}, {"epochs": 3}, {"epochs": 3}], "alike"),
        ([{"optimizer_steps": 100}, {"optimizer_steps": 1000}, {"optimizer_steps": 10_000}], "alike"),
        ([{"samples_seen": 64_000}, {"samples_seen": 64_000}, {"samples_seen": 64_000}], "alike"),
        ([{"epochs": 50}, {"epochs": 8}, {"epochs": 1}], "refused"),
        ([{"optimizer_steps": 100}, {"optimizer_steps": 150}, {"optimizer_steps": 1500}], "refused"),
        ([{}, {}, {}], "unknown"),
    ],
)
def test_sizes_must_be_trained_alike_to_be_one_curve(budgets: list[dict[str, Any]], status: str) -> None:
    sizes = ((1_000, "1.60"), (10_000, "2.05"), (100_000, "2.52"))
    fit = analysed(
        BASE,
        *(drafter(size, length, mix="chat", **budget) for (size, length), budget in zip(sizes, budgets, strict=True)),
    ).scaling
    reason = fit.reason or ""

    assert (fit.status == "refused") == (status == "refused")
    assert ("cannot be told apart" in reason) == (status == "refused")
    assert ("Passes over the data were not recorded" in reason) == (status == "unknown")


def test_five_sizes_trained_alike_are_a_forecast_that_says_where_the_bar_is() -> None:
    sizes = ((1_000, "1.60"), (3_000, "1.80"), (10_000, "2.05"), (30_000, "2.30"), (100_000, "2.52"))
    fast = [run("base", speed="60.0"), *(drafter(size, length, mix="chat", epochs=3) for size, length in sizes)]
    fit = analysed(*fast).scaling

    assert fit.status == "forecast"
    assert fit.cure is None
    assert fit.reason is not None
    assert "already reached" in fit.reason


def test_two_sizes_are_a_range() -> None:
    fit = analysed(BASE, drafter(3_000, "1.85", epochs=3), drafter(10_000, "2.10", epochs=3)).scaling

    assert fit.status == "qualified"
    assert fit.reason is not None
    assert "2 sizes" in fit.reason
    assert fit.data_share is not None
    assert 0 < fit.data_share < 1


def test_training_runs_lend_their_facts_to_the_benchmarks_of_their_drafter() -> None:
    trained = RunRecord(
        record_id="training",
        kind="training",
        experiment="test",
        name="training",
        drafter=Checkpoint(name="mine"),
        training=Training(samples=20_000, epochs=2),
        provenance=provenance(),
    )
    served = run("spec", speed="100.0", length="2.40", drafter=Checkpoint(name="mine"))
    found = analysed(BASE, served, StoredRun(run_id="t", record=trained))

    assert [point.samples for point in found.scaling.points] == [20_000]
    assert {point.samples for point in found.points} == {None, 20_000}


@pytest.mark.parametrize(
    ("quantity", "value", "words"),
    [
        ("break_even_accept_length", 1.00, "below what was measured"),
        ("break_even_accept_length", 9.00, "above what was measured"),
        ("break_even_accept_length", 2.20, "fair middle"),
        ("accept_length_for_profit", 3.00, "times the baseline"),
        ("tokens_per_second", 120.0, "was not checked"),
    ],
)
def test_claims_are_checked_against_the_range_of_break_even(quantity: str, value: float, words: str) -> None:
    claimed = dataclasses.replace(
        FOUNDING, claims=(Claim(quantity=quantity, value=value, by="an estimate"),), deployed_run=None
    )
    found = analyse(
        [BASE, chain("three", 3, speed="100.0", length="2.40"), chain("five", 5, speed="95.0", length="2.60")],
        campaign=claimed,
        window=WINDOW,
    )

    (claim,) = found.claims
    assert words in claim.message


def test_a_claim_about_the_only_configuration_is_confirmed_or_replaced() -> None:
    def checked(value: float, *runs: StoredRun) -> str:
        campaign = dataclasses.replace(
            FOUNDING, claims=(Claim(quantity="break_even_accept_length", value=value, by="an estimate"),)
        )
        return analyse(runs, campaign=campaign, window=WINDOW).claims[0].message

    three = chain("three", 3, speed="100.0", length="2.40")
    assert "is close" in checked(2.16, BASE, three)
    assert "measured, it is 2.16" in checked(2.6, BASE, three)
    assert "cannot be checked" in checked(2.6, BASE)


def test_two_measured_chains_predict_longer_ones_on_their_own_line() -> None:
    found = gather(
        analysed(
            run("base", speed="190.00"),
            chain("three", 3, speed="414.9", length="2.931"),
            chain("five", 5, speed="453.7", length="3.554"),
        )
    )
    seven = next(item for item in found.untested if item.key == "7_1_8")

    assert float(np.median(seven.length)) == pytest.approx(3.864, abs=0.03)
    assert float(np.median(seven.break_even)) == pytest.approx(1.634, abs=0.02)
    assert "line through the measured chains" in seven.basis


def test_the_cause_is_named_before_its_symptom() -> None:
    symptom = Finding(
        code="ACCEPT_LENGTH_NEAR_ONE",
        severity="error",
        message="Nothing is accepted.",
        confidence="certain",
        voids=("speed",),
    )
    wrong = run("wrong", speed="40.0", length="1.00", findings=(symptom, WRONG_FLAG))
    found = analysed(BASE, wrong)

    assert found.root_cause is not None
    assert found.root_cause.finding == WRONG_FLAG
    assert not found.root_cause.fixed
    assert found.points[-1].excluded_reason == f"{WRONG_FLAG.code}: ran with --speculative-algorithm EAGLE"


def test_categories_come_from_cells_where_no_request_was_kept() -> None:
    cells = (
        Measurement(concurrency=1, verify_steps=200, accepted_drafts=280, output_tokens=480, wall_s=5, busy_s=5),
        Measurement(
            concurrency=1, category="code", verify_steps=100, accepted_drafts=180, accepted_histogram=(5, 10, 85)
        ),
        Measurement(concurrency=1, category="chat", verify_steps=100, accepted_drafts=100),
    )
    found = analysed(BASE, run("spec", speed="1", length="2.40", measurements=cells)).acceptance

    assert [item.category for item in found.per_category] == ["code", "chat"]
    assert found.per_category[0].accept_length.low is not None
    assert found.per_category[1].accept_length.reason == "no spread recorded"
    assert found.reason == "Acceptance by position was not recorded."
