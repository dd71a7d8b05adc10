"""Campaigns without a drafter: break-even of every chain at every load from step times alone, and no verdict."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.builders import BASE, analysed, chain, run, topics
from tests.analysis.campaigns import FOUNDING, WINDOW
from tracker.analysis.acceptance import decaying_length
from tracker.analysis.campaign import analyse
from tracker.analysis.decision import gather
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.results import CampaignAnalysis, ChainBar
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.record import StoredRun
from tracker.domain.server import Speculation
from tracker.options import decide

LOADS = (1, 8, 32)
BASE_TOK_S = {1: 100.0, 8: 700.0, 32: 2000.0}
# Break-even is 1 + fixed + step * s; drafting and checking cost more where the GPU is busy.
FIXED = {1: 0.30, 8: 0.35, 32: 0.45}
STEP = {1: 0.06, 8: 0.12, 32: 0.30}
FORCED = 2.5


def truth(load: int, steps: int) -> float:
    return 1 + FIXED[load] + STEP[load] * steps


def server(name: str, steps: int | None, *, noise: float = 0.0, seed: int = 0) -> StoredRun:
    """Return a plain server, or one whose acceptance was set to 2.5 whatever its chain."""
    rng = np.random.default_rng(seed)
    cells = []
    for load in LOADS:
        speed = BASE_TOK_S[load] * (1.0 if steps is None else FORCED / truth(load, steps))
        cells.append(
            Measurement(
                concurrency=load,
                prompts=100,
                reported_throughput_tok_s=Reported(value=speed * math.exp(noise * rng.standard_normal())),
                reported_accept_length=None if steps is None else Reported(value=FORCED),
            )
        )
    speculation = Speculation(enabled=False)
    if steps is not None:
        speculation = Speculation(
            enabled=True,
            algorithm="EAGLE3",
            num_steps=steps,
            eagle_topk=1,
            num_draft_tokens=steps + 1,
            simulated_accept_length=FORCED,
        )
    return run(name, speed="1.0", measurements=tuple(cells), speculation=speculation)


def campaign(*chains: int, noise: float = 0.0) -> CampaignAnalysis:
    runs = [server("plain", None), *(server(f"forced {steps}", steps, noise=noise, seed=steps) for steps in chains)]
    return analyse(runs, campaign=dataclasses.replace(FOUNDING, claims=(), deployed_run=None), window=WINDOW)


def at(analysis: CampaignAnalysis, load: int) -> dict[int, ChainBar]:
    return {bar.num_steps: bar for bar in analysis.chain_bars if bar.concurrency == load}


@pytest.mark.parametrize("load", LOADS)
def test_every_chain_up_to_two_steps_beyond_has_its_bar_at_every_load(load: int) -> None:
    bars = at(campaign(2, 4, 6), load)

    assert list(bars) == list(range(1, 9))
    assert {steps for steps, bar in bars.items() if bar.measured} == {2, 4, 6}
    for steps, bar in bars.items():
        # Beyond the measured chains the growth is drawn towards that of published ones.
        assert bar.break_even.value == pytest.approx(truth(load, steps), rel=1e-6 if 2 <= steps <= 6 else 0.04)
        assert bar.break_even.low < truth(load, steps) < bar.break_even.high
        assert bar.required["1.3"] == pytest.approx(1.3 * bar.break_even.value)
    assert bars[5].basis == "on the line through the measured chains of 4 and 6 steps"
    assert set(bars[5].run_ids) == {"forced 4", "forced 6", "plain"}


def test_a_supposed_accept_length_gives_its_speed_and_the_bar_itself_the_baselines() -> None:
    bar = at(campaign(2, 4, 6), 8)[5]

    assert bar.tok_s(bar.break_even.value) == pytest.approx(700.0)
    assert bar.tok_s(3.0) == pytest.approx(700.0 * 3.0 / truth(8, 5))


def test_the_acceptance_a_drafter_needs_is_that_of_a_chain_that_decays_as_usual() -> None:
    bar = at(campaign(2, 4, 6), 1)[4]

    assert bar.acceptance is not None
    length = float(decaying_length(np.asarray(bar.acceptance), DEFAULT_PRIORS.rho_mean, 4))
    assert length == pytest.approx(bar.break_even.value, abs=1e-6)


def test_a_bar_above_what_a_chain_can_yield_is_out_of_reach() -> None:
    slow = Speculation(
        enabled=True, algorithm="EAGLE3", num_steps=1, eagle_topk=1, num_draft_tokens=2, simulated_accept_length=1.9
    )
    bars = at(analysed(BASE, run("slow", speed="60.0", length="1.90", speculation=slow)), 1)

    assert bars[1].break_even.value == pytest.approx(2.85)
    assert not bars[1].reachable
    assert bars[1].acceptance is None
    assert bars[3].reachable


def test_one_chain_grows_as_published_ones_and_says_so() -> None:
    bars = at(campaign(3), 1)

    assert bars[5].break_even.value == pytest.approx(truth(1, 3) * (1 + 2 * DEFAULT_PRIORS.extra_step_fraction))
    assert bars[5].basis == "from the measured chain of 3 steps, growing as published chains do"
    width = {steps: bar.break_even.high / bar.break_even.low for steps, bar in bars.items()}
    assert width[3] < width[4] < width[5]


def test_a_longer_chain_that_measured_faster_gives_no_falling_line() -> None:
    found = analysed(
        BASE, chain("two", 2, speed="90.0", length="2.40"), chain("three", 3, speed="100.0", length="2.40")
    )
    bars = at(found, 1)

    assert bars[2].break_even.value > bars[3].break_even.value
    assert bars[4].break_even.value > bars[3].break_even.value
    assert "noise hides the growth" in bars[4].basis


def test_nothing_is_carried_over_to_a_load_that_was_not_measured() -> None:
    assert {bar.concurrency for bar in campaign(2, 4).chain_bars} == set(LOADS)
    assert analysed(chain("alone", 3, speed="100.0", length="2.40")).chain_bars == ()


def test_without_a_served_drafter_there_is_no_verdict_and_no_forecast_but_a_split_of_the_step() -> None:
    analysis = campaign(2, 4, 6)
    decision = decide(gather(analysis))

    assert analysis.verdict.status == "undecided"
    for load in analysis.verdict.by_concurrency:
        assert load.status == "undecided"
        assert load.speedup.value is None
        assert load.reason is not None
        assert "simulated acceptance" in load.reason
        assert "measure again with real drafts" in load.reason
    assert "simulated acceptance" in topics(analysis)
    assert analysis.scaling.status == "refused"
    assert analysis.step_time.status == "combined"
    assert analysis.step_time.combined_ms.value == pytest.approx(10.0 * STEP[1], rel=1e-6)
    assert analysis.step_time.fixed_ms.value == pytest.approx(10.0 * FIXED[1], rel=1e-6)
    assert all(option.p_beats_baseline is None for option in decision.options)
    assert {option.key for option in decision.options if option.rank is not None} <= {"keep_baseline"}


def test_predicted_bars_cover_at_least_their_nominal_share_under_noise() -> None:
    inside = []
    for seed in range(40):
        runs = [server("plain", None)]
        runs += [server(f"forced {steps}", steps, noise=0.01, seed=100 * seed + steps) for steps in (2, 4, 6)]
        found = analyse(runs, campaign=dataclasses.replace(FOUNDING, claims=(), deployed_run=None), window=WINDOW)
        inside += [
            bar.break_even.low <= truth(load, bar.num_steps) <= bar.break_even.high
            for load in LOADS
            for bar in at(found, load).values()
            if not bar.measured
        ]

    assert np.mean(inside) >= 0.8


@settings(max_examples=25, deadline=None)
@given(chains=st.sets(st.integers(1, 8), min_size=1, max_size=4), order=st.randoms())
def test_bars_do_not_depend_on_the_order_of_the_runs_and_grow_with_the_chain(chains: set[int], order: object) -> None:
    runs = [server("plain", None), *(server(f"forced {steps}", steps) for steps in sorted(chains))]
    shuffled = list(runs)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    plan = dataclasses.replace(FOUNDING, claims=(), deployed_run=None)
    first, second = (analyse(part, campaign=plan, window=WINDOW).chain_bars for part in (runs, shuffled))

    assert [(bar.num_steps, bar.break_even.value) for bar in first] == [
        (bar.num_steps, bar.break_even.value) for bar in second
    ]
    for load in LOADS:
        values = [bar.break_even.value for bar in first if bar.concurrency == load]
        assert values == sorted(values)
