"""Break-even without the prompt's share: end-to-end figures hold the time to the first token on both sides.

A request of N tokens takes P + N * T_base on the plain server and P' + N * T_spec / L on the speculative one. Equal
decoding speed needs L = T_spec / T_base, without P; step times from whole requests hold L * P' / N and P / N more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracker.analysis.break_even import TARGET_SPEEDUPS, prefill_corrected_step_ms
from tracker.analysis.observations import Observation
from tracker.analysis.results import BreakEven, ConfigurationCost, PrefillCorrection
from tracker.analysis.uncertainty import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """One observation without its prompts."""

    step_ms: float
    """Milliseconds per verify step, decoding alone."""
    prefill_s: float
    """Mean seconds to the first token."""
    output_tokens: float
    """Mean generated tokens per request."""


def decoding(item: Observation) -> Decoding | None:
    """Return an observation without its prompts; None where prefill, lengths or step time are not known."""
    length = 1.0 if not item.speculative else None if item.length is None else item.length.value
    if item.step_ms is None or length is None or item.prefill_s is None or not item.tokens_per_request:
        return None
    step = prefill_corrected_step_ms(
        length=length,
        tok_s=1000 * length / item.step_ms.value,
        prefill_s=item.prefill_s,
        output_tokens=item.tokens_per_request,
    )
    if step <= 0:
        return None
    return Decoding(step_ms=step, prefill_s=item.prefill_s, output_tokens=item.tokens_per_request)


def prefill_correction(members: Sequence[Observation], baseline: Observation) -> PrefillCorrection | None:
    """Return the correction for runs of one configuration; None unless prefill is known for all and the baseline."""
    base = decoding(baseline)
    known = [part for part in map(decoding, members) if part is not None]
    if base is None or len(known) < len(members):
        return None
    step = math.exp(math.fsum(math.log(part.step_ms) for part in known) / len(known))
    waiting = math.fsum(part.prefill_s for part in known) / len(known)
    tokens = math.fsum(part.output_tokens for part in known) / len(known)
    whole = base.prefill_s + base.output_tokens * base.step_ms / 1000
    as_long = whole * tokens / base.output_tokens
    return PrefillCorrection(
        break_even=step / base.step_ms,
        baseline_prefill_fraction=base.prefill_s / whole,
        required={
            f"{target:g}": end_to_end_length(
                target,
                step_ms=step,
                prefill_s=waiting,
                output_tokens=tokens,
                baseline_s=as_long,
            )
            for target in TARGET_SPEEDUPS
        },
        end_to_end=end_to_end_length(1.0, step_ms=step, prefill_s=waiting, output_tokens=tokens, baseline_s=as_long),
        prefill_fraction=waiting / as_long,
    )


def end_to_end_bar(cost: ConfigurationCost) -> tuple[BreakEven, float]:
    """Return the bar for accept lengths other than the measured one, and the share of prefill it goes with.

    Step times of whole requests hold more prefill the longer the steps, so they are a bar at the measured accept
    length alone. Where the time to the first token is known the bar is that of whole requests of any accept length,
    with the relative interval of the measured one; else it is the measured one, with a share of 0.
    """
    known = cost.prefill
    if known is None or known.end_to_end is None:
        return cost.break_even, 0.0
    factor = known.end_to_end / cost.break_even.value
    bar = cost.break_even
    return (
        replace(
            bar,
            value=bar.value * factor,
            low=bar.low * factor,
            high=bar.high * factor,
            rounding_low=None if bar.rounding_low is None else bar.rounding_low * factor,
            rounding_high=None if bar.rounding_high is None else bar.rounding_high * factor,
        ),
        known.prefill_fraction,
    )


def length_factor(speedup: float, prefill_fraction: float) -> float | None:
    """Return the accept length for a speed-up of whole requests, over the end-to-end bar; None where none is enough."""
    left = 1 / speedup - prefill_fraction
    return (1 - prefill_fraction) / left if left > 0 else None


def end_to_end_speedup(lengths: FloatArray, bar: FloatArray, prefill_fraction: float) -> FloatArray:
    """Return the speed of whole requests over the baseline's at an accept length; `lengths / bar` without prefill."""
    return np.asarray(1 / (prefill_fraction + (1 - prefill_fraction) * bar / lengths), dtype=np.float64)


def end_to_end_length(
    speedup: float, *, step_ms: float, prefill_s: float, output_tokens: float, baseline_s: float
) -> float | None:
    """Return the accept length at which whole requests run `speedup` times as fast; None where prefill forbids it.

    Args:
        speedup: Wanted end-to-end speed over the baseline.
        step_ms: Milliseconds per verify step, decoding alone.
        prefill_s: Seconds to the first token with speculation.
        output_tokens: Tokens generated per request.
        baseline_s: Seconds a baseline request of that many tokens takes.
    """
    left = baseline_s / speedup - prefill_s
    return output_tokens * step_ms / 1000 / left if left > 0 else None
