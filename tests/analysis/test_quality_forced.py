"""Servers of one configuration whose accept length was set differently: prefill is told apart from noise."""

from __future__ import annotations

import pytest

from tests.analysis.builders import BASE, analysed, run
from tracker.domain.measurement import Latency, Measurement, Reported
from tracker.domain.record import StoredRun
from tracker.domain.server import Speculation

SHARED = "part of it is no noise"


def forced(name: str, length: float, step_ms: float) -> StoredRun:
    """Return a chain of 3 set to yield `length` tokens, whose steps take so long."""
    cell = Measurement(
        concurrency=1,
        prompts=20,
        reported_throughput_tok_s=Reported(value=1000 * length / step_ms),
        reported_accept_length=Reported(value=length),
    )
    speculation = Speculation(
        enabled=True, algorithm="EAGLE3", num_steps=3, eagle_topk=1, num_draft_tokens=4, simulated_accept_length=length
    )
    return run(name, speed="1.0", measurements=(cell,), speculation=speculation)


def answering(
    name: str, length: float, decode_ms: float, *, prefill_ms: float | None = 200.0, simulated: bool = True
) -> StoredRun:
    """Return a chain of 3 whose requests of 256 tokens wait for their prompts first, then decode at one pace."""
    step_ms = decode_ms + length * 200.0 / 256
    verified = round(25_600 / length)
    cell = Measurement(
        concurrency=1,
        prompts=20,
        requests_completed=100,
        output_tokens=25_600,
        wall_s=25_600 * step_ms / length / 1000,
        verify_steps=verified,
        accepted_drafts=25_600 - verified,
        ttft_ms=None if prefill_ms is None else Latency(mean_ms=prefill_ms),
    )
    speculation = Speculation(
        enabled=True,
        algorithm="EAGLE3",
        num_steps=3,
        eagle_topk=1,
        num_draft_tokens=4,
        simulated_accept_length=length if simulated else None,
    )
    return run(name, speed="1.0", measurements=(cell,), speculation=speculation)


def noise_of(*runs: StoredRun) -> float:
    (found,) = analysed(BASE, *runs).noise
    assert found.source == "measured"
    return found.sd


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


@pytest.mark.parametrize("simulated", [True, False])
def test_prefill_that_fewer_steps_share_is_taken_off_where_the_first_token_was_timed(simulated: bool) -> None:
    def servers(prefill_ms: float | None) -> list[StoredRun]:
        paces = ((2.0, 15.0), (2.5, 15.05), (3.0, 14.95), (3.6, 15.02))
        return [
            answering(f"{length}", length, pace, prefill_ms=prefill_ms, simulated=simulated) for length, pace in paces
        ]

    # Decoding alone these servers differ by 0.3 %; their whole steps by 3.1 %.
    assert noise_of(*servers(None)) == pytest.approx(0.031, abs=0.002)
    assert noise_of(*servers(200.0)) == pytest.approx(0.003, abs=0.001)
    assert "share of prefill that fewer steps carry is taken off" in noise_note(*servers(200.0))
    assert "taken off" not in noise_note(*servers(None)).replace("cannot be taken off", "")


def test_servers_of_one_accept_length_keep_the_noise_of_their_whole_requests() -> None:
    timed = [answering(str(pace), 2.5, pace) for pace in (15.0, 15.4, 14.8)]
    untimed = [answering(str(pace), 2.5, pace, prefill_ms=None) for pace in (15.0, 15.4, 14.8)]

    assert noise_of(*timed) == pytest.approx(noise_of(*untimed), rel=1e-6)
    assert "taken off" not in noise_note(*timed)


def test_one_server_without_a_timed_first_token_leaves_all_as_they_were() -> None:
    timed = [answering("a", 2.0, 15.0), answering("b", 2.5, 15.05)]
    untimed = answering("c", 3.6, 15.0, prefill_ms=None)
    without = [answering("a", 2.0, 15.0, prefill_ms=None), answering("b", 2.5, 15.05, prefill_ms=None), untimed]

    assert noise_of(*timed, untimed) == pytest.approx(noise_of(*without), rel=1e-9)
    assert SHARED in noise_note(*timed, untimed)
