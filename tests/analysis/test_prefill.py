"""Break-even without the prompt's share, where the time to the first token is known on both sides."""

from __future__ import annotations

import pytest

from tests.analysis.builders import analysed, run
from tracker.analysis.prefill import end_to_end_length
from tracker.analysis.results import ConfigurationCost, PrefillCorrection
from tracker.domain.measurement import Latency, Measurement, RequestRow
from tracker.domain.record import StoredRun

PREFILL_S, TOKENS, PLAIN_MS, SPEC_MS, LENGTH = 0.5, 200, 10.0, 15.0, 2.5


def served(name: str, *, length: float | None, prefill_s: float | None = PREFILL_S) -> StoredRun:
    """Return one stream whose requests take prefill plus decoding, exactly."""
    step = PLAIN_MS if length is None else SPEC_MS
    tokens_per_step = 1.0 if length is None else length
    seconds = PREFILL_S + TOKENS * step / tokens_per_step / 1000
    steps = None if length is None else round(10 * TOKENS / length)
    cell = Measurement(
        concurrency=1,
        requests_completed=10,
        prompts=10,
        output_tokens=10 * TOKENS,
        wall_s=10 * seconds,
        busy_s=10 * seconds,
        verify_steps=steps,
        accepted_drafts=None if steps is None else 10 * TOKENS - steps,
        ttft_ms=None if prefill_s is None else Latency(mean_ms=1000 * prefill_s),
    )
    return run(name, speed="1.0", length=None if length is None else "2.5", measurements=(cell,))


def cost(*runs: StoredRun) -> ConfigurationCost:
    (found,) = analysed(*runs).costs
    return found


def correction(*runs: StoredRun) -> PrefillCorrection:
    found = cost(*runs).prefill
    assert found is not None
    return found


def test_break_even_without_prompts_is_the_ratio_of_decoding_steps() -> None:
    found = correction(served("base", length=None), served("spec", length=LENGTH))

    assert found.break_even == pytest.approx(SPEC_MS / PLAIN_MS)
    assert found.baseline_prefill_fraction == pytest.approx(0.5 / 2.5)
    assert cost(served("base", length=None), served("spec", length=LENGTH)).break_even.value == pytest.approx(1.7)


def test_required_lengths_bring_whole_requests_to_their_speed() -> None:
    found = correction(served("base", length=None), served("spec", length=LENGTH))
    length = found.required["1.3"]

    assert length is not None
    seconds = PREFILL_S + TOKENS * SPEC_MS / length / 1000
    assert (PREFILL_S + TOKENS * PLAIN_MS / 1000) / seconds == pytest.approx(1.3)


def test_no_accept_length_undoes_a_prefill_that_takes_longer_than_the_target() -> None:
    shape = {"step_ms": SPEC_MS, "output_tokens": float(TOKENS), "baseline_s": 2.5}

    assert end_to_end_length(1.3, prefill_s=2.0, **shape) is None
    assert end_to_end_length(1.3, prefill_s=1.9, **shape) == pytest.approx(3.0 / (2.5 / 1.3 - 1.9))


def test_without_a_time_to_the_first_token_on_both_sides_nothing_is_corrected() -> None:
    assert cost(served("base", length=None, prefill_s=None), served("spec", length=LENGTH)).prefill is None
    assert cost(served("base", length=None), served("spec", length=LENGTH, prefill_s=None)).prefill is None


def test_the_memo_is_told_when_prompts_shift_break_even() -> None:
    found = analysed(served("base", length=None), served("spec", length=LENGTH))

    (note,) = (note for note in found.data_quality if note.topic == "prefill")
    assert "20 % of a baseline request" in note.message
    assert "1.50 instead of 1.70" in note.message


def test_request_rows_say_their_own_prefill() -> None:
    def with_rows(found: StoredRun) -> StoredRun:
        speculative = found.record.measurements[0].verify_steps is not None
        rows = tuple(
            RequestRow(
                prompt_key=f"p{number}",
                concurrency=1,
                output_tokens=TOKENS,
                ttft_s=PREFILL_S,
                latency_s=PREFILL_S + TOKENS * (SPEC_MS / LENGTH if speculative else PLAIN_MS) / 1000,
                verify_steps=80 if speculative else None,
                accepted_drafts=120 if speculative else None,
            )
            for number in range(10)
        )
        return StoredRun(run_id=found.run_id, record=found.record, requests=rows)

    base = with_rows(served("base", length=None, prefill_s=None))
    spec = with_rows(served("spec", length=LENGTH, prefill_s=None))

    assert correction(base, spec).break_even == pytest.approx(1.5)
