"""Every interval of a row or a configuration carries rounding, repeats and noise between runs."""

from __future__ import annotations

import math

import pytest

from tests.analysis.builders import analysed, run
from tests.analysis.campaigns import FOUNDING, WINDOW, founding_runs, printed
from tracker.analysis.campaign import analyse
from tracker.analysis.uncertainty import Z80
from tracker.domain.estimate import Estimate
from tracker.domain.measurement import Measurement
from tracker.domain.record import StoredRun


def log_sd(found: Estimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return math.log(found.high / found.low) / 2 / Z80


def repeated(name: str, *speeds: str, length: str | None = None) -> StoredRun:
    """One server that measured the same prompts several times."""
    cells = [
        Measurement(
            concurrency=1,
            repeat=index,
            prompts=20,
            reported_throughput_tok_s=printed(speed),
            reported_accept_length=printed(length),
        )
        for index, speed in enumerate(speeds)
    ]
    pooled = Measurement(
        concurrency=1,
        prompts=20,
        reported_throughput_tok_s=printed(speeds[0]),
        reported_accept_length=printed(length),
    )
    return run(name, speed=speeds[0], length=length, measurements=(pooled, *cells))


def test_the_step_time_of_one_run_is_as_uncertain_as_its_configurations() -> None:
    analysis = analyse(founding_runs(), campaign=FOUNDING, window=WINDOW)
    rows = {point.configuration.label: point for point in analysis.points if point.step_time_ms.low is not None}
    alone = [cost for cost in analysis.costs if len(cost.run_ids) == 2]

    assert alone
    for cost in alone:
        assert log_sd(rows[cost.configuration.label].step_time_ms) == pytest.approx(log_sd(cost.step_time_ms))


def test_two_runs_of_a_configuration_share_rounding_and_noise() -> None:
    analysis = analyse(founding_runs(), campaign=FOUNDING, window=WINDOW)
    cost = next(item for item in analysis.costs if len(item.run_ids) == 3)
    rows = [point for point in analysis.points if point.run_id in cost.run_ids[:-1]]

    expected = math.sqrt(sum(log_sd(point.step_time_ms) ** 2 for point in rows)) / 2

    assert log_sd(cost.step_time_ms) == pytest.approx(expected)


def test_repeats_that_scatter_widen_speed_and_step_time_where_noise_is_an_assumption() -> None:
    analysis = analysed(
        repeated("base", "100.0", "60.0", "170.0"), repeated("spec", "140.0", "90.0", "200.0", length="2.00")
    )
    row = next(point for point in analysis.points if point.name == "spec")

    for found in (row.throughput_tok_s, row.step_time_ms, analysis.costs[0].step_time_ms):
        assert log_sd(found) > 0.2


def test_repeats_count_once_where_noise_between_runs_was_measured() -> None:
    servers = [repeated(f"spec-{speed}", speed, "90.0", "200.0", length="2.00") for speed in ("140.0", "130.0")]
    analysis = analysed(repeated("base", "100.0", "60.0", "170.0"), *servers)
    alone = analysed(run("base", speed="100.0"), *(run(s, speed=s, length="2.00") for s in ("140.0", "130.0")))
    widths = [log_sd(item.costs[0].step_time_ms) for item in (analysis, alone)]

    assert widths[0] == pytest.approx(widths[1])


def test_the_statement_on_other_prompts_is_never_the_narrower_one() -> None:
    """Noise from two servers has so few degrees of freedom that another part used to shorten the interval."""
    analysis = analysed(
        run("base", speed="100.0"), *(run(speed, speed=speed, length="2.00") for speed in ("60.0", "100.0", "170.0"))
    )
    (measured,) = analysis.verdict.by_concurrency

    assert log_sd(analysis.verdict.population_speedup) >= log_sd(measured.speedup)
