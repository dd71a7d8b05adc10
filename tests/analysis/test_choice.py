"""The fastest of several candidates is in part the luckiest: the verdict says faster only where that is taken off."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from tests.analysis.builders import BASE, analysed, chain
from tracker.analysis.choice import rivals_of, without_luck
from tracker.analysis.pairing import Comparison
from tracker.analysis.results import LoadVerdict
from tracker.analysis.uncertainty import Spread, around
from tracker.domain.record import RunRecord, StoredRun

SPREAD = Spread(sd=0.02, df=math.inf)


def compared(log_speedup: float, spread: Spread = SPREAD) -> Comparison:
    return Comparison(
        speedup=math.exp(log_speedup),
        spread=spread,
        population=spread,
        components=(),
        prompts=20,
        prompts_assumed=False,
        prompts_in_common=None,
        restricted=False,
        weak_keys=False,
    )


def chains(*speeds: str) -> list[StoredRun]:
    return [chain(f"chain-{steps}", steps, speed=speed, length="1.9") for steps, speed in enumerate(speeds, start=1)]


def verdict(*speeds: str) -> LoadVerdict:
    return analysed(BASE, *chains(*speeds)).verdict.by_concurrency[0]


def test_one_candidate_owes_nothing_to_choice() -> None:
    only = compared(0.05)

    assert around(only.speedup, only.spread) == without_luck(only, [only])


def test_candidates_that_the_interval_of_the_fastest_rules_out_do_not_count() -> None:
    best, near, far = compared(0.04), compared(0.02), compared(0.01)

    assert [best, near] == rivals_of(best, [best, near, far])


def test_equal_candidates_are_worth_their_mean() -> None:
    equal = [compared(value) for value in (0.0, 0.01, 0.02, 0.03)]

    found = without_luck(equal[-1], equal)

    assert found.value is not None
    assert math.isclose(math.log(found.value), 0.015)


def test_a_candidate_that_stands_out_keeps_its_lead() -> None:
    rivals = [compared(value) for value in (0.0, 0.2, 0.9)]

    found = without_luck(rivals[-1], rivals)

    assert found.value is not None
    assert abs(math.log(found.value) - 0.9) < 0.001


def test_eight_candidates_level_with_the_baseline_are_called_faster_less_often() -> None:
    rng = np.random.default_rng(3)
    campaigns, alone, sober = 2000, 0, 0
    for _ in range(campaigns):
        logs = 0.02 / math.sqrt(2) * (rng.standard_normal(8) - rng.standard_normal())
        every = [compared(value) for value in logs]
        best = max(every, key=lambda item: item.speedup)
        low, after = around(best.speedup, best.spread).low, without_luck(best, rivals_of(best, every)).low
        assert low is not None
        assert after is not None
        alone += low > 1
        sober += low > 1 and after > 1

    assert alone / campaigns > 0.34
    assert sober / campaigns < 0.28


def test_the_fastest_of_several_level_candidates_is_no_verdict() -> None:
    found, alone = verdict("90.5", "91.0", "91.5", "91.8", "92.2", "92.8"), verdict("92.8")

    assert alone.speedup.low is not None
    assert found.speedup.low is not None
    assert found.speedup.low < 1 < alone.speedup.low
    assert (found.speedup.value, found.speedup.high) == (alone.speedup.value, alone.speedup.high)
    assert found.status == "undecided"
    assert found.reason is not None
    assert found.reason.startswith("The fastest of 6 candidates that may be as fast is in part the luckiest")


def test_the_same_lead_of_a_single_candidate_is_a_verdict() -> None:
    assert verdict("92.8").status == "faster"


def test_a_clear_lead_among_several_stays_a_verdict() -> None:
    assert verdict("88.5", "89.5", "90.5", "91.5", "92.0", "104.0").status == "faster"


def test_what_is_said_of_other_prompts_reaches_as_low() -> None:
    runs = chains("90.5", "91.0", "91.5", "91.8", "92.2", "92.8")
    analysis = analysed(BASE, *[dataclasses.replace(item, record=many_prompts(item)) for item in runs])
    (found,) = analysis.verdict.by_concurrency

    assert analysis.verdict.population_speedup.low is not None
    assert found.speedup.low is not None
    assert analysis.verdict.population_speedup.low <= found.speedup.low


def many_prompts(source: StoredRun) -> RunRecord:
    """So many that other prompts widen the interval by nothing."""
    cells = tuple(dataclasses.replace(cell, prompts=1_000_000) for cell in source.record.measurements)
    return source.record.replace(measurements=cells)
