"""A sweep that chooses what to measure next and gives up what cannot win, over real servers of the fake engine."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers import ENGINE, free_port
from tracker.domain.record import RunRecord
from tracker.store import Spool
from tracker.workflows.session import Session
from tracker.workflows.sweep import SweepOptions, SweepResult, run_sweep
from tracker.workflows.sweep_adaptive import rank_left
from tracker.workflows.sweep_check import check_all
from tracker.workflows.sweep_fleet import Tell
from tracker.workflows.sweep_history import kept_records
from tracker.workflows.sweep_plan import SweepPlan, read_sweep

RESIDENT = "[sweep.baseline]\nresident = true\n"
INTERLEAVED = "[sweep.baseline]\n"
ONE_LOAD = "[{concurrency = 1, requests = 6}]"
THREE_LOADS = "[{concurrency = 1, requests = 4}, {concurrency = 2, requests = 8}, {concurrency = 4, requests = 8}]"


class Campaign:
    """A campaign folder without checkpoints, and what its sweeps said."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.told = folder, list[str]()

    def write(self, servers: str, *, baseline: str = RESIDENT, loads: str = ONE_LOAD, sweep: str = "") -> Campaign:
        (self.folder / "campaign.toml").write_text(
            'schema_version = 1\n[campaign]\nname = "c"\n[hardware]\ngpu = "none"\ngpu_count = 1\n'
            f"[sweep]\nlaunch = {json.dumps([sys.executable, '-m', 'sglang.launch_server'])}\n"
            f'target = "t"\nstart_port = {free_port()}\nhealth_timeout_s = 20\nstop_grace_s = 2\n{sweep}\n'
            f'[sweep.environment]\nPYTHONPATH = {json.dumps(str(ENGINE))}\nFAKE_STEP_MS = "2"\n{baseline}'
            f"[sweep.workload]\noutput_tokens = 24\nwarmup = 1\nloads = {loads}\n{servers}"
        )
        return self

    @property
    def plan(self) -> SweepPlan:
        return read_sweep(self.folder)

    def run(self, *, tell: Tell | None = None, **options: Any) -> SweepResult:
        session = Session(now=datetime.now(UTC), environ=dict(os.environ), cwd=self.folder)
        chosen = SweepOptions(out=self.folder / "out", spool=self.folder / "spool", **options)
        return run_sweep(self.plan, chosen, session, tell=tell or self.told.append, on_progress=lambda _: None)

    def records(self) -> dict[str, RunRecord]:
        spool = Spool(self.folder / "spool")
        found = sorted((spool.read(path).record for path in spool.pending()), key=lambda record: record.measured_at)
        return {record.name: record for record in found}

    def chosen(self) -> list[str]:
        return [line.removeprefix("next: ").partition(".")[0] for line in self.told if line.startswith("next: ")]


def server(name: str, shape: str, *, step_ms: str = "2", more: str = "") -> str:
    return (
        f'[[sweep.servers]]\nname = "{name}"\ndrafter = "d"\nalgorithm = "EAGLE3"\nshape = "{shape}"\n'
        f'environment = {{FAKE_STEP_MS = "{step_ms}"}}\n{more}\n'
    )


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path)


@pytest.mark.slow
def test_the_next_server_is_the_one_that_tells_most_and_the_reason_is_told_and_kept(campaign: Campaign) -> None:
    servers = server("seven", "7-1-8") + server("three-again", "3-1-4") + server("three", "3-1-4")

    campaign.write(servers).run(adaptive=True)

    # A chain of three first, then the shape that tells fixed and growing parts apart, a second start of three last.
    assert [name.partition("-")[0] for name in campaign.chosen()] == ["three", "seven", "three"]
    records = campaign.records()
    reason = records["seven"].tags["sweep.chosen_because"]
    assert "fixed part" in reason
    assert any(line == f"next: seven. {reason}" for line in campaign.told)
    assert {name for name, record in records.items() if record.role == "candidate"} == {
        "seven", "three", "three-again",
    }  # fmt: skip


@pytest.mark.slow
def test_without_a_resident_baseline_it_is_started_before_the_first_choice_and_after_the_last(
    campaign: Campaign,
) -> None:
    campaign.write(server("seven", "7-1-8") + server("three", "3-1-4"), baseline=INTERLEAVED).run(adaptive=True)

    assert list(campaign.records()) == ["baseline-1", "three", "baseline-2", "seven", "baseline-3"]


