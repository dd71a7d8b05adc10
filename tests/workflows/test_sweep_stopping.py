"""When a server may be given up: what is lost beyond noise, and what is not."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.workflows.sweep_history import History, Speed
from tracker.workflows.sweep_stopping import cannot_win

BASE = {1: 100.0, 8: 600.0, 32: 1500.0}
PLANNED = (1, 8, 32)


def _measured(*shares: float, length: float | None = 2.0) -> list[tuple[int, Speed]]:
    return [
        (streams, Speed(tok_s=share * BASE[streams], accept_length=length))
        for streams, share in zip(PLANNED, shares, strict=False)
    ]


def _judged(measured: list[tuple[int, Speed]], history: History) -> str | None:
    return cannot_win(measured, planned=PLANNED, configuration="3-1-4", history=history)


# Five starts of one configuration within 1 %.
STEADY = History(baseline=BASE, replicates=((0.0, 0.01, -0.01, 0.005, -0.005),))


def test_two_lost_loads_and_no_rise_end_a_server() -> None:
    reason = _judged(_measured(0.6, 0.55), STEADY)

    assert reason is not None
    assert "0.60 times the baseline's speed at 1, 0.55 times the baseline's speed at 8 streams" in reason
    assert "measured noise between processes" in reason


def test_one_lost_load_is_no_trend() -> None:
    assert _judged(_measured(0.3), STEADY) is None


def test_a_server_that_catches_up_with_the_load_goes_on() -> None:
    assert _judged(_measured(0.5, 0.8), STEADY) is None


def test_a_load_that_may_be_won_goes_on_whatever_the_others_say() -> None:
    assert _judged(_measured(1.2, 0.4), STEADY) is None
    assert _judged(_measured(0.95, 0.4), STEADY) is None


def test_without_a_second_start_much_more_must_be_lost() -> None:
    unknown = History(baseline=BASE)

    assert _judged(_measured(0.75, 0.7), unknown) is None
    reason = _judged(_measured(0.5, 0.45), unknown)
    assert reason is not None
    assert "assumed as none was started twice" in reason


def test_starts_that_differ_widely_excuse_a_loss() -> None:
    wild = History(baseline=BASE, replicates=((0.0, 0.25, -0.2), (0.1, -0.15)))

    assert _judged(_measured(0.6, 0.55), wild) is None


def test_a_break_even_known_from_another_drafter_decides_after_the_first_load() -> None:
    known = History(baseline=BASE, replicates=STEADY.replicates, break_even={"3-1-4": {8: 3.0, 32: 3.4}})

    assert _judged(_measured(0.6, length=1.5), known) is not None
    assert _judged(_measured(0.6, length=3.2), known) is None
    assert _judged(_measured(0.6, length=None), known) is None


def test_without_a_baseline_at_a_load_nothing_is_said() -> None:
    assert _judged(_measured(0.2, 0.2), History(baseline={1: 100.0})) is None


@given(
    st.lists(st.floats(0.999, 1.001), min_size=1, max_size=3),
    st.lists(st.floats(-0.3, 0.3), min_size=2, max_size=5),
)
def test_a_server_as_fast_as_the_baseline_is_never_given_up(shares: list[float], starts: list[float]) -> None:
    assert _judged(_measured(*shares), History(baseline=BASE, replicates=(tuple(starts),))) is None


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.2])
def test_noise_alone_gives_a_server_up_once_in_some_hundred_at_most(sd: float) -> None:
    chance = random.Random(7)

    given_up = 0
    for _ in range(2_000):
        starts = tuple(chance.gauss(0, sd) for _ in range(4))
        own, base = chance.gauss(0, sd), chance.gauss(0, sd)
        shares = [math.exp(own - base)] * 2
        given_up += _judged(_measured(*shares), History(baseline=BASE, replicates=(starts,))) is not None

    assert given_up <= 2_000 * 0.005


@pytest.mark.parametrize("planned", [(1, 8, 2), (8, 1, 32)])
def test_a_lower_load_that_is_left_is_not_predicted_from_higher_ones(planned: tuple[int, ...]) -> None:
    measured = [(1, Speed(tok_s=50.0, accept_length=2.0)), (8, Speed(tok_s=250.0, accept_length=2.0))]

    verdict = cannot_win(measured, planned=planned, configuration="x", history=STEADY)

    assert (verdict is None) == (2 in planned)
