"""Draws of one index belong together: what two servers' noise does to break-even it does to today's speed-up."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.analysis.builders import BASE, analysed, chain, run
from tracker.analysis.decision import Evidence, gather
from tracker.domain.record import StoredRun

# Three servers of one configuration that lie far apart: nearly all that is unknown is noise between servers.
NOISY = [chain(f"chain-{name}", 3, speed=speed, length="2.00") for name, speed in (("a", "95"), ("b", "80"))]
BEST = chain("chain-c", 3, speed="115", length="2.00")


def gathered(*runs: StoredRun) -> Evidence:
    return gather(analysed(BASE, *runs))


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.corrcoef(np.log(first), np.log(second))[0, 1])


def test_a_predicted_chain_shares_the_noise_of_the_measured_one_it_rests_on() -> None:
    evidence = gathered(*NOISY, BEST)
    longer = next(item for item in evidence.untested if item.key == "4_1_5")

    assert evidence.speedup is not None
    assert correlation(longer.speedup, evidence.speedup) > 0.5


def test_the_speed_up_keeps_its_own_interval() -> None:
    evidence = gathered(*NOISY, BEST)

    assert evidence.speedup is not None
    assert evidence.verdict is not None
    assert evidence.verdict.speedup.low is not None
    low, middle, high = np.quantile(evidence.speedup, (0.1, 0.5, 0.9))
    assert low == pytest.approx(evidence.verdict.speedup.low, rel=0.03)
    assert middle == pytest.approx(evidence.verdict.speedup.value, rel=0.03)
    assert high == pytest.approx(evidence.verdict.speedup.high, rel=0.03)


def test_rounding_of_the_accept_length_is_no_noise_of_servers() -> None:
    coarse, fine = (gathered(run("spec", speed="95.0", length=length)) for length in ("2", "2.00"))

    shares = []
    for evidence in (coarse, fine):
        assert evidence.speedup is not None
        assert evidence.break_even is not None
        shares.append(-correlation(evidence.break_even, evidence.speedup))

    # What both hold over both spreads, from the parts of either: drift 1.5 %, noise 1 %, prompts 1.1 %, rounding 14 %.
    noise = 0.015**2 + 0.01**2
    rounding = (math.log(2.5 / 1.5) / math.sqrt(12)) ** 2
    prompts = 0.05**2 / 20
    expected = [noise / math.sqrt((noise + part) * (noise + prompts)) for part in (rounding, 0.0)]
    assert shares == pytest.approx(expected, abs=0.04)
