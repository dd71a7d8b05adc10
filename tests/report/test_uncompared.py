"""Campaigns whose servers never met at one load, or of which nothing is left: a memo all the same, with what to run."""

from __future__ import annotations

import dataclasses

import pytest

from tests.analysis.builders import BASE, run
from tests.analysis.test_targets import training_run
from tests.report.test_must_show import PLAIN, flat, memo
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.record import StoredRun


def at(name: str, *loads: int, length: float | None = None) -> StoredRun:
    """A server measured at some loads, with a drafter where a length is given."""
    cells = tuple(
        Measurement(
            concurrency=load,
            prompts=20,
            reported_throughput_tok_s=Reported(value=100.0 * load, half_width=0.05),
            reported_accept_length=None if length is None else Reported(value=length, half_width=0.05),
        )
        for load in loads
    )
    return run(name, speed="1.0", length=None if length is None else "2.4", measurements=cells)


def test_a_plain_server_at_another_load_than_the_drafter_is_no_baseline_and_is_named() -> None:
    text = flat(memo(at("base", 1), at("spec", 8, length=2.4)))

    assert "No verdict: run the baseline first" in text
    assert "1 drafter run, no usable plain run on the same hardware, build and load." in text
    assert "The plain server was measured only at 1 stream. One more baseline run is enough." in text


@pytest.mark.parametrize("wanted", [1, 8, 32])
def test_a_load_that_decides_without_a_pair_is_said_to_lack_it(wanted: int) -> None:
    campaign = dataclasses.replace(PLAIN, decision_concurrency=wanted)
    text = flat(memo(at("base", 1, 8), at("spec", 8, 32, length=2.4), campaign=campaign))

    assert {
        1: "No usable candidate at 1 stream.",
        8: "800 against 800 tok/s",
        32: "No baseline at 32 streams: run the same workload on a server without speculation.",
    }[wanted] in text


def test_runs_that_were_all_marked_invalid_are_named_with_their_reason() -> None:
    void = [
        dataclasses.replace(
            item, record=item.record.replace(validity="invalid", validity_reason="the GPU was throttled")
        )
        for item in (BASE, run("spec", speed="100.0", length="2.40"))
    ]
    text = flat(memo(*void))

    assert "1 drafter run, no usable plain run" in text
    assert "base is left out: marked invalid: the GPU was throttled. One sound baseline run is enough." in text
    assert text.count("excluded: marked invalid: the GPU was throttled") == 2


@pytest.mark.parametrize("trained", [(), (1_000, 10_000)])
def test_a_campaign_without_any_benchmark_says_that_and_counts_nothing(trained: tuple[int, ...]) -> None:
    text = flat(memo(*(training_run(samples) for samples in trained)))

    assert "No benchmark of this campaign counts. A plain server and one with the drafter" in text
    assert "Nothing was measured that counts" in text
    assert "No memo was made before." in text
    assert "The only run is new" not in text
    assert "0 drafter runs" not in text
    assert "0 sizes" not in text
    assert ("Trained and not served here: 1,000 and 10,000 samples." in text) is bool(trained)
