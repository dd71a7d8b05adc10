"""Break-even without the prompt's share, where the time to the first token is known on both sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.builders import analysed, run
from tracker.analysis.decision import gather
from tracker.analysis.prefill import end_to_end_length, end_to_end_speedup, length_factor
from tracker.analysis.results import ConfigurationCost, PrefillCorrection
from tracker.domain.measurement import Latency, Measurement, RequestRow
from tracker.domain.record import StoredRun
from tracker.domain.training import Training

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


def curve(length: float, samples: int, prefill_s: float | None = PREFILL_S) -> StoredRun:
    found = served(f"drafter {samples}", length=length, prefill_s=prefill_s)
    return StoredRun(run_id=found.run_id, record=found.record.replace(training=Training(samples=samples, epochs=3.0)))


CURVE = (curve(1.20, 1_000), curve(1.26, 3_000), curve(1.32, 10_000))


def test_a_forecast_uses_the_bar_of_whole_requests_and_says_so() -> None:
    fit = analysed(served("base", length=None), *CURVE).scaling

    assert fit.break_even is not None
    # Verify steps are whole numbers, so accept lengths are off by up to 3 in 10,000.
    assert fit.break_even.value == pytest.approx(SPEC_MS / PLAIN_MS, rel=5e-4)
    assert fit.prefill_fraction == pytest.approx(0.2)
    assert fit.reason is not None
    assert "The bar here is end to end, 1.50: prefill takes 20 % of a baseline request" in fit.reason


def test_targets_of_a_forecast_bring_whole_requests_to_their_speed() -> None:
    fit = analysed(served("base", length=None), *CURVE).scaling

    assert {target.speedup for target in fit.targets} == {1.0, 1.1, 1.3, 1.5}
    for target in fit.targets:
        seconds = PREFILL_S + TOKENS * SPEC_MS / target.accept_length / 1000
        assert (PREFILL_S + TOKENS * PLAIN_MS / 1000) / seconds == pytest.approx(target.speedup, rel=5e-4)


def test_a_forecast_without_a_time_to_the_first_token_uses_the_bar_as_measured() -> None:
    bare = [curve(length, samples, None) for length, samples in ((1.20, 1_000), (1.26, 3_000), (1.32, 10_000))]
    found = analysed(served("base", length=None, prefill_s=None), *bare)
    (whole,) = found.costs

    assert found.scaling.break_even == whole.break_even
    assert found.scaling.prefill_fraction == 0
    assert "end to end" not in (found.scaling.reason or "")


def test_more_data_is_worth_what_prefill_leaves_of_it() -> None:
    evidence = gather(analysed(served("base", length=None), *CURVE))
    lengths = np.full(evidence.priors.draws, 3.0)
    found = evidence.sizes_speedup(lengths)

    assert found is not None
    seconds = PREFILL_S + TOKENS * SPEC_MS / 3.0 / 1000
    assert float(np.median(found)) == pytest.approx((PREFILL_S + TOKENS * PLAIN_MS / 1000) / seconds, rel=0.01)


@given(lengths=st.floats(1.0, 8.0), bar=st.floats(1.0, 8.0), share=st.floats(0.0, 0.9))
def test_prefill_draws_every_speed_towards_one(lengths: float, bar: float, share: float) -> None:
    with_prompts, without = (
        float(end_to_end_speedup(np.asarray(lengths), np.asarray(bar), part)) for part in (share, 0.0)
    )

    assert without == pytest.approx(lengths / bar)
    assert min(1.0, without) - 1e-9 <= with_prompts <= max(1.0, without) + 1e-9


@given(speedup=st.floats(1.0, 1.5), share=st.floats(0.0, 0.6), bar=st.floats(1.0, 5.0))
def test_the_length_for_a_speed_and_the_speed_of_a_length_are_inverse(speedup: float, share: float, bar: float) -> None:
    factor = length_factor(speedup, share)

    assert factor is not None
    assert float(end_to_end_speedup(np.asarray(factor * bar), np.asarray(bar), share)) == pytest.approx(speedup)
