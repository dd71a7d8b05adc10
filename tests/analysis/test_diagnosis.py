"""Speed problems told from acceptance problems, and baselines that differ in more than speculation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.analysis.builders import BASE, analysed, run
from tests.analysis.campaigns import FOUNDING, H200, WINDOW, founding_runs, h200_runs
from tracker.analysis.baseline_flags import flag_differences
from tracker.analysis.campaign import analyse
from tracker.analysis.results import CampaignAnalysis, SharedFinding
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.record import StoredRun
from tracker.domain.server import ServerConfig

DRAFTER = Checkpoint(name="own")


def spec(name: str, *, speed: str, length: str, **fields: Any) -> StoredRun:
    return run(name, speed=speed, length=length, **({"drafter": DRAFTER} | fields))


def flags(found: CampaignAnalysis) -> list[SharedFinding]:
    return [item for item in found.findings if item.finding.code == "BASELINE_FLAGS_DIFFER"]


def test_healthy_acceptance_with_a_slow_step_is_a_speed_problem() -> None:
    found = analysed(
        BASE,
        spec("graph", speed="100.0", length="2.40", cuda_graph=True),
        spec("no graph", speed="60.0", length="2.41", cuda_graph=False),
    )
    (item,) = found.diagnoses

    assert (item.kind, item.run_id, item.against_run_id) == ("speed", "no graph", "graph")
    assert "acceptance is healthy (2.41 tokens a step against 2.40 in graph)" in item.message
    assert "A speed problem, not an acceptance problem. What differs from graph: CUDA graph on to off." in item.message
    assert any(note.topic == "speed problem" for note in found.data_quality)


def test_the_founding_runs_without_graphs_are_speed_problems() -> None:
    found = analyse(founding_runs(), campaign=FOUNDING, window=WINDOW).diagnoses

    assert [(item.kind, item.run_id, item.against_run_id) for item in found] == [
        ("speed", "r2", "r4"),
        ("speed", "r3", "r5"),
    ]


def test_equal_steps_that_yield_less_are_an_acceptance_problem() -> None:
    servers = {
        name: ServerConfig(engine="sglang", environment={"NCCL_ALGO": value})
        for name, value in (("a", "Ring"), ("b", "Tree"))
    }
    found = analysed(
        BASE,
        spec("good", speed="121.6", length="2.00", server=servers["a"]),
        spec("bad", speed="63.0", length="1.05", server=servers["b"]),
    )
    (item,) = found.diagnoses

    assert (item.kind, item.run_id) == ("acceptance", "bad")
    assert "yields 1.05 instead of 2.00 tokens with the same drafter and flags" in item.message
    assert "NCCL_ALGO Ring to Tree" in item.message


def test_a_step_dearer_than_all_it_can_yield_is_a_speed_problem_no_training_cures() -> None:
    found = analysed(BASE, spec("slow", speed="40.0", length="2.40"))
    (item,) = found.diagnoses

    assert item.kind == "speed"
    assert "5.40 plain ones at 1 stream, more than the 4 tokens it can yield" in item.message


def test_two_drafters_or_shapes_are_not_told_apart() -> None:
    found = analysed(
        BASE,
        spec("one", speed="100.0", length="2.40"),
        spec("two", speed="70.0", length="1.70", drafter=Checkpoint(name="other")),
    )

    assert found.diagnoses == ()


def test_the_recorded_campaign_has_no_baseline_flags_to_complain_about(shared_data: Path) -> None:
    if not (shared_data / "h200-tiny-llama").is_dir():
        pytest.skip("the H200 recordings are not here")
    found = analyse(h200_runs(shared_data), campaign=H200, window=WINDOW)

    assert flags(found) == []
    assert {item.run_id for item in found.diagnoses} == {"eagle3-d100000-2-1-3", "eagle3-d100000-3-4-16"}


def test_a_baseline_with_other_flags_is_named_with_what_to_measure() -> None:
    found = analysed(
        run("base", speed="90.0", cuda_graph=True),
        spec("a", speed="100.0", length="2.40", cuda_graph=False),
        spec("b", speed="99.0", length="2.40", cuda_graph=False),
    )
    (item,) = flags(found)

    assert item.finding.severity == "warning"
    assert "The baseline base and 2 candidates differ" in item.finding.message
    assert "CUDA graph on against off" in item.finding.message
    assert item.finding.fix == "Measure a plain server with the candidates' other flags."
    assert item.run_ids == ("a", "b", "base")


def test_a_plain_twin_of_the_candidates_makes_it_a_remark() -> None:
    found = analysed(
        run("base", speed="90.0", cuda_graph=True),
        run("twin", speed="70.0", cuda_graph=False, minutes=1),
        spec("a", speed="100.0", length="2.40", cuda_graph=False),
    )
    (item,) = flags(found)

    assert item.finding.severity == "info"
    assert item.finding.fix is not None
    assert "against twin" in item.finding.fix


def server(typed: dict[str, Any], resolved: dict[str, Any]) -> ServerConfig:
    return ServerConfig(engine="sglang", typed=typed, arguments=resolved)


@pytest.mark.parametrize(
    ("base", "candidate", "words"),
    [
        (server({}, {"tp_size": 8}), server({}, {"tp_size": 4}), ("--tp-size 8 against 4",)),
        (server({}, {"disable_overlap_schedule": False}), server({}, {"disable_overlap_schedule": True}), ()),
        (
            server({}, {"max_running_requests": 256}),
            server({"max_running_requests": 48}, {"max_running_requests": 48}),
            ("--max-running-requests 256 against 48",),
        ),
        (server({}, {}), server({"tp_size": 4}, {"tp_size": 4}), ()),
    ],
)
def test_only_choices_count_as_flags_that_differ(
    base: ServerConfig, candidate: ServerConfig, words: tuple[str, ...]
) -> None:
    first, second = run("base", speed="90.0", server=base), spec("a", speed="100.0", length="2.40", server=candidate)

    assert flag_differences(first.record, second.record) == words


def test_environment_counts_and_what_switches_speculation_does_not() -> None:
    base = ServerConfig(engine="sglang", environment={"NCCL_ALGO": "Ring", "SGLANG_ENABLE_SPEC_V2": "0"})
    other = ServerConfig(engine="sglang", environment={"NCCL_ALGO": "Tree", "SGLANG_ENABLE_SPEC_V2": "1"})
    first, second = run("base", speed="90.0", server=base), spec("a", speed="100.0", length="2.40", server=other)

    assert flag_differences(first.record, second.record) == ("NCCL_ALGO Ring against Tree",)
