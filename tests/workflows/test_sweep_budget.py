"""A sweep with a budget: it ends in time, and no candidate is left without the baseline after it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workflows.test_sweep_adaptive import INTERLEAVED, RESIDENT, Campaign, server
from tracker.workflows.sweep_budget import Budget
from tracker.workflows.sweep_plan import SweepPlan
from tracker.workflows.sweep_schedule import Batch, as_chosen, closing, schedule
from tracker.workflows.sweep_state import SweepState

START_S, MEASURE_S = 60.0, 25.0


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path)


def _plan(campaign: Campaign, *, baseline: str = INTERLEAVED, sweep: str = "") -> SweepPlan:
    servers = "".join(server(f"s{number}", "3-1-4") for number in range(5))
    return campaign.write(servers, baseline=baseline, sweep=f"start_estimate_s = {START_S}\n{sweep}").plan


class _Run:
    """A sweep without servers: each start and each measurement takes its time on a clock of its own."""

    def __init__(self, plan: SweepPlan, budget_s: float, folder: Path) -> None:
        self.now_s = 0.0
        self.names: list[str] = []
        self.since = 0
        self._state = SweepState(folder=folder)
        self._budget = Budget(budget_s, plan, self._state, clock=lambda: self.now_s)
        for batch in schedule(plan, plan.arms):
            if self._budget.lacks_batch(batch, since_baseline=self.since) is not None:
                last = closing(plan, baselines=1)
                if last is not None and self.since and self._budget.lacks_baseline() is None:
                    self._measure(last.items[0].name, START_S, baseline=True)
                return
            self.now_s += START_S
            self._state.start_s = START_S
            if batch.resident is not None:
                self._measure("resident", 0, baseline=True)
            for item in batch.items:
                if not item.arm.is_baseline and self._budget.lacks_candidate(starting=False) is not None:
                    continue
                self._measure(item.name, 0, baseline=item.arm.is_baseline)
                if batch.resident is not None:
                    self._measure("resident", 0, baseline=True)

    def _measure(self, name: str, start_s: float, *, baseline: bool) -> None:
        self.now_s += start_s + MEASURE_S
        self._budget.took(MEASURE_S)
        self.names.append(name)
        self.since = 0 if baseline else self.since + 1


@pytest.mark.parametrize("sweep", ["", "batch = 2"])
@pytest.mark.parametrize("baseline", [INTERLEAVED, INTERLEAVED + "every = 2\n", RESIDENT])
def test_whatever_the_budget_the_last_candidate_has_a_baseline_after_it(
    campaign: Campaign, tmp_path: Path, baseline: str, sweep: str
) -> None:
    plan = _plan(campaign, baseline=baseline, sweep=sweep)
    done = set()
    for budget_s in range(180, 1400, 5):
        run = _Run(plan, budget_s, tmp_path)

        assert run.since == 0, (budget_s, run.names)
        # What measuring takes is known after the first one; until then a start is all that is reserved.
        assert run.now_s <= max(budget_s, 2 * START_S + 3 * MEASURE_S), (budget_s, run.names)
        done.add(sum(name.startswith("s") for name in run.names))
    assert done >= {1, 2, 3, 4, 5}


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("every", [1, 2, 3])
def test_an_order_chosen_as_it_goes_has_the_baselines_that_the_plan_says(
    campaign: Campaign, every: int, batch: int
) -> None:
    plan = _plan(campaign, baseline=f"{INTERLEAVED}every = {every}\n", sweep=f"batch = {batch}")
    left = list(plan.arms)

    def names(batches: Iterator[Batch]) -> Iterator[str]:
        for batch in batches:
            for item in batch.items:
                if item.arm in left:
                    left.remove(item.arm)
                yield item.name

    planned = list(names(schedule(plan, plan.arms)))
    left[:] = plan.arms
    chosen = list(names(as_chosen(plan, lambda: list(left))))

    assert chosen == planned


def test_a_baseline_alone_is_not_begun_where_nothing_can_be_compared_with_it(
    campaign: Campaign, tmp_path: Path
) -> None:
    plan = _plan(campaign)

    assert _Run(plan, 3 * START_S - 1, tmp_path).names == []


@pytest.mark.slow
@pytest.mark.parametrize("adaptive", [True, False])
def test_a_sweep_that_its_budget_ends_has_measured_the_baseline_last(campaign: Campaign, adaptive: bool) -> None:
    servers = "".join(server(f"s{number}", "3-1-4") for number in range(9))
    campaign.write(servers, baseline=INTERLEAVED, sweep="start_estimate_s = 2")

    result = campaign.run(budget_s=14.0, adaptive=adaptive)

    assert result.left
    assert result.records[-1].role == "baseline"
    assert any("no time for another" in line for line in campaign.told)
