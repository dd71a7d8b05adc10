"""A server's own counters: growth between two readings, and what cannot be one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.load.counters import ServerCounters, read_counters

VLLM = Path(__file__).parents[1] / "data" / "prometheus" / "vllm.prom"


def test_vllms_counters_are_summed_over_ranks() -> None:
    found = read_counters(VLLM.read_bytes())

    assert found is not None
    assert (found.verify_steps, found.accepted_drafts, found.proposed_drafts) == (160, 240, 480)
    assert found.accepted_by_position == (120, 80, 40)
    assert found.accepted_histogram == (40, 40, 40, 40)


def test_real_metrics_of_sglang_are_read(shared_data: Path) -> None:
    folder = shared_data / "h200-tiny-llama" / "eagle3-d1000-3-1-4"
    before, after = (read_counters((folder / name).read_bytes()) for name in ("metrics_before.prom", "metrics.prom"))

    assert after is not None
    assert after.output_tokens is not None
    assert before is None or before.output_tokens is None or before.output_tokens < after.output_tokens


@given(st.lists(st.integers(min_value=0, max_value=5), min_size=1, max_size=200))
def test_the_histogram_from_positions_is_that_of_the_steps(accepted: list[int]) -> None:
    positions = tuple(sum(count > place for count in accepted) for place in range(5))
    counters = ServerCounters(verify_steps=len(accepted), accepted_by_position=positions)

    assert counters.accepted_histogram == tuple(accepted.count(number) for number in range(6))
    assert sum(number * count for number, count in enumerate(counters.accepted_histogram)) == sum(accepted)


def test_positions_that_rise_are_no_histogram() -> None:
    assert ServerCounters(verify_steps=4, accepted_by_position=(1, 2)).accepted_histogram is None
    assert ServerCounters(verify_steps=4).accepted_histogram is None


def test_growth_is_the_later_reading_less_the_earlier() -> None:
    before = ServerCounters(output_tokens=10, verify_steps=4, accepted_drafts=5, accepted_by_position=(3, 2))
    after = ServerCounters(output_tokens=30, verify_steps=9, accepted_drafts=12, accepted_by_position=(7, 5))

    grown = after.since(before)

    assert grown == ServerCounters(output_tokens=20, verify_steps=5, accepted_drafts=7, accepted_by_position=(4, 3))


def test_a_counter_that_began_in_between_has_grown_from_nothing() -> None:
    grown = ServerCounters(output_tokens=30, verify_steps=9).since(ServerCounters(output_tokens=10))

    assert grown == ServerCounters(output_tokens=20, verify_steps=9)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ServerCounters(output_tokens=30), ServerCounters(output_tokens=10)),
        (ServerCounters(accepted_by_position=(3, 2)), ServerCounters(accepted_by_position=(3, 1))),
        (ServerCounters(accepted_by_position=(3, 2)), ServerCounters(accepted_by_position=(3, 2, 1))),
    ],
)
def test_a_server_that_was_restarted_in_between_has_no_growth(before: ServerCounters, after: ServerCounters) -> None:
    assert after.since(before) is None


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(body: bytes) -> None:
    read_counters(body)
