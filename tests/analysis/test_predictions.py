"""Configurations nobody measured: between, shorter and longer chains, with the noise of a server nobody started."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from tests.analysis.builders import BASE, analysed, chain, run
from tracker.analysis.decision import Evidence, gather
from tracker.analysis.results import CampaignAnalysis, LoadNoise
from tracker.analysis.untested_chains import Untested


def predicted(evidence: Evidence) -> dict[str, Untested]:
    return {found.key: found for found in evidence.untested}


def campaign() -> CampaignAnalysis:
    return analysed(
        BASE,
        chain("three", 3, speed="100.0", length="2.40"),
        chain("seven", 7, speed="104.0", length="3.00"),
    )


def noisy(analysis: CampaignAnalysis, sd: float) -> CampaignAnalysis:
    noise = LoadNoise(concurrency=1, sd=sd, df=math.inf, source="measured")
    return dataclasses.replace(analysis, noise=(noise,))


def test_chains_between_measured_ones_are_predicted_between_them() -> None:
    found = predicted(gather(campaign()))["5_1_6"]

    assert 2.40 < float(np.median(found.length)) < 3.00
    assert 2.40 * 90 / 100 < float(np.median(found.break_even)) < 3.00 * 90 / 104
    assert "line through the measured chains of 3 and 7 steps" in found.basis


def test_longer_chains_are_still_predicted() -> None:
    assert {"4_1_5", "5_1_6", "6_1_7", "8_1_9", "9_1_10"} == predicted(gather(campaign())).keys()


def test_a_prediction_carries_the_noise_of_a_server_nobody_started() -> None:
    quiet, loud = (predicted(gather(noisy(campaign(), sd)))["5_1_6"] for sd in (0.01, 0.10))

    def spread(found: Untested) -> float:
        return float(np.std(np.log(found.break_even)))

    assert spread(loud) == pytest.approx(math.hypot(spread(quiet), 0.10), abs=0.01)


def test_noise_between_servers_keeps_a_predicted_chance_away_from_certainty() -> None:
    analysis = analysed(
        BASE,
        run("a", speed="130.0", length="2.40"),
        run("b", speed="100.0", length="2.40"),
    )
    chances = [float((found.speedup > 1).mean()) for found in gather(analysis).untested]

    assert analysis.noise[0].source == "measured"
    assert analysis.noise[0].sd > 0.1
    assert chances
    assert max(chances) < 0.97
