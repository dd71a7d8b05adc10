"""Jumps over the history of a campaign, told apart, explained where somebody said what changed."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.builders import analysed, run
from tests.analysis.campaigns import printed
from tracker.analysis.change_points import change_points
from tracker.analysis.history import step_changes
from tracker.analysis.priors import DEFAULT_PRIORS
from tracker.analysis.results import StepChange, Window
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Measurement
from tracker.domain.provenance import Provenance
from tracker.domain.record import StoredRun
from tracker.domain.server import ServerConfig

WINDOW = Window(since=datetime(2026, 4, 4, tzinfo=UTC), until=datetime(2026, 4, 8, tzinfo=UTC))
LATER = Window(since=datetime(2026, 4, 8, tzinfo=UTC), until=datetime(2026, 4, 15, tzinfo=UTC))


def nightly(
    day: int, speed: str, length: str | None = None, *, version: str = "0.5.9", load: int = 1, **fields: Any
) -> StoredRun:
    moment = datetime(2026, 3, 29 + day, tzinfo=UTC) if day < 3 else datetime(2026, 4, day - 2, tzinfo=UTC)
    cell = Measurement(
        concurrency=load,
        prompts=50,
        reported_throughput_tok_s=printed(speed),
        reported_accept_length=printed(length),
    )
    kind = "plain" if length is None else "mtp"
    defaults: dict[str, Any] = {
        "provenance": Provenance(logged_at=moment, measured_at=moment, tracker_version="0"),
        "measurements": (cell,),
        "server": ServerConfig(engine="sglang", version=version),
        "drafter": None if length is None else Checkpoint(name="mtp"),
    }
    return run(f"{kind} {day}", speed=speed, length=length, **(defaults | fields))


def changes(*runs: StoredRun, window: Window = WINDOW) -> tuple[StepChange, ...]:
    return step_changes(runs, window=window, priors=DEFAULT_PRIORS)


GOOD = (
    ("124.78", "2.00"),
    ("129.80", "2.00"),
    ("117.09", "2.00"),
    ("117.55", "2.00"),
    ("115.50", "2.00"),
    ("121.61", "1.96"),
)
BAD = (("62.25", "1.01"), ("62.28", "1.00"), ("65.77", "1.00"))
PLAIN = ("83.88", "83.81", "83.05", "83.12", "83.16", "83.29", "83.12", "83.10", "83.06")


def dependency_bump(**last: Any) -> list[StoredRun]:
    """Return nine nights on which a dependency moved before the seventh."""
    drafted = [nightly(day, *pair) for day, pair in enumerate(GOOD)]
    drafted += [
        nightly(day, *pair, version="0.5.10", **(last if day == 6 else {})) for day, pair in enumerate(BAD, start=6)
    ]
    plain = [nightly(day, speed, version="0.5.9" if day < 6 else "0.5.10") for day, speed in enumerate(PLAIN)]
    return [*drafted, *plain]


def test_a_collapse_of_acceptance_is_no_speed_problem_and_names_what_changed() -> None:
    (found,) = changes(*dependency_bump())

    assert found.alarm
    assert found.run_ids_after == ("mtp 6", "mtp 7", "mtp 8")
    assert found.change_fraction == pytest.approx(-0.48, abs=0.01)
    assert "Accept length fell (1.99 to 1.00" in found.message
    assert "the time of a step hardly changed" in found.message
    assert "an acceptance problem, not a speed problem" in found.message
    assert "The baseline did not change (83.2 to 83.1 tok/s)" in found.message
    assert "engine version 0.5.9 to 0.5.10" in found.message


def test_another_launch_prefix_is_named_beside_a_change_where_both_are_known() -> None:
    def pinned(prefix: str | None) -> dict[str, str]:
        return {} if prefix is None else {"sweep.launch_prefix": prefix}

    def told(before: str | None, after: str | None) -> str:
        runs = [
            StoredRun(
                run_id=item.run_id, record=item.record.replace(tags=pinned(after if item.run_id >= "mtp 6" else before))
            )
            for item in dependency_bump()
        ]
        (found,) = changes(*runs)
        return found.message

    assert "launch prefix none to taskset -c 0-3" in told("none", "taskset -c 0-3")
    assert "launch prefix" not in told(None, "taskset -c 0-3")
    assert "launch prefix" not in told("none", "none")


def test_an_annotated_change_is_explained_and_raises_no_alarm() -> None:
    (found,) = changes(*dependency_bump(tags={"change": "kernel package 0.4.1"}))

    assert not found.alarm
    assert found.annotation == "kernel package 0.4.1"
    assert "Explained: kernel package 0.4.1." in found.message


def test_a_change_on_the_baseline_run_of_that_night_explains_it_too() -> None:
    runs = dependency_bump()
    tagged = [
        StoredRun(run_id=item.run_id, record=item.record.replace(tags={"change": "new driver"}))
        if item.run_id == "plain 6"
        else item
        for item in runs
    ]
    (found,) = changes(*tagged)

    assert found.annotation == "new driver"


def test_a_change_of_an_earlier_window_does_not_alarm_again() -> None:
    (found,) = changes(*dependency_bump(), window=LATER)

    assert not found.alarm
    assert found.annotation is None


def test_a_slower_step_with_equal_acceptance_is_a_speed_problem() -> None:
    runs = [nightly(day, "120.0", "2.00") for day in range(6)] + [nightly(day, "90.0", "2.00") for day in (6, 7)]
    (found,) = changes(*runs)

    assert "a speed problem, not an acceptance problem" in found.message
    assert "No recorded fact differs between mtp 5 and mtp 6" in found.message


def test_a_faster_step_is_called_one() -> None:
    runs = [nightly(day, "90.0", "2.00") for day in range(6)] + [nightly(day, "120.0", "2.00") for day in (6, 7)]
    (found,) = changes(*runs)

    assert "a faster step, not better acceptance" in found.message


def test_both_may_move() -> None:
    runs = [nightly(day, "120.0", "2.00") for day in range(6)] + [nightly(day, "81.0", "1.65") for day in (6, 7)]
    (found,) = changes(*runs)

    assert "both acceptance and speed moved" in found.message


def test_a_series_without_speeds_is_watched_by_its_accept_length() -> None:
    def untimed(day: int, length: str) -> StoredRun:
        cell = Measurement(concurrency=1, prompts=50, reported_accept_length=printed(length))
        return nightly(day, "1.0", length, measurements=(cell,))

    (found,) = changes(*(untimed(day, "2.00" if day < 5 else "1.40") for day in range(8)))

    assert found.quantity == "accept_length"
    assert found.change_fraction == pytest.approx(-0.3)


def test_a_plain_servers_series_is_watched_as_well() -> None:
    runs = [nightly(day, speed) for day, speed in enumerate(("487.1", "487.1", "486.9", "454.1", "454.2", "454.1"))]
    (found,) = changes(*runs)

    assert found.quantity == "throughput"
    assert found.run_ids_after[0] == "plain 3"


def test_three_runs_are_no_history() -> None:
    assert changes(nightly(0, "120.0", "2.00"), nightly(1, "120.0", "2.00"), nightly(2, "60.0", "2.00")) == ()


def test_void_runs_are_watched_but_runs_marked_wrong_are_not() -> None:
    marked = [
        item
        if int(item.run_id.split()[1]) < 6
        else StoredRun(run_id=item.run_id, record=item.record.replace(validity="invalid", validity_reason="throttled"))
        for item in dependency_bump()
    ]

    assert changes(*marked) == ()


def test_loads_and_drafters_are_separate_series() -> None:
    runs = [nightly(day, "120.0", "2.00") for day in range(4)]
    other = [nightly(day, "60.0", "2.00", drafter=Checkpoint(name="other"), record_id=f"o{day}") for day in range(4, 8)]
    busy = [nightly(day, "900.0", "2.00", load=8) for day in range(4, 8)]

    assert changes(*runs, *other, *busy) == ()


def test_the_analysis_carries_jumps_even_across_engine_builds() -> None:
    found = analysed(*dependency_bump())

    assert [change.run_ids_after[0] for change in found.changes] == ["mtp 6"]
    assert any(note.topic == "known step change" for note in found.data_quality)


def test_steady_series_raise_few_alarms() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(300):
        series = 0.03 * rng.standard_normal(int(rng.integers(4, 30)))
        alarms += bool(change_points(list(series), noise_sd=DEFAULT_PRIORS.between_run_fraction))

    # Nominally 1 % of series; 300 have a standard error of 0.6 %.
    assert alarms / 300 <= 0.03


def test_a_clear_jump_is_found_where_it_is() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(100):
        series = 0.02 * rng.standard_normal(14)
        series[9:] -= 0.10
        hits += change_points(list(series), noise_sd=0.01) == (9,)

    assert hits >= 95


def test_two_jumps_are_two() -> None:
    series = [0.0] * 5 + [0.2] * 5 + [-0.1] * 5

    assert change_points(series, noise_sd=0.01) == (5, 10)


@pytest.mark.parametrize("load", [1, 8, 16])
def test_the_public_nightly_record_shows_its_one_collapse(shared_data: Path, load: int) -> None:
    path = shared_data / "cases" / "data" / "C07.glm46_mtp_nightly.csv"
    if not path.is_file():
        pytest.skip("the public nightly record is not here")
    with path.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["variant"] == "TP8+MTP"]
    runs = []
    for day, row in enumerate(rows):
        runs.append(nightly(day, row[f"bs{load}_tok_s"], row["accept_len"], load=load))

    found = changes(*runs)

    assert ("mtp 6", "mtp 7", "mtp 8") in [item.run_ids_after for item in found]
    collapse = next(item for item in found if item.run_ids_after[0] == "mtp 6")
    assert "an acceptance problem, not a speed problem" in collapse.message


@given(
    logs=st.lists(st.floats(-0.05, 0.05), min_size=4, max_size=16),
    jump=st.sampled_from([0.0, 0.3]),
    offset=st.floats(-5, 5),
)
def test_where_a_series_jumps_depends_on_neither_its_unit_nor_the_direction(
    logs: list[float], jump: float, offset: float
) -> None:
    middle = len(logs) - 1
    series = [value + (jump if index >= middle else 0.0) for index, value in enumerate(logs)]
    found = change_points(series, noise_sd=0.01)

    assert change_points([value + offset for value in series], noise_sd=0.01) == found
    assert change_points([-value for value in series], noise_sd=0.01) == found
