"""Servers of one configuration whose accept length was set differently: prefill is told apart from noise."""

from __future__ import annotations

import pytest

from tests.analysis.builders import BASE, analysed, run
from tracker.domain.measurement import Measurement, Reported
from tracker.domain.record import StoredRun
from tracker.domain.server import Speculation

SHARED = "part of it is no noise"


def forced(name: str, length: float, step_ms: float, *, prefill_ms: float | None = None) -> StoredRun:
    """Return a chain of 3 set to yield `length` tokens, whose steps take so long."""
    cell = Measurement(
        concurrency=1,
        prompts=20,
        reported_throughput_tok_s=Reported(value=1000 * length / step_ms),
        reported_accept_length=Reported(value=length),
        ttft_ms=None if prefill_ms is None else {"mean": prefill_ms},
    )
    speculation = Speculation(
        enabled=True, algorithm="EAGLE3", num_steps=3, eagle_topk=1, num_draft_tokens=4, simulated_accept_length=length
    )
    return run(name, speed="1.0", measurements=(cell,), speculation=speculation)


def noise_note(*runs: StoredRun) -> str:
    notes = [note for note in analysed(BASE, *runs).data_quality if note.topic == "noise between runs"]
    return " ".join(note.message for note in notes)


def test_a_step_that_grows_with_the_accept_length_set_is_not_called_noise_alone() -> None:
    text = noise_note(forced("a", 2.5, 18.0), forced("b", 2.5, 17.9), forced("c", 3.5, 19.6))

    assert f"At 1 stream {SHARED}: a step of servers set to yield 3.5 tokens took 9.2 % longer than with 2.5." in text


@pytest.mark.parametrize("step_ms", [16.0, 18.1, 17.95])
def test_shorter_steps_and_differences_within_the_noise_stay_noise(step_ms: float) -> None:
    text = noise_note(forced("a", 2.5, 18.0), forced("b", 2.5, 17.9), forced("c", 3.5, step_ms))

    assert text
    assert SHARED not in text


def test_the_spread_shown_has_the_decimals_that_tell_its_ends_apart() -> None:
    assert "they run from 18.02 to 18.04 ms" in noise_note(forced("a", 2.5, 18.02), forced("b", 2.5, 18.04))
    assert "they run from 18.0 to 19.6 ms" in noise_note(forced("a", 2.5, 18.0), forced("b", 2.5, 19.6))


def test_servers_of_one_accept_length_differ_by_noise() -> None:
    text = noise_note(forced("a", 2.5, 18.0), forced("b", 2.5, 19.6))

    assert text
    assert SHARED not in text