@pytest.mark.slow
def test_an_interrupted_search_goes_on_from_what_it_has_measured(campaign: Campaign) -> None:
    campaign.write(server("seven", "7-1-8") + server("three", "3-1-4") + server("five", "5-1-6"))
    campaign.run(adaptive=True, only=("three",))
    # The store has taken the records; the search must not depend on them being in the spool.
    for path in Spool(campaign.folder / "spool").pending():
        path.unlink()
    plan = campaign.plan
    planned = rank_left(plan, check_all(plan), campaign.folder / "out").order
    campaign.told.clear()

    result = campaign.run(adaptive=True)

    assert campaign.chosen()[0] == planned[0].name == "seven"
    assert result.before == 1
    assert {record.name for record in kept_records(campaign.folder / "out")} >= {"three", "five", "seven"}


@pytest.mark.slow
def test_the_order_of_the_file_is_kept_when_nothing_else_is_asked(campaign: Campaign) -> None:
    campaign.write(server("seven", "7-1-8") + server("three", "3-1-4")).run()

    assert [record.name for record in campaign.records().values() if record.role == "candidate"] == ["seven", "three"]
    assert campaign.chosen() == []


@pytest.mark.slow
def test_a_server_that_cannot_win_is_stopped_and_its_whole_loads_are_kept(campaign: Campaign) -> None:
    servers = server("hopeless", "3-1-4", step_ms="25") + server("fine", "3-1-4")

    campaign.write(servers, loads=THREE_LOADS, sweep="stop_early = true").run()

    records = campaign.records()
    hopeless, fine = records["hopeless"], records["fine"]
    assert hopeless.validity == "partial"
    assert "stopped early" in (hopeless.validity_reason or "")
    assert "times the baseline's speed" in hopeless.tags["sweep.stopped_early"]
    assert [cell.concurrency for cell in hopeless.pooled()] == [1, 2]
    assert all(cell.output_throughput_tok_s is not None for cell in hopeless.pooled())
    assert fine.validity == "ok"
    assert [cell.concurrency for cell in fine.pooled()] == [1, 2, 4]
    assert campaign.run().records == ()


@pytest.mark.slow
def test_without_being_asked_a_full_sweep_stops_nothing(campaign: Campaign) -> None:
    campaign.write(server("hopeless", "3-1-4", step_ms="25"), loads=THREE_LOADS).run()

    assert [cell.concurrency for cell in campaign.records()["hopeless"].pooled()] == [1, 2, 4]


@pytest.mark.slow
def test_simulated_acceptance_is_never_stopped_because_its_speed_is_not_what_it_is_for(campaign: Campaign) -> None:
    forced = server("forced", "3-1-4", step_ms="25", more="simulated_accept_length = 1")

    campaign.write(forced, loads=THREE_LOADS, sweep="stop_early = true").run()

    assert [cell.concurrency for cell in campaign.records()["forced"].pooled()] == [1, 2, 4]


@pytest.mark.slow
def test_measuring_load_by_load_counts_the_same_as_measuring_at_once(campaign: Campaign) -> None:
    fast = server("a", "3-1-4", step_ms="0.2") + server("b", "3-1-4", step_ms="0.2")
    repeats = THREE_LOADS + "\nrepeats = 2"
    campaign.write(fast, loads=repeats, sweep="stop_early = true").run(only=("a",))
    campaign.write(fast, loads=repeats).run(only=("b",))

    a, b = (campaign.records()[name] for name in "ab")
    for mine, theirs in zip(a.pooled(), b.pooled(), strict=True):
        for name in ("concurrency", "requests_completed", "output_tokens", "verify_steps", "accepted_histogram"):
            assert getattr(mine, name) == getattr(theirs, name), name
    assert {cell.repeat for cell in a.measurements} == {cell.repeat for cell in b.measurements} == {None, 0, 1}


def test_a_mistake_started_on_purpose_waits_until_what_works_is_measured(campaign: Campaign) -> None:
    wrong = server("a-mistake", "3-1-4", more='allow = ["ALGO_MISMATCH_EAGLE_FOR_EAGLE3"]').replace(
        "EAGLE3", "EAGLE", 1
    )
    plan = campaign.write(wrong + server("works", "3-1-4")).plan
    drafter = campaign.folder / "d"
    drafter.mkdir()
    (drafter / "config.json").write_text('{"architectures": ["LlamaForCausalLMEagle3"], "hidden_size": 64}')

    order = rank_left(plan, check_all(plan), campaign.folder / "out").order

    assert [item.name for item in order] == ["works", "a-mistake"]
    assert order[-1].expected_tok_s.value is None
    assert "ALGO_MISMATCH_EAGLE_FOR_EAGLE3" in order[-1].reason
