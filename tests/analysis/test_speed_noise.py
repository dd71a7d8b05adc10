"""Without step times, runs of one configuration and one drafter are the replicates that noise is read from."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tests.analysis.builders import analysed, run
from tests.analysis.campaigns import FOUNDING, WINDOW, printed
from tracker.analysis.campaign import analyse
from tracker.analysis.results import CampaignAnalysis
from tracker.domain.checkpoint import Checkpoint
from tracker.domain.measurement import Measurement
from tracker.domain.record import StoredRun

# Six nights of one server, as published for GLM-4.6 with MTP at one stream; the plain server ran at 83.3.
NIGHTS = ("124.78", "129.80", "117.09", "117.55", "115.50", "121.61")


def night(index: int, speed: str, drafter: str = "mtp") -> StoredRun:
    """Throughput at one stream, accept length without a load: no step time follows."""
    cells = (
        Measurement(concurrency=1, reported_throughput_tok_s=printed(speed)),
        Measurement(reported_accept_length=printed("2.0")),
    )
    name = f"night-{index}-{drafter}"
    return run(name, speed=speed, length="2.0", measurements=cells, drafter=Checkpoint(name=drafter), minutes=index)


def nights(*, drafters: tuple[str, ...] = ("mtp",)) -> CampaignAnalysis:
    runs = [night(index, speed, drafters[index % len(drafters)]) for index, speed in enumerate(NIGHTS)]
    return analysed(run("base", speed="83.29"), *runs)


def test_noise_is_the_spread_of_their_throughputs() -> None:
    (noise,) = (item for item in nights().noise if item.concurrency == 1)

    expected = float(np.std([math.log(float(speed)) for speed in NIGHTS], ddof=1))
    assert (noise.sd, noise.df, noise.source) == (pytest.approx(expected), 5.0, "measured")


def test_the_verdict_of_the_fastest_night_holds_the_mean_of_all() -> None:
    (verdict,) = (item for item in nights().verdict.by_concurrency if item.concurrency == 1)

    mean = math.exp(np.mean([math.log(float(speed) / 83.29) for speed in NIGHTS]))
    assert verdict.speedup.low is not None
    assert verdict.speedup.low < mean
    assert verdict.status == "faster"


def test_the_spread_is_told_with_its_runs() -> None:
    (note,) = (item for item in nights().data_quality if item.topic == "noise between runs")

    assert "6 runs" in note.message
    assert "115.5 to 129.8 tok/s" in note.message
    assert len(note.run_ids) == 6


def test_speeds_of_different_drafters_are_no_replicates() -> None:
    analysis = nights(drafters=("a", "b", "c", "d", "e", "f"))

    assert {item.source for item in analysis.noise} == {"default"}
    assert not [item for item in analysis.data_quality if item.topic == "noise between runs"]


def test_speeds_that_rounding_explains_are_no_noise() -> None:
    analysis = analysed(run("base", speed="83.29"), night(0, "120"), night(1, "121"))

    assert {item.source for item in analysis.noise} == {"default"}


def test_a_length_without_a_load_is_not_the_load_that_decides() -> None:
    campaign = dataclasses.replace(FOUNDING, decision_concurrency=None)

    analysis = analyse((run("base", speed="83.29"), night(0, "124.78")), campaign=campaign, window=WINDOW)

    assert analysis.verdict.decision_concurrency == 1
