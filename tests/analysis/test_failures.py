"""A server that leaves many requests unanswered is not fast: that load counts for nothing, and says why."""

from __future__ import annotations

import dataclasses

import pytest

from tests.analysis.builders import analysed, run
from tests.analysis.campaigns import printed
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.measurement import Measurement
from tracker.domain.record import StoredRun


def cell(load: int, speed: str, *, failed: int, length: str | None = None) -> Measurement:
    return Measurement(
        concurrency=load,
        prompts=100,
        requests_completed=100 - failed,
        requests_failed=failed,
        reported_throughput_tok_s=printed(speed),
        reported_accept_length=printed(length),
    )


def served(*, failed: int) -> CampaignAnalysis:
    """A drafter that answers all at one stream and fails at eight."""
    base = (cell(1, "90.0", failed=0), cell(8, "600.0", failed=0))
    spec = (cell(1, "120.0", failed=0, length="2.00"), cell(8, "900.0", failed=failed, length="2.00"))
    return analysed(
        run("base", speed="90.0", measurements=base), run("spec", speed="1.0", length="2.00", measurements=spec)
    )


def test_half_of_the_requests_failing_is_no_lead() -> None:
    one, eight = served(failed=50).verdict.by_concurrency

    assert one.status == "faster"
    assert eight.status == "undecided"
    assert eight.best_run_id is None
    assert eight.reason is not None
    assert "spec (50 of 100 requests failed at 8 streams)" in eight.reason


def test_the_row_stays_with_its_reason() -> None:
    rows = {point.concurrency: point for point in served(failed=50).points if point.name == "spec"}

    assert rows[8].excluded_reason == "50 of 100 requests failed at 8 streams"
    assert rows[8].throughput_tok_s.value == 900.0
    assert rows[8].speedup.value is None
    assert rows[8].speedup.reason == rows[8].excluded_reason
    assert rows[1].excluded_reason is None


@pytest.mark.parametrize("failed", [0, 5])
def test_a_few_failures_are_told_and_leave_the_verdict(failed: int) -> None:
    analysis = served(failed=failed)

    assert [item.status for item in analysis.verdict.by_concurrency] == ["faster", "faster"]
    assert bool(failed) == any(note.topic == "failed requests" for note in analysis.data_quality)


def test_a_sound_candidate_is_not_hidden_by_a_faster_one_that_fails() -> None:
    base = run("base", speed="90.0", measurements=(cell(1, "90.0", failed=0),))
    sound, failing = (
        named(run("spec", speed="1.0", length="2.00", measurements=(found,)), name)
        for name, found in (
            ("sound", cell(1, "110.0", failed=0, length="2.00")),
            ("failing", cell(1, "150.0", failed=30, length="2.00")),
        )
    )

    (verdict,) = analysed(base, sound, failing).verdict.by_concurrency

    assert verdict.best_run_id == "sound"


def named(source: StoredRun, name: str) -> StoredRun:
    return dataclasses.replace(source, run_id=name, record=source.record.replace(record_id=name, name=name))
